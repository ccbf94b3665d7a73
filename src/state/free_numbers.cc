#include "state/free_numbers.h"

#include <bit>
#include <cstddef>

#include "base/check.h"

namespace paceline {
namespace {

constexpr size_t kWordBits = 64;

}  // namespace

FreeNumbers::FreeNumbers(int32_t count) : count_(count) {
  auto bits = static_cast<size_t>(count);
  while (bits > 0) {
    std::vector<uint64_t>& words = levels_.emplace_back((bits + kWordBits - 1) / kWordBits, ~uint64_t{0});
    if (bits % kWordBits != 0) words.back() = (uint64_t{1} << bits % kWordBits) - 1;
    if (words.size() == 1) break;
    bits = words.size();
  }
}

int32_t FreeNumbers::take_lowest() {
  CHECK(count_ > 0);
  size_t at = 0;
  for (size_t level = levels_.size(); level-- > 0;)
    at = at * kWordBits + static_cast<size_t>(std::countr_zero(levels_[level][at]));
  const auto number = static_cast<int32_t>(at);
  take(number);
  return number;
}

int32_t FreeNumbers::take_highest() {
  CHECK(count_ > 0);
  size_t at = 0;
  for (size_t level = levels_.size(); level-- > 0;)
    at = at * kWordBits + kWordBits - 1 - static_cast<size_t>(std::countl_zero(levels_[level][at]));
  const auto number = static_cast<int32_t>(at);
  take(number);
  return number;
}

void FreeNumbers::take(int32_t number) {
  --count_;
  auto at = static_cast<size_t>(number);
  for (std::vector<uint64_t>& words : levels_) {
    uint64_t& word = words[at / kWordBits];
    word &= ~(uint64_t{1} << at % kWordBits);
    if (word != 0) return;
    at /= kWordBits;
  }
}

void FreeNumbers::give_back(int32_t number) {
  auto at = static_cast<size_t>(number);
  CHECK(number >= 0 && at / kWordBits < levels_[0].size());
  CHECK((levels_[0][at / kWordBits] >> at % kWordBits & 1) == 0);
  ++count_;
  for (std::vector<uint64_t>& words : levels_) {
    words[at / kWordBits] |= uint64_t{1} << at % kWordBits;
    at /= kWordBits;
  }
}

}  // namespace paceline
