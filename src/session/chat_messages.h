// The messages of a conversation as clients send them, made into what chat templates read.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "session/ask_fields.h"
#include "session/field_problem.h"

namespace paceline {

// A picture's or a clip's file.
struct MediaFile {
  bool is_video = false;
  bool is_beside = false;    // its bytes come from whoever asks, and not with the messages
  std::string bytes;         // "" while they are to be fetched, or come from beside
  std::string url;           // where they stand; "": they need not be fetched
  std::string field;         // that says so
  size_t written_bytes = 0;  // of the request
};

struct Messages {
  boost::json::array for_template;
  std::vector<MediaFile> media;  // in the order of their places
};

// What there may be of them; none of either without more words.
struct MediaTerms {
  int32_t images = 0, videos = 0;
  // Parts {"type": "image"} and {"type": "video"} stand for files that the asker brings.
  bool beside = false;
  // Whether a URL other than data: may be fetched; what is wrong with it, if anything. Empty: none may.
  std::function<std::optional<FieldError>(const std::string& url, const std::string& field)> refuse_url = {};
};

// At most so many messages.
Messages read_messages(AskFields& body, int32_t most, const MediaTerms& terms);

}  // namespace paceline
