// What is to run on the device, written down in order before it is started. A list that has been there before, with the
// same kernels and the same arguments to the last byte, is started as one CUDA graph: starting kernels one by one costs
// the host more than small kernels take. Long lists are started in sections, so that the device need not wait for their
// end. Copies are never part of a graph: one remembers the memory that it copies from and to, and that may have been
// given back and taken again since.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace paceline::kernels::cuda {

class Launches {
 public:
  // before_start: what a list needs to be there when it runs.
  Launches(cudaStream_t stream, std::function<void()> before_start)
      : stream_(stream), before_start_(std::move(before_start)) {
    begin();
  }
  ~Launches();
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  struct Shape {
    dim3 grid, block;
    size_t shared_bytes = 0;
    bool early = false;  // may start before the kernel in front of it has ended
  };
  // The arguments as the kernel's parameters have them.
  template <class... Params>
  void kernel(void (*function)(Params...), const Shape& shape, Params... args) {
    begin_kernel(reinterpret_cast<const void*>(function), shape, sizeof...(Params));
    (add_argument(args), ...);
    if (kernels_ >= section_) push();
  }
  // Between any two memories, behind all that is written down, which is started; what the host owns must be pinned, and
  // stay as it is until that has run.
  void copy(void* to, const void* from, size_t bytes);
  void clear(void* to, size_t bytes);
  // The time when all in front of it has run.
  void mark(cudaEvent_t event);

  // The next kernel starts when all in front of it have ended, whatever its shape says.
  void fence() { is_fenced_ = true; }

  // Starts all that is written down; the list is empty then.
  void push();
  // The same, and the first error since the last call.
  cudaError_t start();
  // What comes now comes after a wait: the device has nothing to do.
  void begin();
  // From begin() to the first start behind it, added up since the last call.
  double idle_ms() { return std::exchange(idle_ms_, 0.0); }
  // What the last error of start() was about.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Without graphs a list is started piece by piece, as is one that is seen for the first time.
  void set_graphs(bool wanted) {
    graphs_wanted_ = wanted;
    begin();
  }
  [[nodiscard]] int64_t graphs_started() const { return graphs_started_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  // In front of every kernel's arguments; without padding, so that equal lists are equal bytes.
  struct Head {
    const void* function = nullptr;
    uint64_t shared_bytes = 0;
    uint32_t grid[3] = {}, block[3] = {};
    uint32_t early = 0, arguments = 0;
  };
  // Lists are known by 128 bits of what they hold.
  using Key = std::array<uint64_t, 2>;
  struct Seen {
    int32_t times = 0;
    cudaGraphExec_t graph = nullptr;
    uint64_t last_used = 0;
  };

  void allow_shared(const void* function);
  void begin_kernel(const void* function, const Shape& shape, size_t arguments);
  void add_head(const Head& head);
  std::byte* add_bytes(size_t bytes);
  // Arguments have no padding, which would be whatever lay there: their headers see to it.
  template <class T>
  void add_argument(const T& value) {
    const uint64_t size = sizeof(T);
    std::memcpy(add_bytes(sizeof size), &size, sizeof size);
    std::memcpy(add_bytes(sizeof value), &value, sizeof value);
  }

  static std::string text_of(const Head& head);
  void took(cudaError_t error, const char* what);
  cudaError_t start_pieces();
  cudaError_t capture(Seen& seen);
  cudaError_t start_section();
  [[nodiscard]] Key key() const;
  Seen& remember();
  void make_room_for_graph();
  void give_up_graphs();

  cudaStream_t stream_;
  std::function<void()> before_start_;
  std::vector<std::byte> list_;
  int32_t kernels_ = 0;
  bool is_fenced_ = false;
  std::set<const void*> allowed_;
  int32_t section_ = 0;  // kernels
  std::map<Key, Seen> seen_;
  int32_t graphs_ = 0;
  uint64_t uses_ = 0;
  bool graphs_wanted_ = true;
  int64_t graphs_started_ = 0;
  bool is_idle_ = false;
  std::chrono::steady_clock::time_point idle_since_;
  double idle_ms_ = 0;
  cudaError_t first_error_ = cudaSuccess;
  std::string trouble_;
};

using Stream = Launches*;

}  // namespace paceline::kernels::cuda
