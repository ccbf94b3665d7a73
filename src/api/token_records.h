// Tokens with their log-probabilities, as the C interface shows them.
#pragma once

#include <paceline/paceline.h>

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "engine/event.h"
#include "tokenizer/tokenizer.h"

namespace paceline::api {

class TokenRecords {
 public:
  void add(const NewToken& token, const Tokenizer& tokenizer);
  // Those from number `first` on. The list may move when more come; what its entries point to does not.
  [[nodiscard]] std::span<const paceline_token> from(size_t first) const { return std::span(list_).subspan(first); }
  [[nodiscard]] size_t size() const { return list_.size(); }

 private:
  paceline_likely_token likely(TokenId id, float logprob, const Tokenizer& tokenizer);

  std::vector<paceline_token> list_;
  std::deque<std::string> texts_;
  std::deque<std::vector<paceline_likely_token>> tops_;
};

}  // namespace paceline::api
