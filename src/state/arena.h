// The memory of a device that sequences remember in: one allocation, taken at once, and dealt out in units of one size,
// by number. No driver is asked while requests run, and what is free here is free. Of one engine, and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "state/free_numbers.h"

namespace paceline {

class Arena {
 public:
  // As many units as fit into the capacity. backend: whose memory it is; none: the host's, of which pages that are
  // never used are never taken. No units where the machine has not so much.
  Arena(kernels::Ops* backend, size_t unit_bytes, size_t capacity_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // As many units as `numbers` has room for, zeroed: attention multiplies what it masks by zero, so it must be a
  // number. False: there are not so many, even with what was kept given up, and none was taken. Those nearest to one
  // end of the memory: who takes from the same end one after the other has neighbours, and a device finds those
  // quicker.
  enum class End : uint8_t { low, high };
  // zeroed: false: whatever they held, for who writes before reading.
  [[nodiscard]] bool take(std::span<int32_t> numbers, End end = End::low, bool zeroed = true);
  // Of what take() would say no to: false. Otherwise the next take() of so many says yes, and throws nothing.
  [[nodiscard]] bool has_room(int32_t count);
  // Throws nothing.
  void give_back(std::span<const int32_t> numbers);
  // One unit's content.
  void copy(int32_t to, int32_t from) const;

  // Asked when units are short: gives up something that is only kept for later. False: there is nothing.
  void set_reclaim(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }

  [[nodiscard]] std::byte* base() const { return static_cast<std::byte*>(memory_.get()); }
  [[nodiscard]] std::byte* at(int32_t number) const { return base() + static_cast<size_t>(number) * unit_bytes_; }
  [[nodiscard]] size_t unit_bytes() const { return unit_bytes_; }
  [[nodiscard]] int32_t units() const { return units_; }
  [[nodiscard]] int32_t free_units() const { return free_.count(); }
  // Memory was asked for that the machine does not have.
  [[nodiscard]] bool is_missing() const { return is_missing_; }

 private:
  void clear(int32_t first, int32_t count) const;
  void clear_used(std::span<const int32_t> numbers, bool zeroed);

  kernels::Ops* backend_;
  size_t unit_bytes_;
  int32_t units_ = 0;
  std::shared_ptr<void> memory_;
  bool is_missing_ = false;
  FreeNumbers free_;
  int32_t fresh_begin_ = 0, fresh_end_ = 0;  // have never been used, and are zero as they came
  std::function<bool()> reclaim_;
};

// Units that somebody holds besides pages.
class HeldUnits {
 public:
  HeldUnits() = default;
  HeldUnits(HeldUnits&& other) noexcept { *this = std::move(other); }
  HeldUnits& operator=(HeldUnits&& other) noexcept;
  ~HeldUnits() { give_back(); }

  // Holds so many from now on, or more. False: there are no more.
  [[nodiscard]] bool grow(Arena& arena, int32_t count);
  void give_back();
  [[nodiscard]] std::span<const int32_t> numbers() const { return numbers_; }
  [[nodiscard]] int32_t count() const { return static_cast<int32_t>(numbers_.size()); }

 private:
  Arena* arena_ = nullptr;
  std::vector<int32_t> numbers_;
};

}  // namespace paceline
