#include "api/media_ask.h"

#include <filesystem>

#include "api/structs.h"

namespace paceline::api {
namespace {

template <class Read>
Result<Medium> medium_of(Result<Read> read) {
  if (!read.ok()) return read.error();
  return Medium(std::make_shared<const Read>(std::move(*read)));
}

Result<Medium> decode(const Vision& vision, FileBytes bytes, bool is_clip, int32_t frames, int32_t tokens) {
  if (is_clip) return medium_of(vision.read_clip(bytes, frames));
  return medium_of(vision.read(bytes, tokens));
}

Result<Medium> decode(const Vision& vision, const paceline_medium& medium, int32_t tokens) {
  const bool is_clip = medium.is_clip != 0;
  if ((medium.path == nullptr) == (medium.bytes == nullptr)) return Error{"expected bytes or a path, one of them"};
  if (medium.path != nullptr) {
    const std::filesystem::path path(medium.path);
    return is_clip ? medium_of(vision.read_clip(path, medium.frames)) : medium_of(vision.read(path, tokens));
  }
  const FileBytes bytes(static_cast<const uint8_t*>(medium.bytes), medium.byte_count);
  return decode(vision, bytes, is_clip, medium.frames, tokens);
}

void add(Result<Medium> medium, size_t number, std::vector<Medium>& media, FieldProblem& problem) {
  if (medium.ok()) {
    media.push_back(std::move(*medium));
  } else {
    const Error& why = medium.error();
    problem.say(bad_field("media", Error{fmt::format("media[{}]: {}", number, why.message), why.code}));
  }
}

bool are_taken(const Vision* vision, size_t count, FieldProblem& problem) {
  if (count > 0 && vision == nullptr) {
    problem.say(unsupported("media", "this model takes no pictures and no clips, or was opened without them"));
  }
  return problem.none();
}

}  // namespace

Outcome take_media(const paceline_medium* list, size_t count, std::vector<paceline_medium>& taken) {
  if (count == 0) return {};
  if (Outcome wrong = check_size(list, "media[0]"); !wrong.ok()) return wrong;
  const size_t stride = list->size;
  for (size_t i = 0; i < count; ++i) {
    const auto* entry = reinterpret_cast<const paceline_medium*>(reinterpret_cast<const char*>(list) + i * stride);
    paceline_medium& medium = taken.emplace_back(default_medium());
    if (entry->size != stride) return invalid(fmt::format("media[{}].size differs from that of media[0]", i));
    if (Outcome wrong = take_struct(entry, "media", medium); !wrong.ok()) return wrong;
  }
  return {};
}

std::vector<Medium> read_media(const Vision* vision, std::span<const paceline_medium> media, int32_t tokens,
                               FieldProblem& problem) {
  std::vector<Medium> read;
  if (!are_taken(vision, media.size(), problem)) return read;
  for (size_t i = 0; i < media.size() && problem.none(); ++i) add(decode(*vision, media[i], tokens), i, read, problem);
  return read;
}

std::vector<Medium> read_chat_media(const Vision* vision, std::span<const MediaFile> places,
                                    std::span<const paceline_medium> beside, int32_t tokens, FieldProblem& problem) {
  std::vector<Medium> read;
  if (!are_taken(vision, places.size() + beside.size(), problem)) return read;
  size_t used = 0, next[2] = {0, 0};  // of pictures, of clips: where to look for the next
  for (size_t i = 0; i < places.size() && problem.none(); ++i) {
    const MediaFile& place = places[i];
    if (!place.is_beside) {
      const FileBytes bytes(reinterpret_cast<const uint8_t*>(place.bytes.data()), place.bytes.size());
      add(decode(*vision, bytes, place.is_video, 0, tokens), i, read, problem);
      continue;
    }
    size_t& at = next[place.is_video ? 1 : 0];
    while (at < beside.size() && (beside[at].is_clip != 0) != place.is_video) ++at;
    if (at == beside.size()) {
      problem.say(bad_field("media", fmt::format("the messages have more places for {} than media has",
                                                 place.is_video ? "clips" : "pictures")));
      break;
    }
    ++used;
    add(decode(*vision, beside[at], tokens), at, read, problem);
    ++at;
  }
  if (problem.none() && used < beside.size()) {
    problem.say(
        bad_field("media", fmt::format("media has {}, and the messages have places for {}", beside.size(), used)));
  }
  return read;
}

}  // namespace paceline::api
