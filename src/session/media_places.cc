#include "session/media_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "session/fingerprint.h"
#include "session/prompt_checks.h"

namespace paceline {
namespace {

Result<Fingerprint> picture_fingerprint(const Patches& patches) {
  const int32_t shape[] = {patches.side, patches.columns, patches.rows, patches.tokens};
  TRY_ASSIGN(Fingerprint print, fingerprint_of(std::as_bytes(std::span(patches.values))));
  // The same values in another grid are another picture.
  for (const int32_t number : shape) print[0] = print[0] * 0x100000001b3U ^ static_cast<uint64_t>(number);
  return print;
}

std::string piece_of(const TextModel& model, TokenId id) {
  return id < 0 ? "" : std::string(model.tokenizer.piece(id).value_or(""));
}

std::string time_of(double seconds) {
  const auto whole = static_cast<int64_t>(std::floor(seconds));
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

std::string text_of(const Clip& clip, const std::string& place) {
  std::string text;
  for (const Clip::Frame& frame : clip.frames)
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", time_of(frame.seconds), place);
  return text;
}

using Shown = std::vector<std::shared_ptr<const Patches>>;

Status check_count(const char* what, const std::vector<TokenId>& written, TokenId place, const Shown& shown) {
  const auto places = place < 0 ? 0 : std::count(written.begin(), written.end(), place);
  if (static_cast<size_t>(places) == shown.size()) return Done{};
  return Error{fmt::format("the prompt has places for {} {}, and {} were given", places, what, shown.size())};
}

}  // namespace

std::string picture_place(const TextModel& model) { return piece_of(model, model.loaded.config.ids.image); }
std::string clip_place(const TextModel& model) { return piece_of(model, model.loaded.config.ids.video); }

std::vector<Medium> media_without_place(const TextModel& model, std::string_view text, std::span<const Medium> media) {
  const auto has = [&](const std::string& place) {
    return !place.empty() && text.find(place) != std::string_view::npos;
  };
  const bool picture_inside = has(picture_place(model)), clip_inside = has(clip_place(model));
  std::vector<Medium> without;
  for (const Medium& medium : media) {
    if (!(is_clip(medium) ? clip_inside : picture_inside)) without.push_back(medium);
  }
  return without;
}

std::string with_places_before(const TextModel& model, std::string_view text, std::span<const Medium> media) {
  std::string whole;
  for (const Medium& medium : media_without_place(model, text, media)) {
    whole += is_clip(medium) ? clip_place(model) : picture_place(model);
  }
  return whole.append(text);
}

Result<std::string> with_frame_places(std::string_view text, const std::string& place, std::span<const Medium> media) {
  const auto clips = std::count_if(media.begin(), media.end(), is_clip);
  if (place.empty() && clips > 0) return Error{"this model takes no clips", "unsupported"};
  std::string whole;
  std::ptrdiff_t places = 0;
  auto next = std::find_if(media.begin(), media.end(), is_clip);
  while (!place.empty()) {
    const size_t at = text.find(place);
    if (at == std::string_view::npos) break;
    ++places;
    whole += text.substr(0, at);
    text.remove_prefix(at + place.size());
    if (next == media.end()) continue;
    whole += text_of(*std::get<1>(*next), place);
    next = std::find_if(next + 1, media.end(), is_clip);
  }
  if (places == clips) return whole.append(text);
  return Error{fmt::format("the prompt has places for {} clips, and {} were given", places, clips)};
}

Result<MediaPrompt> place_media(const TokenIds& ids, const std::vector<TokenId>& written,
                                std::span<const Medium> media) {
  Shown pictures, frames;
  for (const Medium& medium : media) {
    if (!is_clip(medium)) pictures.push_back(std::get<0>(medium));
    if (!is_clip(medium)) continue;
    for (const Clip::Frame& frame : std::get<1>(medium)->frames) frames.push_back(frame.patches);
  }
  TRY(check_count("pictures", written, ids.image, pictures));
  TRY(check_count("frames", written, ids.video, frames));
  MediaPrompt prompt;
  auto next_picture = pictures.begin(), next_frame = frames.begin();
  for (const TokenId id : written) {
    const bool is_place = id >= 0 && (id == ids.image || id == ids.video);
    if (!is_place) {
      prompt.tokens.push_back(id);
      continue;
    }
    const std::shared_ptr<const Patches>& picture = id == ids.image ? *next_picture++ : *next_frame++;
    if (ids.image_begin >= 0) prompt.tokens.push_back(ids.image_begin);
    TRY_ASSIGN(const Fingerprint content, picture_fingerprint(*picture));
    prompt.pictures.push_back({static_cast<int32_t>(prompt.tokens.size()), picture->tokens, picture, content});
    prompt.tokens.insert(prompt.tokens.end(), static_cast<size_t>(picture->tokens), id);
    if (ids.image_end >= 0) prompt.tokens.push_back(ids.image_end);
  }
  return prompt;
}

Result<MediaPrompt> encode_with_media(const TextModel& model, std::string_view text, bool with_bos,
                                      std::span<const Medium> media) {
  TRY(Tokenizer::check_size(text.size()));
  // In the text and not in the tokens: what stands before a time may share a token with it.
  TRY_ASSIGN(const std::string whole, with_frame_places(text, clip_place(model), media));
  TRY(Tokenizer::check_size(whole.size()));
  const std::vector<TokenId> written = model.tokenizer.encode(whole, with_bos);
  TRY(check_ids(written, model.loaded.config.vocab));
  return place_media(model.loaded.config.ids, written, media);
}

}  // namespace paceline
