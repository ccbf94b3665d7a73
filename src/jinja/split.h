// The methods of strings that take them apart.
#pragma once

#include "jinja/run.h"

namespace paceline::jinja {

Result<Value> split(Run& run, const Value& self, const Arguments& arguments);
Result<Value> rsplit(Run& run, const Value& self, const Arguments& arguments);
Result<Value> splitlines(Run& run, const Value& self, const Arguments& arguments);
Result<Value> partition(Run& run, const Value& self, const Arguments& arguments);
Result<Value> rpartition(Run& run, const Value& self, const Arguments& arguments);

}  // namespace paceline::jinja
