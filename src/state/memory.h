// The one accountant of the bytes that sequences remember in: what is promised to those that run, what blocks hold, and
// what is only kept for later. Of one engine, and one thread.
#pragma once

#include <cstddef>
#include <memory>

#include "state/kv.h"
#include "state/prefixes.h"

namespace paceline {

class Memory {
 public:
  Memory(const KvLayout& layout, size_t capacity_bytes);

  // Promises bytes to whoever may need them; false: there are not so many. What was promised can be taken of the pool
  // at any time: kept prefixes give way.
  [[nodiscard]] bool reserve(size_t bytes);
  void release(size_t bytes);

  [[nodiscard]] const std::shared_ptr<KvBlockPool>& pool() const { return pool_; }
  [[nodiscard]] Prefixes& prefixes() { return prefixes_; }
  [[nodiscard]] const Prefixes& prefixes() const { return prefixes_; }

  [[nodiscard]] size_t reserved_bytes() const { return reserved_bytes_; }
  [[nodiscard]] size_t used_bytes() const { return pool_->used_bytes(); }
  // Of blocks that are only kept for later.
  [[nodiscard]] size_t kept_bytes() const { return prefixes_.kept_bytes(); }
  // "": nobody has anything, but for what is kept.
  [[nodiscard]] const char* problem_when_idle() const;

 private:
  std::shared_ptr<KvBlockPool> pool_;
  Prefixes prefixes_;
  size_t reserved_bytes_ = 0;
  bool released_too_much_ = false;
};

}  // namespace paceline
