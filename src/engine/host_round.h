// The host chooses, each sequence by itself: threads take one after the other.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "engine/choosing_round.h"
#include "sample/choose.h"

namespace paceline {

class HostRound : public ChoosingRound {
 public:
  HostRound(Forward& forward, ThreadPool& pool)
      : forward_(forward), pool_(pool), scratch_(static_cast<size_t>(pool.threads())) {}

  void start(Sequence&) override {}
  [[nodiscard]] bool takes_unknown_drafts() const override { return false; }
  void begin() override {}
  void drafted() override {}
  Result<RoundTimes> run(const RoundInput& input) override;

 private:
  Forward& forward_;
  ThreadPool& pool_;
  std::vector<ChooseScratch> scratch_;  // of each thread
};

}  // namespace paceline
