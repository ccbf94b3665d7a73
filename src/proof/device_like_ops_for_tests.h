// A backend that computes on the processor and behaves like a device: memory that the host must fetch from, drafts that
// stay where they are, choices that it makes itself. What the engine does with such a backend can be tested where there
// is none.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/choosing_ops.h"
#include "kernels/cpu_ops.h"
#include "sample/choose.h"

namespace paceline {

class DeviceLikeOps : public kernels::CpuOps, public kernels::ChoosingOps {
 public:
  using CpuOps::CpuOps;

  [[nodiscard]] kernels::ChoosingOps* choosing() override { return this; }
  const void* fetch(const void* from, size_t bytes, kernels::HostCopy& copy) override {
    if (copy.bytes < bytes) copy = {std::shared_ptr<void>(new std::byte[bytes], Bytes{}), bytes};
    std::memcpy(copy.memory.get(), from, bytes);
    return copy.memory.get();
  }

  void choose(const kernels::ChooseArgs& args) override {
    const size_t count = args.rows.size();
    for (size_t i = 0; i < count; ++i) args.chosen[i] = choose_row(args, args.rows[i]);
    if (args.chains.empty()) return;
    for (const kernels::ChoiceChain& chain : args.chains) {
      const TokenId* chosen = args.chosen + chain.first_choice;
      const TokenId* drafts = args.row_tokens + chain.first_row + 1;
      int32_t accepted = 0;
      while (accepted < chain.drafts && chosen[accepted] == drafts[accepted]) ++accepted;
      for (int32_t d = 0; d <= chain.drafts; ++d)
        args.chosen[count + static_cast<size_t>(chain.first_choice + d)] = d < chain.drafts ? drafts[d] : -1;
      for (int32_t d = 0; chain.counts != nullptr && d <= accepted; ++d)
        if (chosen[d] >= 0) ++chain.counts[chosen[d]];
      if (chain.hidden != nullptr)
        std::copy_n(args.hidden + static_cast<int64_t>(chain.first_row + accepted) * args.width, args.width,
                    chain.hidden);
    }
    ++rounds_;
  }
  void follow(const kernels::FollowArgs& args) override {
    for (const kernels::DraftChain& chain : args.chains) {
      TokenId previous = chain.newest;
      for (int32_t d = 0; d < chain.count; ++d)
        args.drafts[chain.first_row + d] = previous = follow_row(args, chain, d, previous);
    }
  }
  void mark(Mark at) override { marks_[static_cast<size_t>(at)] = std::chrono::steady_clock::now(); }
  double ms_between(Mark from, Mark to) override {
    const auto time = marks_[static_cast<size_t>(to)] - marks_[static_cast<size_t>(from)];
    return std::chrono::duration<double, std::milli>(time).count();
  }
  [[nodiscard]] int64_t rounds() const { return rounds_; }

 private:
  struct Bytes {
    void operator()(void* p) const { delete[] static_cast<std::byte*>(p); }
  };
  struct Masked : TokenConstraint, ConstraintCursor {
    std::vector<uint64_t> words;
    std::span<const uint64_t> allowed(std::span<const TokenId>) override { return words; }
    [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override { return std::make_unique<Masked>(*this); }
  };

  // The host's chooser, with everything as the row says it.
  TokenId choose_row(const kernels::ChooseArgs& args, const kernels::ChoiceRow& row) {
    SampleSettings settings;
    settings.temperature = row.temperature;
    settings.top_k = row.top_k;
    settings.top_p = row.top_p;
    settings.min_p = row.min_p;
    settings.repetition_penalty = row.repetition_penalty;
    settings.presence_penalty = row.presence_penalty;
    settings.frequency_penalty = row.frequency_penalty;
    settings.seed = row.seed;
    std::vector<TokenId> prompt, generated;
    std::vector<TokenId> barred;
    for (TokenId id = 0; id < args.vocab; ++id) {
      const int32_t times = row.counts != nullptr ? row.counts[id] : 0;
      if (times >= kernels::kInPrompt) prompt.push_back(id);
      generated.insert(generated.end(), static_cast<size_t>(times % kernels::kInPrompt), id);
      if (row.bias != nullptr && row.bias[id] != 0) settings.logit_bias.push_back({id, row.bias[id]});
      if (row.barred != nullptr && (row.barred[id / 64] >> (id % 64) & 1) != 0) barred.push_back(id);
    }
    for (int32_t d = 0; d < row.drafts; ++d) generated.push_back(args.row_tokens[row.first_draft + d]);
    if (row.barred != nullptr) settings.suppressed = std::make_shared<const std::vector<TokenId>>(barred);
    if (row.allowed != nullptr) {
      auto masked = std::make_shared<Masked>();
      masked->words.assign(row.allowed, row.allowed + (args.vocab + 63) / 64);
      settings.constraint = masked;
    }
    const auto vocab = static_cast<size_t>(args.vocab);
    ChooseScratch scratch;
    return paceline::choose({args.logits + static_cast<size_t>(row.logits_row) * vocab, vocab},
                            {prompt, generated, nullptr}, settings, static_cast<int64_t>(row.index), scratch);
  }

  // Everything that is not among the best few counts as never.
  TokenId follow_row(const kernels::FollowArgs& args, const kernels::DraftChain& chain, int32_t d, TokenId previous) {
    const int64_t row = chain.first_row + d, rank = args.before->cols;
    const float* logits = args.logits + row * args.vocab;
    std::vector<TokenId> order(static_cast<size_t>(args.vocab));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
    order.resize(static_cast<size_t>(args.top));
    std::vector<float> scores(static_cast<size_t>(args.vocab), -std::numeric_limits<float>::infinity());
    std::vector<float> p(static_cast<size_t>(rank)), s(static_cast<size_t>(rank));
    embed(*args.before, &previous, 1, 1.0f, p.data());
    for (const TokenId id : order) {
      embed(*args.after, &id, 1, 1.0f, s.data());
      float sum = 0;
      for (int64_t r = 0; r < rank; ++r)
        sum += p[static_cast<size_t>(r)] * args.weighed[row * rank + r] * s[static_cast<size_t>(r)];
      scores[static_cast<size_t>(id)] = logits[id] + sum;
    }
    SampleSettings settings;
    settings.temperature = chain.temperature;
    settings.seed = chain.seed;
    ChooseScratch scratch;
    return paceline::choose(scores, {}, settings, static_cast<int64_t>(chain.index) + d, scratch);
  }

  int64_t rounds_ = 0;
  std::array<std::chrono::steady_clock::time_point, 2> marks_;
};

}  // namespace paceline
