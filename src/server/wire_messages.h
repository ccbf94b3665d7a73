// The messages of a conversation as clients send them, made into what chat templates read.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "server/wire_fields.h"

namespace paceline {

struct Messages {
  boost::json::array for_template;
  std::vector<std::string> images;  // the bytes of their files
};

Messages read_messages(WireFields& body, int32_t max_images);

}  // namespace paceline
