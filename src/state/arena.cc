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
  if (memory_ != nullptr) units_ = static_cast<int32_t>(units);
}

Arena::~Arena() { CHECK(free_units() == units_); }

bool Arena::take(std::span<int32_t> numbers) {
  const auto count = static_cast<int32_t>(numbers.size());
  while (free_units() < count) {
    if (!reclaim_ || !reclaim_()) return false;
  }
  const size_t used_before = std::min(numbers.size(), idle_.size());
  std::copy_n(idle_.rbegin(), used_before, numbers.begin());
  idle_.resize(idle_.size() - used_before);
  // Neighbours in one go.
  for (size_t i = 0, end = 0; i < used_before; i = end) {
    for (end = i + 1; end < used_before && numbers[end] == numbers[end - 1] + 1;) ++end;
    clear(numbers[i], static_cast<int32_t>(end - i));
  }
  for (int32_t& number : numbers.subspan(used_before)) number = fresh_++;
  return true;
}

void Arena::clear(int32_t first, int32_t count) const {
  const size_t bytes = static_cast<size_t>(count) * unit_bytes_;
  if (backend_ != nullptr)
    backend_->clear(at(first), bytes);
  else
    std::memset(at(first), 0, bytes);
}

// The first comes out first again: what was taken together lies together as long as it can.
void Arena::give_back(std::span<const int32_t> numbers) { idle_.insert(idle_.end(), numbers.rbegin(), numbers.rend()); }

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
