#include "kernels/cuda/launches.h"

#include <algorithm>

namespace paceline::kernels::cuda {
namespace {

constexpr size_t kAlignment = 16;
// Lists that are remembered: widths and depths of a round, with contexts in steps.
constexpr size_t kMostSeen = 64;
// Below so many kernels a graph is not worth making.
constexpr int32_t kFewestKernels = 8;
// Above 48 KiB, what a kernel has of its own included, it has to be allowed its shared memory.
constexpr size_t kShared = 32 * 1024;

}  // namespace

Launches::~Launches() {
  for (const Seen& seen : seen_)
    if (seen.graph != nullptr) (void)cudaGraphExecDestroy(seen.graph);
}

// As much as there is: a kernel that is only written down may need more than the next one of its kind.
void Launches::allow_shared(const void* function) {
  if (!allowed_.insert(function).second) return;
  int device = 0, most = 0;
  cudaFuncAttributes attributes{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaFuncGetAttributes(&attributes, function) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return;
  (void)cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             most - static_cast<int>(attributes.sharedSizeBytes));
}

std::byte* Launches::add_bytes(size_t bytes) {
  const size_t at = list_.size();
  list_.resize(at + (bytes + kAlignment - 1) / kAlignment * kAlignment);
  return list_.data() + at;
}

void Launches::add_head(const Head& head) { std::memcpy(add_bytes(sizeof head), &head, sizeof head); }

void Launches::begin_kernel(const void* function, const Shape& shape, size_t arguments) {
  if (shape.shared_bytes > kShared) allow_shared(function);
  Head head;
  head.function = function;
  head.bytes = shape.shared_bytes;
  head.grid[0] = shape.grid.x, head.grid[1] = shape.grid.y, head.grid[2] = shape.grid.z;
  head.block[0] = shape.block.x, head.block[1] = shape.block.y, head.block[2] = shape.block.z;
  head.early = shape.early ? 1 : 0;
  head.arguments = static_cast<uint32_t>(arguments);
  add_head(head);
  ++kernels_;
}

void Launches::copy(void* to, const void* from, size_t bytes) {
  Head head;
  head.kind = Kind::copy;
  head.function = from;
  head.to = to;
  head.bytes = bytes;
  add_head(head);
}

void Launches::clear(void* to, size_t bytes) {
  Head head;
  head.kind = Kind::clear;
  head.to = to;
  head.bytes = bytes;
  add_head(head);
}

void Launches::mark(cudaEvent_t event) {
  Head head;
  head.kind = Kind::mark;
  head.function = event;
  add_head(head);
}

// For people who look for what went wrong.
std::string Launches::text_of(const Head& head) {
  const std::string bytes = std::to_string(head.bytes) + " bytes";
  if (head.kind == Kind::copy) return "a copy of " + bytes;
  if (head.kind == Kind::clear) return "clearing " + bytes;
  if (head.kind == Kind::mark) return "a mark";
  const char* name = "a kernel";
#if CUDART_VERSION >= 12030
  if (cudaFuncGetName(&name, head.function) != cudaSuccess) name = "a kernel";
#endif
  std::string text = name;
  for (const uint32_t* size : {head.grid, head.block})
    text += " " + std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
  return text + ", " + bytes + " shared";
}

cudaError_t Launches::start_pieces(bool captured) {
  void* arguments[32];
  cudaError_t first = cudaSuccess;
  Head head;
  const auto take = [&](cudaError_t error) {
    if (first != cudaSuccess || error == cudaSuccess) return;
    first = error;
    trouble_ = text_of(head);
  };
  const std::byte* at = list_.data();
  const auto next = [&](size_t bytes) {
    const std::byte* here = at;
    at += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return here;
  };
  while (at < list_.data() + list_.size()) {
    std::memcpy(&head, next(sizeof head), sizeof head);
    if (head.kind == Kind::copy) {
      take(cudaMemcpyAsync(head.to, head.function, head.bytes, cudaMemcpyDefault, stream_));
      continue;
    }
    if (head.kind == Kind::mark) {
      auto* event = static_cast<cudaEvent_t>(const_cast<void*>(head.function));
      take(cudaEventRecordWithFlags(event, stream_, captured ? cudaEventRecordExternal : cudaEventRecordDefault));
      continue;
    }
    if (head.kind == Kind::clear) {
      take(cudaMemsetAsync(head.to, 0, head.bytes, stream_));
      continue;
    }
    for (uint32_t i = 0; i < head.arguments; ++i) {
      uint64_t size = 0;
      std::memcpy(&size, next(sizeof size), sizeof size);
      arguments[i] = const_cast<std::byte*>(next(size));
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(head.grid[0], head.grid[1], head.grid[2]);
    config.blockDim = dim3(head.block[0], head.block[1], head.block[2]);
    config.dynamicSmemBytes = head.bytes;
    config.stream = stream_;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = head.early;
    take(cudaLaunchKernelExC(&config, head.function, arguments));
  }
  return first;
}

cudaError_t Launches::capture(Seen& seen) {
  if (const cudaError_t error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal); error != cudaSuccess)
    return error;
  const cudaError_t started = start_pieces(true);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  cudaError_t made = started != cudaSuccess ? started : ended;
  if (made == cudaSuccess) made = cudaGraphInstantiate(&seen.graph, graph, 0);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  return made;
}

Launches::Seen* Launches::find() {
  for (Seen& seen : seen_)
    if (seen.list.size() == list_.size() && std::memcmp(seen.list.data(), list_.data(), list_.size()) == 0)
      return &seen;
  return nullptr;
}

// In place of the one that was not used for longest.
Launches::Seen& Launches::remember() {
  Seen* place = nullptr;
  if (seen_.size() < kMostSeen) {
    place = &seen_.emplace_back();
  } else {
    place = &*std::min_element(seen_.begin(), seen_.end(),
                               [](const Seen& a, const Seen& b) { return a.last_used < b.last_used; });
    if (place->graph != nullptr) (void)cudaGraphExecDestroy(place->graph);
    place->graph = nullptr;
  }
  place->list = list_;
  return *place;
}

cudaError_t Launches::start() {
  if (list_.empty()) return cudaSuccess;
  before_start_();
  cudaError_t error = cudaSuccess;
  Seen* seen = graphs_wanted_ && kernels_ >= kFewestKernels ? find() : nullptr;
  if (seen != nullptr && seen->graph == nullptr) {
    error = capture(*seen);
    // What cannot be a graph is started piece by piece, from now on.
    if (error != cudaSuccess) graphs_wanted_ = false;
  }
  if (seen != nullptr && seen->graph != nullptr) {
    error = cudaGraphLaunch(seen->graph, stream_);
    if (error != cudaSuccess) trouble_ = "a graph of " + std::to_string(kernels_) + " kernels";
    ++graphs_started_;
  } else {
    if (error != cudaSuccess) (void)cudaGetLastError();
    error = start_pieces(false);
    if (seen == nullptr && graphs_wanted_ && kernels_ >= kFewestKernels) seen = &remember();
  }
  if (seen != nullptr) seen->last_used = ++uses_;
  list_.clear();
  kernels_ = 0;
  return error;
}

}  // namespace paceline::kernels::cuda
