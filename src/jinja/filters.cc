#include "jinja/filters.h"

#include "jinja/filter_tables.h"

namespace paceline::jinja {

FilterFunction find_filter(std::string_view name) {
  for (const auto& table : {text_filters(), number_filters(), sequence_filters(), select_filters(), order_filters()}) {
    for (const NamedFilter& filter : table) {
      if (filter.name == name) return filter.function;
    }
  }
  return nullptr;
}

}  // namespace paceline::jinja
