// The one accountant of the bytes that sequences remember in: an arena that is taken once, what blocks of it hold, and
// what is only kept for later. Nothing is promised: who needs memory takes it before it is used, and what is available
// here can be taken. Of one engine, and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "state/kv.h"
#include "state/prefixes.h"

namespace paceline {

class Memory {
 public:
  Memory(const KvLayout& layout, size_t capacity_bytes);

  [[nodiscard]] const std::shared_ptr<KvBlockPool>& pool() const { return pool_; }
  [[nodiscard]] Arena& arena() { return pool_->arena(); }
  [[nodiscard]] Prefixes& prefixes() { return prefixes_; }
  [[nodiscard]] const Prefixes& prefixes() const { return prefixes_; }

  // Units of so many bytes.
  [[nodiscard]] int64_t units_of(size_t bytes) const;
  // That whoever asks can have: kept prefixes give way.
  [[nodiscard]] int64_t available_units() const { return pool_->available_units(); }

  [[nodiscard]] size_t capacity_bytes() const { return pool_->capacity_bytes(); }
  [[nodiscard]] size_t used_bytes() const { return pool_->used_bytes(); }
  // Of blocks that are only kept for later; and the others, which running sequences hold.
  [[nodiscard]] size_t kept_bytes() const { return pool_->kept_bytes(); }
  [[nodiscard]] size_t running_bytes() const { return used_bytes() - kept_bytes(); }
  // The machine has not so much.
  [[nodiscard]] bool is_missing() const { return pool_->arena().is_missing(); }
  // "": nobody has anything, but for what is kept.
  [[nodiscard]] const char* problem_when_idle() const;

 private:
  std::shared_ptr<KvBlockPool> pool_;
  Prefixes prefixes_;
};

}  // namespace paceline
