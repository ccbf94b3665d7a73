// What the server is set to, and what it serves, under llama.cpp's names where it has them.
#pragma once

#include <boost/json/object.hpp>

#include "server/served_model.h"
#include "server/settings.h"

namespace paceline {

boost::json::object props_object(const ServedModel& model, const RequestLimits& limits, size_t max_body_bytes);

}  // namespace paceline
