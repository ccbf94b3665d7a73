// Whether a drafter that reads along is worth what that takes. One that wants to see every row that comes to stand
// takes time of each sequence, asked or not; while it saves less, most sequences go without it. Some it reads all the
// same, to notice when texts change. Only speed depends on it.
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

  double saved_ = kUnknown;
  uint64_t begun_ = 0;  // sequences, while it rested
};

}  // namespace paceline
