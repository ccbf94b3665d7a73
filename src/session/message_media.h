// The pictures and clips of a conversation while it is read: how many there may be, and where their bytes are.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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

// What there may be of them; none of either without more words.
struct MediaTerms {
  int32_t images = 0, videos = 0;
  // Parts {"type": "image"} and {"type": "video"} stand for files that the asker brings.
  bool beside = false;
  // Whether a URL other than data: may be fetched; what is wrong with it, if anything. Empty: none may.
  std::function<std::optional<FieldError>(const std::string& url, const std::string& field)> refuse_url = {};
};

class MessageMedia {
 public:
  // All outlive it.
  MessageMedia(FieldProblem& problem, const MediaTerms& terms, std::vector<MediaFile>& out)
      : problem_(problem), terms_(terms), images_left_(terms.images), videos_left_(terms.videos), out_(out) {}

  [[nodiscard]] bool takes_places() const { return terms_.beside; }

  // Each gives back the part that stands for it in a message. `field`: that says so.
  // data:image/png;base64,... or, where the asker's terms allow it, https://one.of.them/picture.png
  boost::json::object add_url(const std::string& url, bool is_video, const std::string& field);
  // Base64 by itself.
  boost::json::object add_base64(const std::string& written, const std::string& field);
  // The next of those that come from beside.
  boost::json::object add_place(bool is_video, const std::string& field);

 private:
  bool takes_one_more(bool is_video, const std::string& field);

  FieldProblem& problem_;
  const MediaTerms& terms_;
  int32_t images_left_, videos_left_;  // that may still come
  std::vector<MediaFile>& out_;
};

}  // namespace paceline
