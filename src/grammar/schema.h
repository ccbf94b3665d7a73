// JSON Schema to an automaton. Schemas come from clients: bounded in depth and size, and strict on what is unknown.
//
// Understood: type (one or several), properties, required, additionalProperties, patternProperties
// (pattern_properties.h), items, minItems, maxItems, minLength, maxLength, pattern (regex.h), format
// (string_pattern.h), prefixItems, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
// minProperties, maxProperties (of named ones), uniqueItems (of small enums), enum, const, anyOf, oneOf (read as
// anyOf), allOf of one schema or of plain objects, $ref within the document, true and false. Annotations (title,
// description, default, examples, $schema, $id, $comment, readOnly, writeOnly, deprecated) are not looked at. Anything
// else is an error that names the keyword and where it stands: what is not enforced is not taken.
//
// What is written is a part of what the schema allows:
//   - properties come in the order of the schema (in a tool call by name, as Gemma's templates sort them), then those
//     that additionalProperties allows, whose names may repeat;
//   - without additionalProperties an object that lists properties has no others; with patternProperties it has those
//     of the patterns behind them, and no others (in a tool call, where names stand bare, only such as can);
//   - without a type the keywords tell it: properties mean an object, items an array, and so on; none: any value;
//   - a string with a known format is of that format, whatever its pattern says; control characters and, in calls, '<'
//     are not written where a class of characters has them;
//   - an array with prefixItems has as many items as these, or as minItems wants;
//   - numbers are as add_number() writes them, white space as Parts::gap() does.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "grammar/parts.h"
#include "grammar/pattern_properties.h"

namespace paceline::grammar {

inline constexpr int kMaxSchemaDepth = 64;
inline constexpr size_t kMaxProperties = 512;

// One schema document within an automaton. `root` must outlive it.
class SchemaCompiler {
 public:
  SchemaCompiler(Parts& parts, const boost::json::value& root) : parts_(parts), root_(root) {}

  // The state to call for a value of the whole schema.
  Result<StateId> compile();
  // The same for a schema within the document, which stands at `path`.
  Result<StateId> compile_at(const boost::json::value& schema, std::string path);

 private:
  using Value = boost::json::value;
  using Object = boost::json::object;
  // A schema and where it stands.
  struct Place {
    const Value* schema;
    std::string path;
    int depth = 0;

    [[nodiscard]] Place at(const Value& value, std::string_view name) const;
  };
  struct Property {
    std::string_view name;
    StateId value;
    bool required;
  };

  Result<StateId> part_of(const Place& place);
  Status add(StateId from, const Place& place);
  Status add_object_schema(StateId from, const Place& place, const Object& schema);
  Status add_reference(StateId from, const Place& place, const Object& schema);
  Status add_alternatives(StateId from, const Place& place, const Value& alternatives);
  Status add_constants(StateId from, const Place& place, const Object& schema);
  Status add_type(StateId from, std::string_view type, const Place& place, const Object& schema);
  Status add_number_type(StateId from, bool integer, const Place& place, const Object& schema);
  Status add_string(StateId from, const Place& place, const Object& schema);
  Status add_formed(StateId from, const Place& place, const Object& schema);
  Status add_array(StateId from, const Place& place, const Object& schema);
  Status add_tuple(StateId from, const Place& place, const Object& schema, const LengthBounds& bounds);
  Status add_unique(StateId from, const Place& place, const Object& schema, const LengthBounds& bounds);
  Status add_all(StateId from, const Place& place, const Object& schema);
  Status add_object(StateId from, const Place& place, const Object& schema);
  using Names = std::unordered_set<std::string_view>;
  static Status check_properties(const Place& place, const Object& listed, const Names& required);
  // Members beside the listed ones, by the pattern of their names.
  struct Patterned {
    RegexNode names;
    StateId value;
  };
  Result<std::vector<Property>> properties(const Place& place, const Object& schema, StateId additional,
                                           const std::vector<NamePattern>& patterns);
  Result<std::vector<Patterned>> patterned(const Place& place, std::vector<NamePattern> patterns);
  Status add_patterned(StateId from, const Patterned& member, StateId colon, const Place& place);
  Status add_members(StateId from, const std::vector<Property>& properties, StateId additional,
                     const std::vector<Patterned>& patterned, const Place& place, bool may_be_empty);
  Status add_counted(StateId from, const std::vector<Property>& properties, const LengthBounds& count);
  Status add_value(StateId from, const Value& value, StateId to, const Place& place);
  Status check_name(std::string_view name, const Place& place) const;

  Parts& parts_;
  const Value& root_;
  std::deque<Value> made_;  // schemas of several
  std::map<const Value*, StateId> known_;
  std::map<std::string, StateId> alike_;  // by their text
  // Referenced schemas that are still to be read: not by recursion, whose depth a chain of references would decide.
  std::vector<Place> pending_;
};

}  // namespace paceline::grammar
