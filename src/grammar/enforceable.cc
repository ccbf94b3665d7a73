#include "grammar/enforceable.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "grammar/schema.h"
#include "grammar/schema_fields.h"

namespace paceline::grammar {
namespace {

namespace json = boost::json;

json::value reduced(const json::value& schema, const json::value& root, int depth);

// Items that are said elsewhere may be others than can be told apart.
void check_unique(json::object& schema, const json::value& root) {
  const json::value *unique = schema.if_contains("uniqueItems"), *items = schema.if_contains("items");
  if (unique == nullptr || items == nullptr || !items->is_object() || !items->get_object().contains("$ref")) return;
  const auto target = find_reference(root, items->get_object().at("$ref"), "");
  if (!target.ok() || !few_values(*target->schema)) schema.erase("uniqueItems");
}

// Schemas by their names, as in properties.
json::value reduced_each(const json::value& named, const json::value& root, int depth) {
  if (!named.is_object()) return named;
  json::object made;
  for (const auto& [name, schema] : named.get_object()) made[name] = reduced(schema, root, depth);
  return made;
}

json::value reduced_list(const json::value& list, const json::value& root, int depth) {
  if (!list.is_array()) return list;
  json::array made;
  for (const json::value& schema : list.get_array()) made.push_back(reduced(schema, root, depth));
  return made;
}

json::value reduced(const json::value& schema, const json::value& root, int depth) {
  // Deeper ones are an error of their own.
  if (!schema.is_object() || depth > 2 * kMaxSchemaDepth) return schema;
  json::object made;
  for (const auto& [key, said] : schema.get_object()) {
    const std::string_view name = key;
    if (name == "properties" || name == "patternProperties" || name == "$defs" || name == "definitions") {
      made[key] = reduced_each(said, root, depth + 1);
    } else if (name == "anyOf" || name == "oneOf" || name == "allOf" || name == "prefixItems") {
      made[key] = reduced_list(said, root, depth + 1);
    } else if (name == "items" || name == "additionalProperties") {
      made[key] = reduced(said, root, depth + 1);
    } else {
      made[key] = said;
    }
  }
  // A list of no values is nothing that could be written.
  if (const auto* list = made.if_contains("enum"); list != nullptr && list->is_array() && list->get_array().empty())
    made.erase("enum");
  check_unique(made, root);
  drop_unenforced(made);
  return made;
}

}  // namespace

json::value enforceable(const json::value& schema) { return reduced(schema, schema, 0); }

}  // namespace paceline::grammar
