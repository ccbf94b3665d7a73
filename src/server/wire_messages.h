// The messages of a conversation as clients send them, made into what chat templates read.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "server/wire_fields.h"

namespace paceline {

// The bytes of a picture's or a clip's file.
struct MediaFile {
  bool is_video = false;
  std::string bytes;
};

struct Messages {
  boost::json::array for_template;
  std::vector<MediaFile> media;  // in the order of their places
};

struct MediaCounts {
  int32_t images = 0, videos = 0;
};

Messages read_messages(WireFields& body, const MediaCounts& most);

}  // namespace paceline
