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
  // threads 0: one per core.
  static Result<std::unique_ptr<Machine>> make(int threads);

  ThreadPool& pool() { return pool_; }
  kernels::Ops& ops() { return *ops_; }
  [[nodiscard]] const char* kernels_name() const { return kernels_name_; }
  // Host, processor, kernels, threads: two that are called alike take alike times.
  [[nodiscard]] std::string identity() const;

 private:
  explicit Machine(int threads) : pool_(threads) {}

  ThreadPool pool_;
  std::unique_ptr<kernels::Ops> ops_;
  const char* kernels_name_ = "";
};

}  // namespace paceline
