// allOf: several schemas of objects, and what stands beside them, as one.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "grammar/schema.h"
#include "grammar/schema_fields.h"

namespace paceline::grammar {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

class MergedObjects {
 public:
  explicit MergedObjects(std::string path) : path_(std::move(path)) {}

  // is_beside: what stands beside the list says that it is about objects, or nothing.
  Status add(const object& fields, bool is_beside) {
    TRY_ASSIGN(const auto types, types_of(fields, path_));
    const value* additional = fields.if_contains("additionalProperties");
    for (const char* name : {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"}) {
      if (fields.contains(name)) return Error{fmt::format("{}: {} within it is not supported", path_, name)};
    }
    const bool is_plain = ((is_beside && types.empty()) || types == std::vector<std::string_view>{"object"}) &&
                          (additional == nullptr || additional->is_bool()) && !fields.contains("patternProperties") &&
                          !fields.contains("minProperties") && !fields.contains("maxProperties");
    if (!is_plain)
      return Error{fmt::format("{}: of schemas other than those of plain objects is not supported", path_)};
    TRY_ASSIGN(const auto names, required_names(fields, path_));
    for (const std::string_view name : names) required_.emplace_back(name);
    static const object kNone;
    const value* listed = fields.if_contains("properties");
    if (listed != nullptr && !listed->is_object())
      return Error{fmt::format("{}: expected an object of properties", path_)};
    const object& own = listed != nullptr ? listed->get_object() : kNone;
    if (additional != nullptr && !additional->get_bool()) closed_.push_back(&own);
    opens_ = opens_ || (additional != nullptr && additional->get_bool());
    for (const auto& [name, said] : own) {
      if (properties_.contains(name) && properties_.at(name) != said)
        return Error{fmt::format("{}: two schemas of {} are not supported", path_, json_quoted(shown(name)))};
      properties_[name] = said;
    }
    return Done{};
  }

  // Whoever has no others has only its own ones, whatever its neighbours list.
  Result<object> made() && {
    object properties;
    const auto is_let_in = [&](std::string_view name) {
      return std::all_of(closed_.begin(), closed_.end(), [&](const object* own) { return own->contains(name); });
    };
    for (const auto& [name, said] : properties_) {
      if (is_let_in(name)) properties[name] = said;
    }
    for (const value& name : required_) {
      if (!is_let_in(name.get_string())) {
        return Error{fmt::format("{}: {} is required, and additionalProperties of a neighbour forbids it", path_,
                                 json_quoted(shown(name.get_string())))};
      }
    }
    object merged{{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required_)}};
    if (!closed_.empty() || opens_) merged["additionalProperties"] = closed_.empty();
    return merged;
  }

 private:
  std::string path_;
  object properties_;
  array required_;
  std::vector<const object*> closed_;  // the properties of those that have no others
  bool opens_ = false;                 // one of them has others
};

}  // namespace

Status SchemaCompiler::add_all(StateId from, const Place& place, const Object& schema) {
  const Place inner = place.at(schema.at("allOf"), "allOf");
  MergedObjects merged(inner.path);
  for (const Value& each : schema.at("allOf").get_array()) {
    const Value* one = &each;
    if (const Object* fields = each.if_object(); fields != nullptr && fields->contains("$ref")) {
      TRY_ASSIGN(const auto target, find_reference(root_, fields->at("$ref"), inner.path));
      one = target.schema;
    }
    const Object* fields = one->if_object();
    if (fields == nullptr) return Error{fmt::format("{}: expected schemas of objects", inner.path)};
    TRY(check_keywords(*fields, inner.path));
    TRY(merged.add(*fields, false));
  }
  Object beside = schema;
  beside.erase("allOf");
  made_.emplace_back(std::move(beside));
  TRY(merged.add(made_.back().get_object(), true));
  TRY_ASSIGN(Object made, std::move(merged).made());
  made_.emplace_back(std::move(made));
  return add_object_schema(from, {&made_.back(), inner.path, inner.depth}, made_.back().get_object());
}

}  // namespace paceline::grammar
