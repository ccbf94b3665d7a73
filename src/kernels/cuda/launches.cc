#include "kernels/cuda/launches.h"

#include <algorithm>

namespace paceline::kernels::cuda {
namespace {

constexpr size_t kAlignment = 16;
// Lists that are remembered, and how many of them as graphs: widths and depths of a round, with contexts in steps.
constexpr size_t kMostSeen = 4096;
constexpr int32_t kMostGraphs = 256;
// A list is made a graph when it comes for this time.
constexpr int32_t kTimes = 3;
// Below so many kernels a graph is not worth making.
constexpr int32_t kFewestKernels = 8;
// Kernels of a section: few at first, for the device to begin, then more and more, since between graphs kernels do not
// overlap. The next section is written down while the one before runs, so it may be so many times as long.
constexpr int32_t kFirstSection = 8, kLonger = 4, kSection = 256, kEndless = 1 << 30;

}  // namespace

Launches::~Launches() {
  for (const auto& [key, seen] : seen_)
    if (seen.graph != nullptr) (void)cudaGraphExecDestroy(seen.graph);
}

// As much as there is: a kernel that is only written down may need more than the next one of its kind. And all want
// their multiprocessor divided the same way: blocks of kernels that differ in that do not run beside each other.
void Launches::allow_shared(const void* function) {
  if (!allowed_.insert(function).second) return;
  int device = 0, most = 0;
  cudaFuncAttributes attributes{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaFuncGetAttributes(&attributes, function) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return;
  (void)cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             most - static_cast<int>(attributes.sharedSizeBytes));
  (void)cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
}

std::byte* Launches::add_bytes(size_t bytes) {
  const size_t at = list_.size();
  list_.resize(at + (bytes + kAlignment - 1) / kAlignment * kAlignment);
  return list_.data() + at;
}

void Launches::add_head(const Head& head) { std::memcpy(add_bytes(sizeof head), &head, sizeof head); }

void Launches::begin_kernel(const void* function, const Shape& shape, size_t arguments) {
  allow_shared(function);
  Head head;
  head.function = function;
  head.shared_bytes = shape.shared_bytes;
  head.grid[0] = shape.grid.x, head.grid[1] = shape.grid.y, head.grid[2] = shape.grid.z;
  head.block[0] = shape.block.x, head.block[1] = shape.block.y, head.block[2] = shape.block.z;
  head.early = shape.early && !is_fenced_ ? 1 : 0;
  is_fenced_ = false;
  head.arguments = static_cast<uint32_t>(arguments);
  add_head(head);
  ++kernels_;
}

void Launches::took(cudaError_t error, const char* what) {
  if (error == cudaSuccess || first_error_ != cudaSuccess) return;
  first_error_ = error;
  trouble_ = what;
}

void Launches::copy(void* to, const void* from, size_t bytes) {
  push();
  before_start_();
  took(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "a copy");
}

void Launches::clear(void* to, size_t bytes) {
  push();
  took(cudaMemsetAsync(to, 0, bytes, stream_), "clearing memory");
}

void Launches::mark(cudaEvent_t event) {
  push();
  took(cudaEventRecord(event, stream_), "a mark");
}

// For people who look for what went wrong.
std::string Launches::text_of(const Head& head) {
  const char* name = "a kernel";
#if CUDART_VERSION >= 12030
  if (cudaFuncGetName(&name, head.function) != cudaSuccess) name = "a kernel";
#endif
  std::string text = name;
  for (const uint32_t* size : {head.grid, head.block})
    text += " " + std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
  return text + ", " + std::to_string(head.shared_bytes) + " bytes shared";
}

// Up to the first that cannot be started: one behind it might wait for what that one leaves.
cudaError_t Launches::start_pieces() {
  void* arguments[32];
  const std::byte* at = list_.data();
  const auto next = [&](size_t bytes) {
    const std::byte* here = at;
    at += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return here;
  };
  while (at < list_.data() + list_.size()) {
    Head head;
    std::memcpy(&head, next(sizeof head), sizeof head);
    for (uint32_t i = 0; i < head.arguments; ++i) {
      uint64_t size = 0;
      std::memcpy(&size, next(sizeof size), sizeof size);
      arguments[i] = const_cast<std::byte*>(next(size));
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(head.grid[0], head.grid[1], head.grid[2]);
    config.blockDim = dim3(head.block[0], head.block[1], head.block[2]);
    config.dynamicSmemBytes = head.shared_bytes;
    config.stream = stream_;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = head.early;
    const cudaError_t error = cudaLaunchKernelExC(&config, head.function, arguments);
    if (error == cudaSuccess) continue;
    trouble_ = text_of(head);
    return error;
  }
  return cudaSuccess;
}

cudaError_t Launches::capture(Seen& seen) {
  if (const cudaError_t error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal); error != cudaSuccess)
    return error;
  const cudaError_t started = start_pieces();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  cudaError_t made = started != cudaSuccess ? started : ended;
  if (made == cudaSuccess) made = cudaGraphInstantiate(&seen.graph, graph, 0);
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  return made;
}

Launches::Key Launches::key() const {
  // Four sums side by side, each of every fourth word: one after the other they would take longer than the copy.
  constexpr uint64_t kFactors[4] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0xd6e8feb86659fd93u};
  uint64_t lanes[4] = {list_.size(), 1, 2, 3};
  for (size_t at = 0; at < list_.size(); at += sizeof lanes) {
    uint64_t words[4] = {};
    std::memcpy(words, list_.data() + at, std::min(sizeof words, list_.size() - at));
    for (int i = 0; i < 4; ++i) {
      lanes[i] = (lanes[i] ^ words[i]) * kFactors[i];
      lanes[i] ^= lanes[i] >> 29;
    }
  }
  return {lanes[0] * kFactors[1] ^ lanes[1], lanes[2] * kFactors[3] ^ lanes[3] ^ lanes[0] * kFactors[2]};
}

Launches::Seen& Launches::remember() {
  if (seen_.size() >= kMostSeen) std::erase_if(seen_, [](const auto& one) { return one.second.graph == nullptr; });
  return seen_[key()];
}

// In place of the one that was not used for longest.
void Launches::make_room_for_graph() {
  if (graphs_ < kMostGraphs) return;
  Seen* oldest = nullptr;
  for (auto& [key, seen] : seen_)
    if (seen.graph != nullptr && (oldest == nullptr || seen.last_used < oldest->last_used)) oldest = &seen;
  (void)cudaGraphExecDestroy(oldest->graph);
  *oldest = {};
  --graphs_;
}

cudaError_t Launches::start_section() {
  before_start_();
  if (std::exchange(is_idle_, false))
    idle_ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - idle_since_).count();
  Seen* seen = graphs_wanted_ && kernels_ >= kFewestKernels ? &remember() : nullptr;
  if (seen != nullptr && ++seen->times >= kTimes && seen->graph == nullptr) {
    make_room_for_graph();
    if (capture(*seen) == cudaSuccess) {
      ++graphs_;
    } else {
      seen->graph = nullptr;
      give_up_graphs();
    }
  }
  cudaError_t error = cudaErrorUnknown;
  if (seen != nullptr && seen->graph != nullptr) {
    error = cudaGraphLaunch(seen->graph, stream_);
    seen->last_used = ++uses_;
    error == cudaSuccess ? void(++graphs_started_) : give_up_graphs();
  }
  if (error != cudaSuccess) error = start_pieces();
  list_.clear();
  kernels_ = 0;
  return error;
}

// What cannot be a graph is started piece by piece, from now on.
void Launches::give_up_graphs() {
  (void)cudaGetLastError();
  graphs_wanted_ = false;
}

void Launches::push() {
  if (list_.empty()) return;
  if (first_error_ == cudaSuccess) {
    first_error_ = start_section();
  } else {
    list_.clear();
    kernels_ = 0;
  }
  section_ = graphs_wanted_ ? std::min(section_ * kLonger, kSection) : kEndless;
}

void Launches::begin() {
  section_ = graphs_wanted_ ? kFirstSection : kEndless;
  is_idle_ = true;
  idle_since_ = std::chrono::steady_clock::now();
}

cudaError_t Launches::start() {
  push();
  return std::exchange(first_error_, cudaSuccess);
}

}  // namespace paceline::kernels::cuda
