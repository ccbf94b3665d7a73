#include "session/picture_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "weights/sha256.h"

namespace paceline {
namespace {

Result<Fingerprint> fingerprint_of(const Patches& patches) {
  const int32_t shape[] = {patches.side, patches.columns, patches.rows, patches.tokens};
  TRY_ASSIGN(const std::string hex, sha256_hex(std::as_bytes(std::span(patches.values))));
  Fingerprint print{};
  for (size_t half = 0; half < print.size(); ++half) print[half] = std::stoull(hex.substr(16 * half, 16), nullptr, 16);
  // The same values in another grid are another picture.
  for (const int32_t number : shape) print[0] = print[0] * 0x100000001b3U ^ static_cast<uint64_t>(number);
  return print;
}

}  // namespace

std::string picture_place(const TextModel& model) {
  const TokenId image = model.loaded.config.ids.image;
  return image < 0 ? "" : std::string(model.tokenizer.piece(image).value_or(""));
}

Status place_pictures(const TokenIds& ids, const std::vector<std::shared_ptr<const Patches>>& pictures,
                      Request* request) {
  const std::vector<TokenId>& written = request->prompt;
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
    const std::shared_ptr<const Patches>& picture = pictures[next++];
    const int32_t tokens = picture->tokens;
    if (ids.image_begin >= 0) placed.push_back(ids.image_begin);
    TRY_ASSIGN(const Fingerprint content, fingerprint_of(*picture));
    request->pictures.push_back({static_cast<int32_t>(placed.size()), tokens, picture, content});
    placed.insert(placed.end(), static_cast<size_t>(tokens), ids.image);
    if (ids.image_end >= 0) placed.push_back(ids.image_end);
  }
  request->prompt = std::move(placed);
  return Done{};
}

}  // namespace paceline
