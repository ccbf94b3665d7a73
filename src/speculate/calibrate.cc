#include "speculate/calibrate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "kernels/row_buffer.h"

namespace paceline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kContext = 64;
constexpr int32_t kRounds = 5;
constexpr int32_t kRows[] = {1, 2, 4, 8, 16};
constexpr int32_t kDrafts[] = {1, 2, 4, 8};
// A calibrated point counts as much as a few rounds do.
constexpr int32_t kSamples = 3;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

using Times = std::map<int32_t, std::vector<double>>;

// The first time of each count warms caches and is left out where there are others.
void keep_medians(Times& times, CostCurve& curve) {
  for (auto& [count, ms] : times) {
    if (ms.size() > 1) ms.erase(ms.begin());
    std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
    curve.set(count, ms[ms.size() / 2], kSamples);
  }
}

class Calibration {
 public:
  Calibration(Forward& forward, std::span<const TimedDrafter> drafters)
      : forward_(forward), kv_(forward.kv_layout(), kContext + kMaxDraftTokens) {
    const int32_t vocab = forward.config().vocab;
    for (int32_t i = 0; i <= kContext + kMaxDraftTokens; ++i) tokens_.push_back((i * 7919 + 13) % vocab);
    const ForwardRows rows = run(kContext, 0);
    const int32_t width = forward.config().hidden;
    forward.ops().copy(hidden_.sized(forward.ops(), width), rows.hidden + static_cast<int64_t>(kContext - 1) * width,
                       static_cast<size_t>(width) * sizeof(float));
    for (const TimedDrafter& one : drafters)
      drafts_.push_back({one, one.drafter != nullptr ? one.drafter->start() : nullptr, {}});
  }
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;

  void time_all(double budget_ms) {
    const auto begin = Clock::now();
    for (int32_t round = 0; round < kRounds && (round == 0 || ms_since(begin) < budget_ms); ++round) {
      // A model so slow that one round is too much is known by its narrow steps.
      for (const int32_t rows : kRows) {
        if (rows <= 2 || ms_since(begin) < budget_ms) time_step(rows);
      }
      for (const int32_t drafts : kDrafts) {
        for (Drafts& one : drafts_)
          if (drafts <= 1 || ms_since(begin) < budget_ms) time_draft(one, drafts);
      }
    }
  }

  void keep() {
    for (Drafts& one : drafts_) {
      RoundCosts& here = one.of.costs->at(kContext);
      keep_medians(steps_, here.step);
      keep_medians(one.times, here.draft);
    }
  }

 private:
  struct Drafts {
    TimedDrafter of;
    std::unique_ptr<DrafterState> state;
    Times times;
  };

  // Without what only choosing needs: where the backend chooses, logits stay there.
  ForwardRows run(int32_t rows, int32_t drafts) {
    const SeqRows seq{&kv_, rows, {}, drafts};
    logit_rows_.resize(static_cast<size_t>(rows));
    std::iota(logit_rows_.begin(), logit_rows_.end(), 0);
    const auto first = static_cast<size_t>(kv_.length());
    const ForwardRows out =
        forward_.enqueue({std::span(tokens_).subspan(first, static_cast<size_t>(rows)), {&seq, 1}, logit_rows_, {}});
    (void)forward_.settle();
    return out;
  }

  void time_step(int32_t rows) {
    const auto begin = Clock::now();
    run(rows, rows);
    steps_[rows].push_back(ms_since(begin));
    kv_.truncate(kContext);
  }

  void time_draft(Drafts& one, int32_t count) {
    if (one.of.drafter == nullptr) return;
    std::vector<TokenId> out(static_cast<size_t>(count));
    (void)kv_.reserve(std::min(one.of.drafter->block_rows(), kv_.capacity() - kv_.length()));
    const auto begin = Clock::now();
    DraftAsk ask{{std::span(tokens_).first(kContext + 1), &kv_, hidden_.data()}, one.state.get(), out};
    one.of.drafter->propose({&ask, 1});
    one.times[count].push_back(ms_since(begin));
  }

  Forward& forward_;
  KvCache kv_;
  std::vector<TokenId> tokens_;
  kernels::RowBuffer hidden_;
  std::vector<int32_t> logit_rows_;
  Times steps_;
  std::vector<Drafts> drafts_;
};

}  // namespace

void calibrate(Forward& forward, std::span<const TimedDrafter> drafters, double budget_ms) {
  if (drafters.empty() || forward.config().context <= kContext + kMaxDraftTokens) return;
  Calibration calibration(forward, drafters);
  calibration.time_all(budget_ms * static_cast<double>(drafters.size()));
  calibration.keep();
}

}  // namespace paceline
