// Where pictures and clips stand in a prompt. Its text has one place for each: what the model's tokenizer writes for an
// image or a video token, which is what chat templates put for {"type": "image"} and {"type": "video"}. A picture's
// place becomes its soft tokens between delimiters; a clip's the times of its frames, "00:07", each before the frame.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "session/medium.h"
#include "session/text_model.h"

namespace paceline {

// What a prompt's text has in such a place; "" where the model has no such token.
std::string picture_place(const TextModel& model);
std::string clip_place(const TextModel& model);

// Those of a kind that the text has no place for at all: where they stand is for the asker to say.
std::vector<Medium> media_without_place(const TextModel& model, std::string_view text, std::span<const Medium> media);
// The text with a place before it for each of those.
std::string with_places_before(const TextModel& model, std::string_view text, std::span<const Medium> media);

struct MediaPrompt {
  std::vector<TokenId> tokens;
  std::vector<RequestPicture> pictures;  // pictures and frames, for Request
};

// Encodes a text whose places the media take, pictures and clips each in their own order. An error where there are more
// places or fewer. with_bos: the text does not begin with it itself.
Result<MediaPrompt> encode_with_media(const TextModel& model, std::string_view text, bool with_bos,
                                      std::span<const Medium> media);

// Its steps. The text with a place for each frame of the clips:
Result<std::string> with_frame_places(std::string_view text, const std::string& place, std::span<const Medium> media);
// and the tokens of that text, with as many in each place as the picture or frame has.
Result<MediaPrompt> place_media(const TokenIds& ids, const std::vector<TokenId>& written,
                                std::span<const Medium> media);

}  // namespace paceline
