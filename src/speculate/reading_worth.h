// Whether a drafter that reads along is worth what that takes. One that wants to see every row that comes to stand
// takes time of each sequence, asked or not; while it saves less, most sequences go without it. Some it reads all the
// same, to notice when texts change; the fewer, the longer this was in vain. Only speed depends on it.
#pragma once

#include <cstdint>

namespace paceline {

class ReadingWorth {
 public:
  // Another sequence begins. True: it goes without.
  bool rests_next();
  // One that was read along has ended: which share of its time the drafter saved, on average over so many rounds.
  void observe(double saved, int32_t rounds);
  // That share, of late.
  [[nodiscard]] double saved() const { return saved_; }

 private:
  static constexpr double kUnknown = 0.1;  // of one that has read nothing yet
  static constexpr uint64_t kOften = 8, kSeldom = 64;

  double saved_ = kUnknown;
  uint64_t reads_one_of_ = kOften;  // sequences, while it rests
  uint64_t begun_ = 0;              // so many did while it rested
  uint64_t stretch_end_ = 0;        // from there on another is read
  uint64_t read_at_ = 0;
};

}  // namespace paceline
