#include "proof/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/check.h"

namespace paceline {
namespace {

using Clock = std::chrono::steady_clock;

struct RoundTimes {
  double choose_ms = 0, commit_ms = 0;
};

// One sequence on its way: what stands is prompt + generated; of it, the first kv.length() tokens have been run.
class Decoding {
 public:
  Decoding(Forward& forward, const DecodeRequest& request, const DecodeCallbacks& callbacks,
           const Speculation& speculation)
      : forward_(forward),
        request_(request),
        callbacks_(callbacks),
        speculation_(speculation),
        kv_(forward.kv_layout(), most_tokens(request), most_rows(forward, request)),
        standing_(request.prompt) {
    if (request.sampling.penalised()) counts_.add_prompt(request.prompt);
    if (speculation.drafter != nullptr) drafter_state_ = speculation.drafter->start();
    if (speculation.depth != nullptr) speculation.depth->reset();
  }

  DecodeOutcome run() {
    const auto begin = Clock::now();
    auto first_choice = begin;
    std::optional<DecodeEnd> end;
    if (request_.max_tokens <= 0) end = DecodeEnd::max_tokens;
    while (!end) {
      end = step();
      if (outcome_.counters.rounds <= 1) first_choice = Clock::now();
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

  // A chunk, or an image that must not be cut.
  static int32_t most_rows(const Forward& forward, const DecodeRequest& request) {
    int32_t rows = kMaxForwardRows;
    if (!forward.config().images_see_both_ways) return rows;
    for (const SoftTokens& soft : request.soft) rows = std::max(rows, soft.count);
    return rows;
  }

  // Where the next rows end: before an image rather than in it.
  [[nodiscard]] int32_t next_end(int32_t begin, int32_t standing) const {
    const int32_t end = std::min(standing, begin + request_.chunk_rows);
    if (!forward_.config().images_see_both_ways) return end;
    for (const SoftTokens& soft : request_.soft) {
      if (soft.first_pos < end && end < soft.end_pos()) return soft.first_pos > begin ? soft.first_pos : soft.end_pos();
    }
    return end;
  }

  // Runs the next rows; if they reach the end of what stands, drafts behind it are verified and tokens committed.
  std::optional<DecodeEnd> step() {
    const auto standing = static_cast<int32_t>(standing_.size());
    const int32_t run_before = kv_.length();
    const int32_t rows = next_end(run_before, standing) - run_before;
    CHECK(rows > 0);
    const bool chooses = run_before + rows == standing;
    round_ = {};
    drafts_.clear();
    // The first choice has no row before it whose state a drafter could start from.
    if (hidden_ != nullptr) propose();
    const auto verify_begin = Clock::now();
    const ForwardOutput output = run_rows(rows, chooses);
    verify_ms_ = ms_between(verify_begin, Clock::now());
    if (const Status& status = forward_.status(); !status.ok()) return fail(status.error().message);

    const bool in_prompt = run_before < static_cast<int32_t>(request_.prompt.size());
    if (in_prompt && callbacks_.on_prompt && !callbacks_.on_prompt(kv_.length())) return DecodeEnd::callback;
    if (!chooses) {
      committed();
      return std::nullopt;
    }
    return verify(output, rows - 1, in_prompt);
  }

  DecodeEnd fail(std::string why) {
    outcome_.problem = std::move(why);
    return DecodeEnd::failed;
  }

  // Fills drafts_ with as many as policy, request and drafter agree on.
  void propose() {
    if (speculation_.drafter == nullptr || speculation_.depth == nullptr) return;
    const auto begin = Clock::now();
    round_.context = kv_.length();
    round_.asked = speculation_.depth->depth(kv_.length(), most_drafts());
    CHECK(round_.asked >= 0 && round_.asked <= most_drafts());
    if (round_.asked > 0) {
      drafts_.resize(static_cast<size_t>(round_.asked));
      const auto output = static_cast<int64_t>(outcome_.tokens.size());
      DraftAsk ask{{standing_, &kv_, hidden_, &request_.sampling, output}, drafter_state_.get(), drafts_};
      // Of a pool of its own, which has as much as the capacity.
      CHECK(kv_.reserve(std::min(speculation_.drafter->block_rows(), kv_.capacity() - kv_.length())));
      speculation_.drafter->propose({&ask, 1});
      CHECK(ask.drafted >= 0 && ask.drafted <= round_.asked);
      drafts_.resize(static_cast<size_t>(ask.drafted));
    }
    drop_strays(drafts_, forward_.config().vocab);
    round_.drafted = static_cast<int32_t>(drafts_.size());
    round_.draft_ms = ms_between(begin, Clock::now());
  }

  // A round emits one token more than the drafts it keeps: the last one that may be emitted needs no draft.
  [[nodiscard]] int32_t most_drafts() const {
    const int64_t left = request_.max_tokens - static_cast<int64_t>(outcome_.tokens.size());
    const int64_t room = request_.context - static_cast<int64_t>(standing_.size());
    return static_cast<int32_t>(std::clamp<int64_t>(std::min(left, room) - 1, 0, kMaxDraftTokens));
  }

  // The next `rows` of what stands and the drafts behind them. If they choose, the last standing row and every draft's
  // have logits.
  ForwardOutput run_rows(int32_t rows, bool chooses) {
    const auto begin = standing_.begin() + kv_.length();
    row_tokens_.assign(begin, begin + rows);
    row_tokens_.insert(row_tokens_.end(), drafts_.begin(), drafts_.end());
    const auto all_rows = static_cast<int32_t>(row_tokens_.size());
    const SeqRows seq{&kv_, all_rows, request_.soft, all_rows - rows};
    logit_rows_.clear();
    for (int32_t row = rows - 1; chooses && row < all_rows; ++row) logit_rows_.push_back(row);
    ForwardInput input;
    input.tokens = row_tokens_;
    input.seqs = {&seq, 1};
    input.logit_rows = logit_rows_;
    if (speculation_.drafter != nullptr) input.tap_layers = speculation_.drafter->tap_layers();
    first_pos_ = kv_.length();
    const ForwardOutput output = forward_.run(input);
    taps_ = output.backend_taps;
    return output;
  }

  // Chooses row by row while the drafts are what was chosen, and takes back the rows behind.
  std::optional<DecodeEnd> verify(const ForwardOutput& output, int32_t first_row, bool in_prompt) {
    const ModelConfig& config = forward_.config();
    RoundTimes times;
    std::optional<DecodeEnd> end;
    for (size_t row = 0;; ++row) {
      hidden_ = output.hidden + (first_row + static_cast<int64_t>(row)) * config.hidden;
      const auto choose_begin = Clock::now();
      const TokenId token = choose_from(output.logits + row * static_cast<size_t>(config.vocab));
      const auto commit_begin = Clock::now();
      const bool holds = row < drafts_.size() && drafts_[row] == token;
      end = token == kNoChoice ? fail(kNoChoiceProblem) : commit(token, origin_of(row, holds));
      times.choose_ms += ms_between(choose_begin, commit_begin);
      times.commit_ms += ms_between(commit_begin, Clock::now());
      if (end || !holds) {
        round_.cut = holds;
        break;
      }
    }
    const auto settle_begin = Clock::now();
    if (!end) kv_.truncate(static_cast<int32_t>(standing_.size()) - 1);
    if (!end) committed();
    times.commit_ms += ms_between(settle_begin, Clock::now());
    count_round(times, in_prompt);
    return end;
  }

  [[nodiscard]] TokenOrigin origin_of(size_t row, bool holds) const {
    if (holds) return TokenOrigin::accepted;
    if (row < drafts_.size()) return TokenOrigin::corrected;
    return drafts_.empty() ? TokenOrigin::plain : TokenOrigin::extra;
  }

  void committed() {
    if (speculation_.drafter == nullptr) return;
    const bool writes = first_pos_ >= static_cast<int32_t>(request_.prompt.size());
    const CommittedRows rows{drafter_state_.get(), &kv_, kv_.length(), 0, kv_.length() - first_pos_, writes, standing_};
    speculation_.drafter->committed({&rows, 1}, {taps_, static_cast<int32_t>(row_tokens_.size())});
  }

  TokenId choose_from(const float* logits) {
    const auto vocab = static_cast<size_t>(forward_.config().vocab);
    const TokenCounts* counts = request_.sampling.penalised() ? &counts_ : nullptr;
    const History history{request_.prompt, outcome_.tokens, counts};
    const auto output_index = static_cast<int64_t>(outcome_.tokens.size());
    return choose({logits, vocab}, history, request_.sampling, output_index, scratch_);
  }

  std::optional<DecodeEnd> commit(TokenId token, TokenOrigin origin) {
    if (std::binary_search(request_.stop_ids.begin(), request_.stop_ids.end(), token)) {
      outcome_.stop_token = token;
      return DecodeEnd::stop_id;
    }
    standing_.push_back(token);
    outcome_.tokens.push_back(token);
    if (origin == TokenOrigin::accepted) ++round_.accepted;
    if (request_.sampling.penalised()) counts_.advance(token);
    if (callbacks_.on_origin) callbacks_.on_origin(origin);
    if (callbacks_.on_token && !callbacks_.on_token(token)) return DecodeEnd::callback;
    if (static_cast<int32_t>(outcome_.tokens.size()) >= request_.max_tokens) return DecodeEnd::max_tokens;
    if (static_cast<int32_t>(standing_.size()) >= request_.context) return DecodeEnd::context;
    return std::nullopt;
  }

  void count_round(const RoundTimes& times, bool in_prompt) {
    SpeculationCounters& all = outcome_.counters;
    ++all.rounds;
    all.drafted += round_.drafted;
    all.accepted += round_.accepted;
    all.emitted = static_cast<int64_t>(outcome_.tokens.size());
    for (int32_t i = 0; i < round_.drafted; ++i) ++all.drafted_at[static_cast<size_t>(i)];
    for (int32_t i = 0; i < round_.accepted; ++i) ++all.accepted_at[static_cast<size_t>(i)];
    if (in_prompt) return;
    all.draft_ms += round_.draft_ms;
    all.verify_ms += verify_ms_;
    all.choose_ms += times.choose_ms;
    all.commit_ms += times.commit_ms;
    round_.step_ms = verify_ms_ + times.choose_ms;
    if (speculation_.depth != nullptr) speculation_.depth->observe(round_);
  }

  Forward& forward_;
  const DecodeRequest& request_;
  const DecodeCallbacks& callbacks_;
  const Speculation& speculation_;
  KvCache kv_;
  std::vector<TokenId> standing_;
  std::unique_ptr<DrafterState> drafter_state_;
  const float* hidden_ = nullptr;  // [hidden] of the row that chose the newest token; none before the first choice
  // This step's.
  RoundReport round_;
  int32_t first_pos_ = 0;        // of its first row
  const float* taps_ = nullptr;  // what the drafter wants to see of its rows
  double verify_ms_ = 0;
  std::vector<TokenId> drafts_, row_tokens_;
  std::vector<int32_t> logit_rows_;
  TokenCounts counts_;
  ChooseScratch scratch_;
  DecodeOutcome outcome_;
};

Status check(const DecodeRequest& request, const ModelConfig& config) {
  const auto length = static_cast<int64_t>(request.prompt.size());
  if (length == 0) return Error{"the prompt has no tokens"};
  if (length >= request.context)
    return Error{
        fmt::format("the prompt has {} tokens, expected fewer than the context of {}", length, request.context)};
  if (request.chunk_rows < 1 || request.chunk_rows > kMaxForwardRows)
    return Error{fmt::format("expected chunks of 1 to {} rows, not {}", kMaxForwardRows, request.chunk_rows)};
  for (const TokenId id : request.prompt) {
    if (id < 0 || id >= config.vocab)
      return Error{fmt::format("the prompt holds token {}; ids go from 0 to {}", id, config.vocab - 1)};
  }
  for (const SoftTokens& soft : request.soft) {
    if (soft.first_pos < 0 || soft.end_pos() > length || (config.images_see_both_ways && soft.count > kMaxImageRows))
      return Error{fmt::format("soft tokens {} to {} in a prompt of {}", soft.first_pos, soft.end_pos(), length)};
  }
  return Done{};
}

}  // namespace

DecodeRequest decode_request(const Request& request, int32_t choice) {
  DecodeRequest alone;
  alone.prompt = request.prompt;
  alone.sampling = request.sampling;
  alone.sampling.seed += static_cast<uint64_t>(choice);
  alone.stop_ids = request.stop_ids;
  alone.max_tokens = request.max_tokens;
  alone.context = request.context;
  return alone;
}

DecodeOutcome decode(Forward& forward, const DecodeRequest& request, const DecodeCallbacks& callbacks,
                     const Speculation& speculation) {
  if (const Status status = check(request, forward.config()); !status.ok()) {
    DecodeOutcome outcome;
    outcome.end = DecodeEnd::failed;
    outcome.problem = status.error().message;
    return outcome;
  }
  return Decoding(forward, request, callbacks, speculation).run();
}

}  // namespace paceline
