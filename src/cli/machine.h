// The processor as a command uses it: threads, and the kernels chosen for it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"

namespace paceline {

class Machine {
 public:
  // threads 0: one per core. pinned: each thread, this one too, stays on its core, for measurements.
  static Result<std::unique_ptr<Machine>> make(int threads, bool pinned = false);

  ThreadPool& pool() { return pool_; }
  kernels::Ops& ops() { return *ops_; }
  [[nodiscard]] const char* kernels_name() const { return kernels_name_; }
  [[nodiscard]] int threads() const { return pool_.threads(); }
  // Host, processor, kernels, threads: two that are called alike take alike times.
  [[nodiscard]] std::string identity() const;

 private:
  Machine(int threads, bool pinned) : pool_(threads, pinned) {}

  ThreadPool pool_;
  std::unique_ptr<kernels::Ops> ops_;
  const char* kernels_name_ = "";
};

}  // namespace paceline
