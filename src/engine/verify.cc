#include "engine/verify.h"

#include <algorithm>

#include "sample/logprobs.h"

namespace paceline {
namespace {

TokenId choose_next(const Sequence& seq, std::span<const float> logits, ChooseScratch& scratch) {
  const std::span<const TokenId> generated = seq.generated();
  const History history{seq.request().prompt, generated, seq.sampling.penalised() ? &seq.counts : nullptr};
  return choose(logits, history, seq.sampling, static_cast<int64_t>(generated.size()), scratch);
}

TokenOrigin origin_of(const Sequence& seq, size_t row, bool holds) {
  if (holds) return TokenOrigin::accepted;
  if (row < seq.drafts.size()) return TokenOrigin::corrected;
  return seq.drafts.empty() ? TokenOrigin::plain : TokenOrigin::extra;
}

std::optional<EndReason> end_behind(const Sequence& seq) {
  if (static_cast<int32_t>(seq.generated().size()) >= seq.request().max_tokens) return EndReason::max_tokens;
  if (static_cast<int32_t>(seq.standing.size()) >= seq.request().context) return EndReason::context;
  return std::nullopt;
}

}  // namespace

int32_t verify(Sequence& seq, const VerifyRows& rows, ChooseScratch& scratch) {
  const Request& request = seq.request();
  Verdict& verdict = seq.verdict;
  verdict = {};
  scratch.constraint = seq.cursor != nullptr ? seq.sampling.constraint : nullptr;
  scratch.cursor = std::move(seq.cursor);
  size_t row = 0;
  for (bool holds = true; holds && !verdict.end; ++row) {
    std::span<const float> logits;
    if (rows.logits != nullptr)
      logits = {rows.logits + static_cast<int64_t>(row) * rows.vocab, static_cast<size_t>(rows.vocab)};
    const TokenId token = rows.chosen != nullptr ? rows.chosen[row] : choose_next(seq, logits, scratch);
    holds = row < seq.drafts.size() && seq.drafts[row] == token;
    if (token == kNoChoice) {
      verdict.end = EndReason::failed;
      verdict.problem = kNoChoiceProblem;
    } else if (std::binary_search(request.stop_ids.begin(), request.stop_ids.end(), token)) {
      verdict.stop_token = token;
      verdict.end = EndReason::stop_id;
    } else {
      seq.standing.push_back(token);
      if (seq.sampling.penalised()) seq.counts.advance(token);
      verdict.tokens.push_back({token, origin_of(seq, row, holds), {}});
      if (request.top_logprobs)
        verdict.tokens.back().logprobs = row_logprobs(logits, token, *request.top_logprobs, scratch);
      verdict.end = end_behind(seq);
    }
    verdict.cut = holds && verdict.end.has_value();
  }
  seq.chose = true;
  if (seq.sampling.constraint != nullptr) seq.cursor = std::move(scratch.cursor);
  scratch.constraint = nullptr;
  scratch.cursor = nullptr;
  return static_cast<int32_t>(row);
}

}  // namespace paceline
