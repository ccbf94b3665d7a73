#include "grammar/enforceable.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "grammar/schema.h"
#include "grammar/schema_fields.h"

namespace paceline::grammar {
namespace {

namespace json = boost::json;

json::value reduced(const json::value& schema, int depth);

// Schemas by their names, as in properties.
json::value reduced_each(const json::value& named, int depth) {
  if (!named.is_object()) return named;
  json::object made;
  for (const auto& [name, schema] : named.get_object()) made[name] = reduced(schema, depth);
  return made;
}

json::value reduced_list(const json::value& list, int depth) {
  if (!list.is_array()) return list;
  json::array made;
  for (const json::value& schema : list.get_array()) made.push_back(reduced(schema, depth));
  return made;
}

json::value reduced(const json::value& schema, int depth) {
  // Deeper ones are an error of their own.
  if (!schema.is_object() || depth > 2 * kMaxSchemaDepth) return schema;
  json::object made;
  for (const auto& [key, said] : schema.get_object()) {
    const std::string_view name = key;
    if (name == "properties" || name == "patternProperties" || name == "$defs" || name == "definitions") {
      made[key] = reduced_each(said, depth + 1);
    } else if (name == "anyOf" || name == "oneOf" || name == "allOf" || name == "prefixItems") {
      made[key] = reduced_list(said, depth + 1);
    } else if (name == "items" || name == "additionalProperties") {
      made[key] = reduced(said, depth + 1);
    } else {
      made[key] = said;
    }
  }
  drop_unenforced(made);
  return made;
}

}  // namespace

json::value enforceable(const json::value& schema) { return reduced(schema, 0); }

}  // namespace paceline::grammar
