#include "session/picture_places.h"

#include <fmt/format.h>

#include <algorithm>

namespace paceline {

std::string picture_place(const TextModel& model) {
  const TokenId image = model.loaded.config.ids.image;
  return image < 0 ? "" : std::string(model.tokenizer.piece(image).value_or(""));
}

Status place_pictures(const TokenIds& ids, const std::vector<std::shared_ptr<const Patches>>& pictures,
                      DecodeRequest* decode) {
  const std::vector<TokenId>& written = decode->prompt;
  const auto places = ids.image < 0 ? 0 : std::count(written.begin(), written.end(), ids.image);
  if (static_cast<size_t>(places) != pictures.size()) {
    return Error{fmt::format("the prompt has places for {} pictures, and {} were given", places, pictures.size())};
  }
  std::vector<TokenId> placed;
  size_t next = 0;
  for (const TokenId id : written) {
    if (id != ids.image || pictures.empty()) {
      placed.push_back(id);
      continue;
    }
    const int32_t tokens = pictures[next++]->tokens;
    if (ids.image_begin >= 0) placed.push_back(ids.image_begin);
    decode->soft.push_back({static_cast<int32_t>(placed.size()), tokens, nullptr});
    placed.insert(placed.end(), static_cast<size_t>(tokens), ids.image);
    if (ids.image_end >= 0) placed.push_back(ids.image_end);
  }
  decode->prompt = std::move(placed);
  return Done{};
}

}  // namespace paceline
