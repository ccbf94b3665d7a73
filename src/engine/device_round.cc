#include "engine/device_round.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/verify.h"

namespace paceline {

void DeviceRound::start(Sequence& seq) {
  const History history{seq.request().prompt, seq.generated(), nullptr};
  seq.device_choice = std::make_unique<DeviceChoice>(ops_, seq.sampling, forward_.config().vocab, history);
}

// A choice for the newest token's row and for every draft's, each as if all drafts in front of it stood.
void DeviceRound::add_rows(const Choosing& one) {
  Sequence& seq = *one.seq;
  const auto drafts = static_cast<int32_t>(seq.drafts.size());
  const size_t first = choices_.size();
  chains_.push_back(
      {static_cast<int32_t>(first), drafts, one.first_row, seq.hidden.data(), seq.device_choice->counts()});
  for (int32_t i = 0; i <= drafts; ++i) {
    kernels::ChoiceRow row = seq.device_choice->row(static_cast<int64_t>(seq.generated().size()) + i);
    row.logits_row = one.first_logits + i;
    row.first_draft = one.first_row + 1;
    row.drafts = i;
    choices_.push_back(row);
  }
  if (seq.sampling.constraint != nullptr) allow(seq, first);
}

// What stands allows the first choice, and each draft the next one; behind a draft that is not allowed itself no choice
// can stand, whatever is allowed there.
void DeviceRound::allow(Sequence& seq, size_t first_choice) {
  if (seq.cursor == nullptr) seq.cursor = seq.sampling.constraint->start();
  const std::span<const TokenId> generated = seq.generated();
  ahead_.assign(generated.begin(), generated.end());
  for (size_t i = 0; i <= seq.drafts.size(); ++i) {
    const std::span<const uint64_t> words = seq.cursor->allowed(ahead_);
    choices_[first_choice + i].allowed = seq.device_choice->allow(ops_, i, words);
    if (i == seq.drafts.size()) break;
    const auto id = static_cast<size_t>(seq.drafts[i]);
    const bool goes_on = id / 64 < words.size() && (words[id / 64] >> (id % 64) & 1) != 0;
    if (!goes_on) break;
    ahead_.push_back(seq.drafts[i]);
  }
}

void DeviceRound::enqueue(const RoundInput& input) {
  const ModelConfig& config = forward_.config();
  choices_.clear();
  chains_.clear();
  chosen_host_ = nullptr;
  logits_host_ = nullptr;
  bool wants_logits = false;
  int32_t logit_rows = 0;
  for (const Choosing& one : input.choosing) {
    add_rows(one);
    wants_logits = wants_logits || one.seq->request().top_logprobs.has_value();
    logit_rows = std::max(logit_rows, one.first_logits + static_cast<int32_t>(one.seq->drafts.size()) + 1);
  }
  const size_t count = choices_.size();
  if (count == 0) return;
  auto* memory = reinterpret_cast<TokenId*>(chosen_.sized(ops_, static_cast<int64_t>(2 * count)));
  const ForwardRows& rows = input.rows;
  choosing_ops_.choose({rows.logits, rows.tokens, rows.hidden, config.vocab, config.hidden, choices_, chains_, memory});
  chosen_host_ = static_cast<const TokenId*>(ops_.fetch(memory, 2 * count * sizeof(TokenId), chosen_copy_));
  const size_t bytes = static_cast<size_t>(logit_rows) * static_cast<size_t>(config.vocab) * sizeof(float);
  if (wants_logits) logits_host_ = static_cast<const float*>(ops_.fetch(rows.logits, bytes, logits_copy_));
}

Status DeviceRound::hear(const RoundInput& input) {
  const int32_t vocab = forward_.config().vocab;
  for (size_t i = 0; i < input.choosing.size(); ++i) {
    Sequence& seq = *input.choosing[i].seq;
    const auto first = static_cast<size_t>(chains_[i].first_choice);
    for (size_t d = 0; input.drafts_unknown && d < seq.drafts.size(); ++d) {
      seq.drafts[d] = chosen_host_[choices_.size() + first + d];
      if (seq.drafts[d] >= 0 && seq.drafts[d] < vocab) continue;
      return Error{fmt::format("the backend drafted token {} of a vocabulary of {}", seq.drafts[d], vocab)};
    }
    const int64_t first_logits = input.choosing[i].first_logits;
    const float* mine = logits_host_ == nullptr ? nullptr : logits_host_ + first_logits * vocab;
    verify(seq, {mine, chosen_host_ + first, vocab}, scratch_);
  }
  return Done{};
}

Result<RoundTimes> DeviceRound::run(const RoundInput& input) {
  enqueue(input);
  TRY(forward_.settle());
  RoundTimes times;
  times.idle_ms = choosing_ops_.idle_ms();
  // All of it ran on the device, in one piece: what drafting took there is not the forward's.
  if (input.drafts_unknown)
    times.draft_ms = choosing_ops_.ms_between(kernels::ChoosingOps::Mark::begin, kernels::ChoosingOps::Mark::end);
  TRY(hear(input));
  return times;
}

}  // namespace paceline
