#include "session/prompt_checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace paceline {

void sort_unique(std::vector<TokenId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::vector<TokenId> placeholder_ids(const TokenIds& ids) {
  std::vector<TokenId> placeholders{ids.image_begin, ids.image,     ids.image_end, ids.audio_begin,
                                    ids.audio,       ids.audio_end, ids.video};
  std::erase_if(placeholders, [](TokenId id) { return id < 0; });
  sort_unique(placeholders);
  return placeholders;
}

Status check_ids(std::span<const TokenId> prompt, int32_t vocab) {
  for (const TokenId id : prompt) {
    if (id >= vocab) return Error{fmt::format("the prompt holds token {}; the model's ids end at {}", id, vocab - 1)};
    if (id < 0) return Error{fmt::format("the prompt holds token {}; ids begin at 0", id)};
  }
  return Done{};
}

Status check_length(size_t prompt_tokens, int32_t context, int32_t model_context) {
  if (context > model_context) {
    return Error{fmt::format("a context of {} tokens was asked for; the model has {}", context, model_context)};
  }
  if (prompt_tokens >= static_cast<size_t>(context)) {
    return Error{fmt::format("the prompt has {} tokens; the context of {} must hold it and at least one more",
                             prompt_tokens, context)};
  }
  return Done{};
}

}  // namespace paceline
