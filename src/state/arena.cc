#include "state/arena.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/host_memory.h"

namespace paceline {

Arena::Arena(kernels::Ops* backend, size_t unit_bytes, size_t capacity_bytes)
    : backend_(backend), unit_bytes_(unit_bytes) {
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  const size_t units = unit_bytes == 0 ? 0 : std::min(capacity_bytes / unit_bytes, kMost);
  if (units == 0) return;
  memory_ = backend_ == nullptr ? reserved_host_memory(units * unit_bytes) : backend_->arena(units * unit_bytes);
  is_missing_ = memory_ == nullptr;
  if (memory_ == nullptr) return;
  units_ = free_units_ = fresh_end_ = static_cast<int32_t>(units);
  free_.emplace(0, units_);
}

Arena::~Arena() { CHECK(free_units() == units_); }

bool Arena::take(std::span<int32_t> numbers, End end, bool zeroed) {
  const auto count = static_cast<int32_t>(numbers.size());
  while (free_units_ < count) {
    if (!reclaim_ || !reclaim_()) return false;
  }
  for (int32_t& number : numbers) number = take_one(end);
  clear_used(numbers, zeroed);
  return true;
}

int32_t Arena::take_one(End end) {
  --free_units_;
  const auto range = end == End::low ? free_.begin() : std::prev(free_.end());
  const auto [first, behind] = *range;
  if (end == End::high) {
    if (--range->second == first) free_.erase(range);
    return behind - 1;
  }
  free_.erase(range);
  if (first + 1 < behind) free_.emplace(first + 1, behind);
  return first;
}

// Those that were used before; neighbours in one go.
void Arena::clear_used(std::span<const int32_t> numbers, bool zeroed) {
  std::vector<int32_t> used;
  for (const int32_t number : numbers)
    if (number < fresh_begin_ || number >= fresh_end_) used.push_back(number);
  std::sort(used.begin(), used.end());
  for (size_t i = 0, end = 0; zeroed && i < used.size(); i = end) {
    for (end = i + 1; end < used.size() && used[end] == used[end - 1] + 1;) ++end;
    clear(used[i], static_cast<int32_t>(end - i));
  }
  // What was fresh lay at one of its ends.
  for (const int32_t number : numbers) {
    if (number == fresh_begin_) ++fresh_begin_;
    if (number == fresh_end_ - 1) --fresh_end_;
  }
}

void Arena::clear(int32_t first, int32_t count) const {
  const size_t bytes = static_cast<size_t>(count) * unit_bytes_;
  if (backend_ != nullptr)
    backend_->clear(at(first), bytes);
  else
    std::memset(at(first), 0, bytes);
}

void Arena::add_free(int32_t number) {
  ++free_units_;
  auto behind = free_.upper_bound(number);
  int32_t end = number + 1;
  if (behind != free_.end() && behind->first == end) {
    end = behind->second;
    behind = free_.erase(behind);
  }
  if (behind != free_.begin() && std::prev(behind)->second == number)
    std::prev(behind)->second = end;
  else
    free_.emplace(number, end);
}

void Arena::give_back(std::span<const int32_t> numbers) {
  for (const int32_t number : numbers) add_free(number);
}

void Arena::copy(int32_t to, int32_t from) const {
  if (backend_ != nullptr)
    backend_->copy(at(to), at(from), unit_bytes_);
  else
    std::memcpy(at(to), at(from), unit_bytes_);
}

HeldUnits& HeldUnits::operator=(HeldUnits&& other) noexcept {
  give_back();
  arena_ = other.arena_;
  numbers_ = std::exchange(other.numbers_, {});
  return *this;
}

bool HeldUnits::grow(Arena& arena, int32_t count) {
  const size_t before = numbers_.size();
  if (count <= this->count()) return true;
  arena_ = &arena;
  numbers_.resize(static_cast<size_t>(count));
  if (arena.take(std::span(numbers_).subspan(before))) return true;
  numbers_.resize(before);
  return false;
}

void HeldUnits::give_back() {
  if (arena_ != nullptr) arena_->give_back(numbers_);
  numbers_.clear();
}

}  // namespace paceline
