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

namespace paceline::grammar {

struct NamePattern {
  std::string_view text;
  RegexNode names;
  const boost::json::value* schema;
};

// Of a schema, in its order; none where it has no such keyword. An error says why they cannot be followed.
Result<std::vector<NamePattern>> name_patterns(const boost::json::object& schema);

// The schema that a name must obey by these; none: no pattern matches.
Result<const boost::json::value*> schema_of_name(const std::vector<NamePattern>& patterns, std::string_view name);

}  // namespace paceline::grammar
