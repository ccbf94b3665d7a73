#include "session/message_media.h"

#include <fmt/format.h>

#include <utility>

#include "base/ascii.h"
#include "session/data_uri.h"

namespace paceline {
namespace {

boost::json::object part_for(bool is_video) { return {{"type", is_video ? "video" : "image"}}; }

}  // namespace

bool MessageMedia::takes_one_more(bool is_video, const std::string& field) {
  if ((is_video ? videos_left_ : images_left_)-- > 0) return true;
  FieldError error = bad_field(field, fmt::format("too many {} for one request", is_video ? "videos" : "images"));
  error.code = "media_too_many";
  problem_.say(std::move(error));
  return false;
}

boost::json::object MessageMedia::add_place(bool is_video, const std::string& field) {
  if (takes_one_more(is_video, field)) {
    MediaFile file;
    file.is_video = is_video;
    file.is_beside = true;
    out_.push_back(std::move(file));
  }
  return part_for(is_video);
}

boost::json::object MessageMedia::add_url(const std::string& url, bool is_video, const std::string& field) {
  if (!takes_one_more(is_video, field)) return part_for(is_video);
  MediaFile file;
  file.is_video = is_video;
  file.field = field;
  file.written_bytes = url.size();
  if (in_lower_case(std::string_view(url).substr(0, 5)) == "data:") {
    auto bytes = read_data_uri(url);
    if (!bytes) problem_.say(bad_field(field, "a data: URI must be data:TYPE;base64,..."));
    if (bytes) file.bytes = std::move(*bytes);
  } else if (!terms_.refuse_url) {
    problem_.say(unsupported(field, "no media are fetched: the url must be data:...;base64,..."));
  } else if (auto error = terms_.refuse_url(url, field)) {
    problem_.say(std::move(*error));
  } else {
    file.url = url;
  }
  out_.push_back(std::move(file));
  return part_for(is_video);
}

boost::json::object MessageMedia::add_base64(const std::string& written, const std::string& field) {
  if (!takes_one_more(false, field)) return part_for(false);
  MediaFile file;
  file.field = field;
  file.written_bytes = written.size();
  auto bytes = decode_base64(written);
  if (!bytes) problem_.say(bad_field(field, fmt::format("{} must be base64", field)));
  if (bytes) file.bytes = std::move(*bytes);
  out_.push_back(std::move(file));
  return part_for(false);
}

}  // namespace paceline
