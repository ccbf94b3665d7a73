// The messages of a conversation as clients send them, made into what chat templates read.
#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/media_url.h"
#include "server/wire_fields.h"

namespace paceline {

// A picture's or a clip's file.
struct MediaFile {
  bool is_video = false;
  std::string bytes;            // "" while it is to be fetched
  std::optional<MediaUrl> url;  // from where, where it is not in the request itself
  std::string field;            // that says so
  size_t written_bytes = 0;     // of the request's body
};

struct Messages {
  boost::json::array for_template;
  std::vector<MediaFile> media;  // in the order of their places
};

// What there may be of them; none of either without more words.
struct MediaTerms {
  int32_t images = 0, videos = 0;
  std::span<const std::string> hosts;  // that they may be fetched from
};

// At most so many messages.
Messages read_messages(WireFields& body, int32_t most, const MediaTerms& terms);

}  // namespace paceline
