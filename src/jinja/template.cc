#include "jinja/template.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <limits>

#include "base/utf8.h"
#include "jinja/interpreter.h"
#include "jinja/parser.h"

namespace paceline::jinja {
namespace {

namespace json = boost::json;

Result<Value> from_json(Run& run, const json::value& given, int depth) {
  SPEND(run, 1);
  if (depth > kMaxValueDepth)
    return Error{fmt::format("expected values nested at most {} deep, found more", kMaxValueDepth)};
  switch (given.kind()) {
    case json::kind::null: return Value::none();
    case json::kind::bool_: return Value::boolean(given.get_bool());
    case json::kind::int64: return Value::integer(given.get_int64());
    case json::kind::uint64:
      if (given.get_uint64() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return Error{fmt::format("the integer {} is out of range", given.get_uint64())};
      return Value::integer(static_cast<int64_t>(given.get_uint64()));
    case json::kind::double_: return Value::real(given.get_double());
    case json::kind::string: {
      const json::string& text = given.get_string();
      if (!is_valid_utf8({text.data(), text.size()})) return Error{"expected UTF-8, found other bytes"};
      return run.string(std::string(text.data(), text.size()));
    }
    case json::kind::array: {
      std::vector<Value> items;
      items.reserve(given.get_array().size());
      for (const json::value& item : given.get_array()) {
        TRY_ASSIGN(Value value, from_json(run, item, depth + 1));
        items.push_back(std::move(value));
      }
      return run.list(std::move(items));
    }
    case json::kind::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& field : given.get_object()) {
        if (!is_valid_utf8(field.key())) return Error{"expected UTF-8, found other bytes"};
        TRY_ASSIGN(Value value, from_json(run, field.value(), depth + 1));
        dict->set(Value::string(std::string(field.key())), std::move(value));
      }
      return run.dict(std::move(dict));
    }
  }
  return Value::none();
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

}  // namespace

Result<Template> Template::parse(std::string_view source) {
  if (!is_valid_utf8(source)) return Error{"expected a template in UTF-8, found other bytes"};
  TRY_ASSIGN(Tree tree, jinja::parse(source));
  return Template(std::make_shared<const Tree>(std::move(tree)));
}

Result<Rendering> Template::render(const json::object& variables, const RenderOptions& options) const {
  Run run(options.limits, options.now ? *options.now : local_time());
  std::vector<std::pair<std::string, Value>> values;
  for (const auto& field : variables) {
    auto value = from_json(run, field.value(), 0);
    if (!value.ok()) return Error{fmt::format("{}: {}", std::string(field.key()), value.error().message)};
    values.emplace_back(std::string(field.key()), std::move(*value));
  }
  Interpreter interpreter(*tree_, run);
  Rendering rendering;
  TRY_ASSIGN(rendering.text, interpreter.render(std::move(values)));
  rendering.used_clock = run.used_clock();
  return rendering;
}

}  // namespace paceline::jinja
