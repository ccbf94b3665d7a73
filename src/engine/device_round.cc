#include "engine/device_round.h"

#include <fmt/format.h>

#include <algorithm>

namespace paceline {

void DeviceRound::start(Sequence& seq) {
  if (!chooses()) return;
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

Status DeviceRound::run(const ForwardRows& rows, bool drafts_unknown, std::span<const Choosing> choosing,
                        ChooseScratch& scratch) {
  const ModelConfig& config = forward_.config();
  choices_.clear();
  chains_.clear();
  bool wants_logits = false;
  int32_t logit_rows = 0;
  for (const Choosing& one : choosing) {
    add_rows(one);
    wants_logits = wants_logits || one.seq->request().top_logprobs.has_value();
    logit_rows = std::max(logit_rows, one.first_logits + static_cast<int32_t>(one.seq->drafts.size()) + 1);
  }
  const size_t count = choices_.size();
  const TokenId* chosen = nullptr;
  const float* logits = nullptr;
  if (count > 0) {
    auto* memory = reinterpret_cast<TokenId*>(chosen_.sized(ops_, static_cast<int64_t>(2 * count)));
    ops_.choose({rows.logits, rows.tokens, rows.hidden, config.vocab, config.hidden, choices_, chains_, memory});
    chosen = static_cast<const TokenId*>(ops_.fetch(memory, 2 * count * sizeof(TokenId), chosen_copy_));
    const size_t bytes = static_cast<size_t>(logit_rows) * static_cast<size_t>(config.vocab) * sizeof(float);
    if (wants_logits) logits = static_cast<const float*>(ops_.fetch(rows.logits, bytes, logits_copy_));
  }
  TRY(forward_.settle());
  draft_ms_ = ops_.ms_between(kernels::Ops::Mark::begin, kernels::Ops::Mark::drafted);
  for (size_t i = 0; i < choosing.size(); ++i) {
    Sequence& seq = *choosing[i].seq;
    const auto first = static_cast<size_t>(chains_[i].first_choice);
    if (drafts_unknown)
      for (size_t d = 0; d < seq.drafts.size(); ++d) {
        seq.drafts[d] = chosen[count + first + d];
        if (seq.drafts[d] >= 0 && seq.drafts[d] < config.vocab) continue;
        return Error{fmt::format("the backend drafted token {} of a vocabulary of {}", seq.drafts[d], config.vocab)};
      }
    const float* mine =
        logits == nullptr ? nullptr : logits + static_cast<int64_t>(choosing[i].first_logits) * config.vocab;
    verify(seq, {mine, chosen + first, config.vocab}, scratch);
  }
  return Done{};
}

}  // namespace paceline
