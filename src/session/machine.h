// What a command computes with: the processor's threads and the kernels chosen for it, and a CUDA device if asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"

namespace paceline {

// automatic: CUDA where it can be used.
enum class Device : uint8_t { automatic, cpu, cuda };

struct MachineOptions {
  int threads = 0;      // 0: one per core
  bool pinned = false;  // each thread, the calling one too, stays on its core: for measurements
  Device device = Device::cpu;
};

// As the system calls it; "": it does not.
std::string processor_name();

// Codes of errors: the system does not start as many threads as are asked for; a device that is there cannot be used.
inline constexpr const char *kNoThreads = "no_threads", *kDeviceFailed = "device_failed";

class Machine {
 public:
  static Result<std::unique_ptr<Machine>> make(const MachineOptions& options);

  ThreadPool& pool() { return pool_; }
  kernels::Ops& ops() { return *ops_; }
  [[nodiscard]] const char* kernels_name() const { return kernels_name_.c_str(); }
  [[nodiscard]] int threads() const { return pool_.threads(); }
  // Host, processor, kernels, threads: two that are called alike take alike times.
  [[nodiscard]] std::string identity() const;

 private:
  Machine(int threads, bool pinned) : pool_(threads, pinned) {}

  ThreadPool pool_;
  std::unique_ptr<kernels::Ops> ops_;
  std::string kernels_name_;
};

}  // namespace paceline
