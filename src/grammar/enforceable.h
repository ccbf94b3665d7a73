// What is left of a schema without the keywords that no grammar here follows. It allows all that the schema does, and
// more.
#pragma once

#include <boost/json/value.hpp>

namespace paceline::grammar {

boost::json::value enforceable(const boost::json::value& schema);

}  // namespace paceline::grammar
