#include "engine/request_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "state/kv.h"

namespace paceline {
namespace {

Status check_prompt_tokens(const Request& request, int32_t vocab) {
  if (request.prompt.empty()) return Error{"the prompt has no tokens"};
  if (static_cast<int64_t>(request.prompt.size()) >= request.context) {
    return Error{fmt::format("the prompt has {} tokens; the context of {} must hold it and at least one more",
                             request.prompt.size(), request.context)};
  }
  const auto wrong =
      std::find_if(request.prompt.begin(), request.prompt.end(), [&](TokenId id) { return id < 0 || id >= vocab; });
  if (wrong != request.prompt.end())
    return Error{fmt::format("the prompt holds token {}; ids go from 0 to {}", *wrong, vocab - 1)};
  return Done{};
}

Status check_numbers(const Request& request) {
  const auto at_least = [](const char* what, int32_t least, int32_t found) -> Status {
    if (found >= least) return Done{};
    return Error{fmt::format("{} must be {} or more, not {}", what, least, found)};
  };
  TRY(at_least("max_tokens", 1, request.max_tokens));
  TRY(at_least("the number of choices", 1, request.choices));
  TRY(at_least("max_depth", 0, request.max_depth));
  TRY(at_least("depth", 0, request.depth.value_or(0)));
  return at_least("top_logprobs", 0, request.top_logprobs.value_or(0));
}

// What is searched by halves has to be in order.
Status check_orders(const Request& request) {
  const SampleSettings& sampling = request.sampling;
  if (!std::is_sorted(request.stop_ids.begin(), request.stop_ids.end())) return Error{"the stop ids are not sorted"};
  if (sampling.suppressed != nullptr && !std::is_sorted(sampling.suppressed->begin(), sampling.suppressed->end()))
    return Error{"the suppressed ids are not sorted"};
  return Done{};
}

Status check_pictures(const Request& request, const ModelConfig& config, const VisionForward* vision) {
  if (request.pictures.empty()) return Done{};
  if (vision == nullptr) return Error{"the prompt holds pictures, and this engine takes none"};
  int64_t free_from = 0;
  for (size_t i = 0; i < request.pictures.size(); ++i) {
    const RequestPicture& picture = request.pictures[i];
    const int64_t end = int64_t{picture.first_pos} + picture.count;
    if (picture.count < 1 || picture.first_pos < free_from || end > static_cast<int64_t>(request.prompt.size())) {
      return Error{fmt::format("picture {} takes positions {} to {}, expected some from {} on in a prompt of {}", i,
                               picture.first_pos, end, free_from, request.prompt.size())};
    }
    if (picture.patches == nullptr || picture.patches->tokens != picture.count) {
      return Error{fmt::format("picture {} becomes {} tokens, and the prompt has {} for it", i,
                               picture.patches == nullptr ? 0 : picture.patches->tokens, picture.count)};
    }
    if (config.images_see_both_ways && picture.count > kMaxImageRows)
      return Error{fmt::format("picture {} has {} tokens, expected at most {}", i, picture.count, kMaxImageRows)};
    TRY(vision->check(*picture.patches));
    free_from = end;
  }
  return Done{};
}

}  // namespace

Status check_request(const Request& request, const ModelConfig& config, const VisionForward* vision) {
  TRY(check_prompt_tokens(request, config.vocab));
  TRY(check_numbers(request));
  TRY(check_orders(request));
  TRY(check_settings(request.sampling, config.vocab));
  return check_pictures(request, config, vision);
}

}  // namespace paceline
