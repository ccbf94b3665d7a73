#include "api/token_records.h"

#include "session/token_bytes.h"

namespace paceline::api {
namespace {

int32_t origin_of(TokenOrigin origin) {
  switch (origin) {
    case TokenOrigin::plain: return PACELINE_PLAIN;
    case TokenOrigin::accepted: return PACELINE_ACCEPTED;
    case TokenOrigin::corrected: return PACELINE_CORRECTED;
    case TokenOrigin::extra: break;
  }
  return PACELINE_EXTRA;
}

}  // namespace

paceline_likely_token TokenRecords::likely(TokenId id, float logprob, const Tokenizer& tokenizer) {
  const std::string& text = texts_.emplace_back(token_bytes(tokenizer, id));
  return {.text = text.c_str(), .text_bytes = text.size(), .id = id, .logprob = logprob};
}

void TokenRecords::add(const NewToken& token, const Tokenizer& tokenizer) {
  auto& top = tops_.emplace_back();
  for (const TokenLogprob& other : token.logprobs.top) top.push_back(likely(other.id, other.logprob, tokenizer));
  list_.push_back({.token = likely(token.id, token.logprobs.chosen, tokenizer),
                   .top = top.data(),
                   .top_count = top.size(),
                   .origin = origin_of(token.origin),
                   .reserved = 0});
}

}  // namespace paceline::api
