#include "sample/device_choice.h"

#include <algorithm>

namespace paceline {
namespace {

std::vector<int32_t> counts_of(const History& history, int32_t vocab) {
  std::vector<int32_t> counts(static_cast<size_t>(vocab), 0);
  const auto inside = [&](TokenId id) { return id >= 0 && id < vocab; };
  for (const TokenId id : history.prompt)
    if (inside(id)) counts[static_cast<size_t>(id)] = kernels::kInPrompt;
  for (const TokenId id : history.generated)
    if (inside(id)) ++counts[static_cast<size_t>(id)];
  return counts;
}

}  // namespace

DeviceChoice::DeviceChoice(kernels::Ops& ops, const SampleSettings& settings, int32_t vocab, const History& history)
    : words_((static_cast<size_t>(vocab) + 63) / 64) {
  row_.temperature = settings.temperature;
  row_.top_k = settings.top_k;
  row_.top_p = settings.top_p;
  row_.min_p = settings.min_p;
  row_.repetition_penalty = settings.repetition_penalty;
  row_.presence_penalty = settings.presence_penalty;
  row_.frequency_penalty = settings.frequency_penalty;
  row_.seed = settings.seed;

  const size_t row_bytes = words_ * 64 * sizeof(float), bit_bytes = words_ * sizeof(uint64_t);
  const bool biased = !settings.logit_bias.empty(), bars = settings.suppressed != nullptr;
  const size_t bytes = (settings.penalised() ? row_bytes : 0) + (biased ? row_bytes : 0) + (bars ? bit_bytes : 0);
  if (bytes == 0) return;
  memory_ = ops.memory(bytes);
  if (memory_ == nullptr) return;
  if (settings.penalised()) {
    counts_ = static_cast<int32_t*>(part(row_bytes));
    const std::vector<int32_t> counts = counts_of(history, vocab);
    ops.upload(counts_, counts.data(), counts.size() * sizeof(int32_t));
    row_.counts = counts_;
  }
  if (biased) {
    std::vector<float> dense(static_cast<size_t>(vocab), 0.0f);
    for (const auto& [id, bias] : settings.logit_bias)
      if (id >= 0 && id < vocab) dense[static_cast<size_t>(id)] = bias;
    void* to = part(row_bytes);
    ops.upload(to, dense.data(), dense.size() * sizeof(float));
    row_.bias = static_cast<const float*>(to);
  }
  if (bars) {
    std::vector<uint64_t> bits(words_, 0);
    for (const TokenId id : *settings.suppressed)
      if (id >= 0 && id < vocab) bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
    void* to = part(bit_bytes);
    ops.upload(to, bits.data(), bit_bytes);
    row_.barred = static_cast<const uint64_t*>(to);
  }
}

void* DeviceChoice::part(size_t bytes) {
  void* at = static_cast<char*>(memory_.get()) + used_;
  used_ += bytes;
  return at;
}

kernels::ChoiceRow DeviceChoice::row(int64_t index) const {
  kernels::ChoiceRow row = row_;
  row.index = static_cast<uint64_t>(index);
  return row;
}

const uint64_t* DeviceChoice::allow(kernels::Ops& ops, size_t row, std::span<const uint64_t> words) {
  while (allowed_.size() <= row) allowed_.push_back(ops.memory(words_ * sizeof(uint64_t)));
  if (allowed_[row] == nullptr) return nullptr;
  padded_.assign(words_, 0);
  std::copy_n(words.begin(), std::min(words.size(), words_), padded_.begin());
  ops.upload(allowed_[row].get(), padded_.data(), words_ * sizeof(uint64_t));
  return static_cast<const uint64_t*>(allowed_[row].get());
}

}  // namespace paceline
