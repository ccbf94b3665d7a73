#include "engine/decode.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/check.h"

namespace paceline {
namespace {

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// One sequence on its way: what stands is prompt + generated; of it, the first kv.length() tokens have been run.
class Decoding {
 public:
  Decoding(Forward& forward, const DecodeRequest& request, const DecodeCallbacks& callbacks)
      : forward_(forward),
        request_(request),
        callbacks_(callbacks),
        kv_(forward.kv_layout(), most_tokens(request)),
        standing_(request.prompt) {
    if (request.sampling.penalised()) counts_.add_prompt(request.prompt);
  }

  DecodeOutcome run() {
    const auto begin = Clock::now();
    auto first_choice = begin;
    std::optional<DecodeEnd> end;
    if (request_.max_tokens <= 0) end = DecodeEnd::max_tokens;
    while (!end) {
      end = step();
      if (outcome_.steps <= 1) first_choice = Clock::now();
    }
    outcome_.end = *end;
    outcome_.prompt_ms = ms_between(begin, first_choice);
    outcome_.decode_ms = ms_between(first_choice, Clock::now());
    return std::move(outcome_);
  }

 private:
  static int32_t most_tokens(const DecodeRequest& request) {
    const int64_t wanted = static_cast<int64_t>(request.prompt.size()) + std::max(request.max_tokens, 0);
    return static_cast<int32_t>(std::min<int64_t>(wanted, request.context));
  }

  // Where the next rows end: before an image rather than in it.
  [[nodiscard]] int32_t next_end(int32_t begin, int32_t standing) const {
    const int32_t end = std::min(standing, begin + request_.chunk_rows);
    if (!forward_.weights().config.images_see_both_ways) return end;
    for (const SoftTokens& soft : request_.soft) {
      if (soft.first_pos < end && end < soft.end_pos()) return soft.first_pos > begin ? soft.first_pos : soft.end_pos();
    }
    return end;
  }

  // Runs the next rows; chooses and commits a token if they reach the end of what stands.
  std::optional<DecodeEnd> step() {
    const auto standing = static_cast<int32_t>(standing_.size());
    const int32_t run_before = kv_.length();
    const int32_t rows = next_end(run_before, standing) - run_before;
    CHECK(rows > 0);
    const bool chooses = run_before + rows == standing;

    const SeqRows seq{&kv_, rows, request_.soft};
    const int32_t last_row = rows - 1;
    ForwardInput input;
    input.tokens = std::span(standing_).subspan(run_before, rows);
    input.seqs = {&seq, 1};
    if (chooses) input.logit_rows = {&last_row, 1};
    const ForwardOutput output = forward_.run(input);

    const auto prompt_tokens = static_cast<int32_t>(request_.prompt.size());
    if (run_before < prompt_tokens && callbacks_.on_prompt && !callbacks_.on_prompt(kv_.length())) {
      return DecodeEnd::callback;
    }
    if (!chooses) return std::nullopt;
    ++outcome_.steps;
    return commit(choose_from(output.logits));
  }

  TokenId choose_from(const float* logits) {
    const auto vocab = static_cast<size_t>(forward_.weights().config.vocab);
    const TokenCounts* counts = request_.sampling.penalised() ? &counts_ : nullptr;
    const History history{request_.prompt, outcome_.tokens, counts};
    const auto output_index = static_cast<int64_t>(outcome_.tokens.size());
    return choose({logits, vocab}, history, request_.sampling, output_index, scratch_);
  }

  std::optional<DecodeEnd> commit(TokenId token) {
    if (std::binary_search(request_.stop_ids.begin(), request_.stop_ids.end(), token)) {
      outcome_.stop_token = token;
      return DecodeEnd::stop_id;
    }
    standing_.push_back(token);
    outcome_.tokens.push_back(token);
    if (request_.sampling.penalised()) counts_.advance(token);
    if (callbacks_.on_token && !callbacks_.on_token(token)) return DecodeEnd::callback;
    if (static_cast<int32_t>(outcome_.tokens.size()) >= request_.max_tokens) return DecodeEnd::max_tokens;
    if (static_cast<int32_t>(standing_.size()) >= request_.context) return DecodeEnd::context;
    return std::nullopt;
  }

  Forward& forward_;
  const DecodeRequest& request_;
  const DecodeCallbacks& callbacks_;
  KvCache kv_;
  std::vector<TokenId> standing_;
  TokenCounts counts_;
  ChooseScratch scratch_;
  DecodeOutcome outcome_;
};

}  // namespace

DecodeOutcome decode(Forward& forward, const DecodeRequest& request, const DecodeCallbacks& callbacks) {
  CHECK(!request.prompt.empty() && static_cast<int64_t>(request.prompt.size()) < request.context);
  CHECK(request.chunk_rows > 0 && request.chunk_rows <= kMaxForwardRows);
  for (const SoftTokens& soft : request.soft) CHECK(soft.end_pos() <= static_cast<int64_t>(request.prompt.size()));
  return Decoding(forward, request, callbacks).run();
}

}  // namespace paceline
