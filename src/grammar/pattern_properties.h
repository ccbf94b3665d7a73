// The keyword patternProperties: members whose names are of a form.
//
// What is followed is what can be followed name by name: no name that is written may have to obey two schemas that
// differ. So patterns of unlike schemas must not share a name, and a property that is listed must not be another
// pattern's, unless that allows anything.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/regex.h"
#include "grammar/regex_texts.h"

namespace paceline::grammar {

struct NamePattern {
  std::string_view text;
  RegexNode names;
  RegexTexts texts;
  const boost::json::value* schema;
};

// Of a schema, in its order; none where it has no such keyword. An error says why they cannot be followed. What all of
// this takes is bounded by how long the schema's patterns and names are.
Result<std::vector<NamePattern>> name_patterns(const boost::json::object& schema);

// The schema that each of these names must obey by the patterns; none: no pattern matches.
Result<std::vector<const boost::json::value*>> schemas_of_names(const std::vector<NamePattern>& patterns,
                                                                const std::vector<std::string_view>& names);

}  // namespace paceline::grammar
