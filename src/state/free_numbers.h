// Which numbers from 0 on are free, lowest and highest first. All its memory is taken at once: what is given back, also
// while something is thrown, must not want any.
#pragma once

#include <cstdint>
#include <vector>

namespace paceline {

class FreeNumbers {
 public:
  FreeNumbers() = default;
  // All of them.
  explicit FreeNumbers(int32_t count);

  [[nodiscard]] int32_t count() const { return count_; }
  // There is one.
  int32_t take_lowest();
  int32_t take_highest();
  void give_back(int32_t number);

 private:
  void take(int32_t number);

  int32_t count_ = 0;
  // Bits: of the first level those of the numbers, of each other whether the word below it has any; the last has one
  // word.
  std::vector<std::vector<uint64_t>> levels_;
};

}  // namespace paceline
