// A tiny frame for checks on a device: no test library is needed where they run.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/cpu_ops.h"
#include "kernels/cpu_table.h"
#include "kernels/cuda_device.h"
#include "kernels/random_matrix.h"

namespace paceline::gpu {

using kernels::Ops;

class Checks {
 public:
  void expect(bool holds, const std::string& what) {
    ++count_;
    if (holds) return;
    ++failed_;
    if (failed_ <= 60) std::printf("FAILED: %s\n", what.c_str());
  }
  int finish(const char* name) const {
    std::printf("%s: %d checks, %d failed\n", name, count_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  int count_ = 0, failed_ = 0;
};

// Memory of a backend with a vector's contents.
class Block {
 public:
  Block(Ops& ops, size_t floats) : ops_(ops), floats_(floats), memory_(ops.memory(floats * sizeof(float))) {}
  Block(Ops& ops, std::span<const float> from) : Block(ops, from.size()) {
    ops.upload(memory_.get(), from.data(), from.size_bytes());
  }
  [[nodiscard]] float* at(size_t offset = 0) const { return static_cast<float*>(memory_.get()) + offset; }
  [[nodiscard]] std::vector<float> read() const {
    kernels::HostCopy copy;
    const auto* host = static_cast<const float*>(ops_.fetch(memory_.get(), floats_ * sizeof(float), copy));
    if (const Status status = ops_.wait(); !status.ok()) {
      std::printf("DEVICE FAULT: %s\n", status.error().message.c_str());
      std::exit(2);
    }
    return {host, host + floats_};
  }
  // Not a number everywhere, so that what is not written shows.
  void poison() const {
    const std::vector<float> nans(floats_, NAN);
    ops_.upload(memory_.get(), nans.data(), floats_ * sizeof(float));
  }

 private:
  Ops& ops_;
  size_t floats_;
  std::shared_ptr<void> memory_;
};

// What checks of kernels have at hand.
struct Backends {
  Ops& gpu;
  kernels::CpuOps& cpu;
  Checks& checks;
  std::mt19937 random;
};

inline void append(std::vector<float>& to, const std::vector<float>& from) {
  to.insert(to.end(), from.begin(), from.end());
}
inline std::vector<float> rows_of(const std::vector<float>& all, int32_t first, int32_t count, int32_t width) {
  return {all.begin() + static_cast<int64_t>(first) * width, all.begin() + static_cast<int64_t>(first + count) * width};
}

// |a - b| / |b|, infinite where something is not a number.
inline double distance(std::span<const float> a, std::span<const float> b) {
  double off = 0, all = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    if (!(std::abs(d) < 1e30)) return INFINITY;
    off += d * d;
    all += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return all == 0 ? std::sqrt(off) : std::sqrt(off / all);
}

inline bool same_bits(const float* a, const float* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

}  // namespace paceline::gpu
