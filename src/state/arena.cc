#include "state/arena.h"

#include <algorithm>
#include <cstring>
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
  free_ = FreeNumbers(static_cast<int32_t>(units));
  units_ = fresh_end_ = static_cast<int32_t>(units);
}

Arena::~Arena() { CHECK(free_units() == units_); }

bool Arena::has_room(int32_t count) {
  while (free_units() < count) {
    if (!reclaim_ || !reclaim_()) return false;
  }
  return true;
}

bool Arena::take(std::span<int32_t> numbers, End end, bool zeroed) {
  if (!has_room(static_cast<int32_t>(numbers.size()))) return false;
  for (int32_t& number : numbers) number = end == End::low ? free_.take_lowest() : free_.take_highest();
  clear_used(numbers, zeroed);
  return true;
}

// Those that were used before; neighbours in one go. Taken from one end, they go up or down.
void Arena::clear_used(std::span<const int32_t> numbers, bool zeroed) {
  const auto was_used = [this](int32_t number) { return number < fresh_begin_ || number >= fresh_end_; };
  for (size_t i = 0, end = 0; zeroed && i < numbers.size(); i = end) {
    end = i + 1;
    if (!was_used(numbers[i])) continue;
    const int32_t step = end < numbers.size() && numbers[end] < numbers[i] ? -1 : 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + step && was_used(numbers[end])) ++end;
    clear(std::min(numbers[i], numbers[end - 1]), static_cast<int32_t>(end - i));
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

void Arena::give_back(std::span<const int32_t> numbers) {
  for (const int32_t number : numbers) free_.give_back(number);
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
  // What is thrown, is thrown before there are numbers of units that nobody took.
  numbers_.reserve(static_cast<size_t>(count));
  if (!arena.has_room(count - this->count())) return false;
  arena_ = &arena;
  numbers_.resize(static_cast<size_t>(count));
  CHECK(arena.take(std::span(numbers_).subspan(before)));
  return true;
}

void HeldUnits::give_back() {
  if (arena_ != nullptr) arena_->give_back(numbers_);
  numbers_.clear();
}

}  // namespace paceline
