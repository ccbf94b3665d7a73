#include "kernels/cuda/cuda_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "kernels/cuda/block_codes.h"
#include "kernels/cuda/blocks.h"
#include "kernels/cuda/pictures.h"
#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/rounds.h"
#include "kernels/cuda_device.h"

namespace paceline::kernels {

Result<CudaDevice> find_cuda_device() {
  CudaDevice found;
  int count = 0;
  (void)cudaDriverGetVersion(&found.driver);
  (void)cudaRuntimeGetVersion(&found.runtime);
  if (found.driver == 0) return Error{"no CUDA driver is installed"};
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    (void)cudaGetLastError();
    return Error{std::string("no CUDA device can be used: ") + cudaGetErrorString(error) + " (driver " +
                 std::to_string(found.driver) + ", built with " + std::to_string(found.runtime) + ")"};
  }
  if (count == 0) return Error{"no CUDA device was found"};
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, 0); error != cudaSuccess)
    return Error{std::string("asking for the CUDA device's properties: ") + cudaGetErrorString(error)};
  found.name = properties.name;
  found.major = properties.major;
  found.minor = properties.minor;
  found.multiprocessors = properties.multiProcessorCount;
  found.memory_bytes = properties.totalGlobalMem;
  if (found.major < 8)
    return Error{found.name + " has compute capability " + std::to_string(found.major) + "." +
                 std::to_string(found.minor) + ", expected 8.0 or higher"};
  if (const cudaError_t error = cudaMemGetInfo(&found.free_bytes, &found.memory_bytes); error != cudaSuccess)
    return Error{std::string("asking for the CUDA device's memory: ") + cudaGetErrorString(error)};
  return found;
}

std::optional<size_t> used_cuda_bytes() {
  size_t free = 0, all = 0;
  if (cudaMemGetInfo(&free, &all) == cudaSuccess) return all - free;
  (void)cudaGetLastError();
  return std::nullopt;
}

Result<std::unique_ptr<Ops>> make_cuda_ops() {
  TRY_ASSIGN(std::unique_ptr<cuda::CudaOps> ops, cuda::CudaOps::make());
  return std::unique_ptr<Ops>(std::move(ops));
}

}  // namespace paceline::kernels

namespace paceline::kernels::cuda {
namespace {

// What is at most so long goes to the device with the rest of the ring.
constexpr size_t kShortUpload = size_t{256} << 10;

std::string text_of(cudaError_t error) { return cudaGetErrorString(error); }

}  // namespace

Result<std::unique_ptr<CudaOps>> CudaOps::make() {
  TRY_ASSIGN(const CudaDevice device, find_cuda_device());
  (void)device;
  std::unique_ptr<CudaOps> ops(new CudaOps);
  if (const cudaError_t error = cudaStreamCreateWithFlags(&ops->cuda_stream_, cudaStreamNonBlocking);
      error != cudaSuccess)
    return Error{"starting on the CUDA device: " + text_of(error)};
  ops->launches_ = std::make_shared<Launches>(ops->cuda_stream_, [own = ops.get()] { own->send_staged(); });
  ops->stream_ = ops->launches_.get();
  void* host = nullptr;
  if (const cudaError_t error = cudaHostAlloc(&host, kRingBytes, cudaHostAllocDefault); error != cudaSuccess)
    return Error{"taking host memory for the CUDA device: " + text_of(error)};
  ops->host_ring_ = {host, [](void* p) { (void)cudaFreeHost(p); }};
  ops->device_ring_ = ops->memory(kRingBytes);
  ops->page_numbers_ = ops->memory(kPageNumbers * sizeof(int32_t));
  ops->handover(ops->partial_, kPartialFloats);
  ops->grown(ops->counted_, kCountedFloats * sizeof(float));
  ops->grown(ops->arrivals_, kMaxArrivals * sizeof(int32_t));
  ops->handover(ops->left_, size_t{kMostNarrowRows} * kMaxNormWidth);
  ops->handover(ops->scores_left_, size_t{kNarrowRows} * kMaxExperts);
  TRY(ops->wait());
  return ops;
}

CudaOps::~CudaOps() {
  if (cuda_stream_ == nullptr) return;
  (void)cudaStreamSynchronize(cuda_stream_);
  launches_.reset();
  for (const auto& [bytes, blocks] : kept_)
    for (void* block : blocks) (void)cudaFree(block);
  for (cudaEvent_t event : marks_)
    if (event != nullptr) (void)cudaEventDestroy(event);
  (void)cudaStreamDestroy(cuda_stream_);
}

void CudaOps::fail(std::string message) {
  if (status_.ok()) status_ = Error{std::move(message)};
}

bool CudaOps::takes(const char* what, int32_t found, int32_t most) {
  if (found > most) {
    fail(std::string("CUDA: ") + what + ": kernels take at most " + std::to_string(most) + ", found " +
         std::to_string(found));
  }
  return status_.ok();
}

Limits CudaOps::limits() const {
  Limits limits;
  limits.experts = kMaxExperts;
  limits.experts_per_token = kMaxExpertsPerToken;
  limits.norm_width = kMaxNormWidth;
  limits.head_step = kHeadStep;
  limits.picture_head = kMaxPictureHead;
  limits.picture_head_step = kPictureHeadStep;
  limits.clusters = kMostCentroids;
  limits.cluster_width = kMostClusterHidden;
  limits.gates_alike = true;
  limits.unread = Limits::format_bit(WeightFormat::nf4);
  limits.scaled_f8 = limits.columns = limits.block_factors = false;
  limits.joined_head = has_warpgroups() ? kJoinedDim : 0;
  limits.joined_rotated = kJoinedTurned;
  limits.codes = has_warpgroups();
  limits.codes_apart = false;
  limits.candidates = kMostCandidates;
  limits.recurrent = limits.undivided_shares = true;
  limits.delta_head = kMaxDeltaDim;
  limits.delta_head_step = kDeltaStep;
  limits.delta_kernel = kMaxDeltaKernel;
  limits.own_memory = true;
  return limits;
}

bool CudaOps::fine(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(std::string("CUDA: ") + what + ": " + text_of(error));
  return status_.ok();
}

// A piece of this size: one that was given back, or the driver's.
void* CudaOps::taken(size_t bytes) {
  if (const auto kept = kept_.find(bytes); kept != kept_.end() && !kept->second.empty()) {
    void* block = kept->second.back();
    kept->second.pop_back();
    return block;
  }
  void* block = nullptr;
  const cudaError_t error = cudaMalloc(&block, bytes);
  if (error == cudaSuccess) return block;
  (void)cudaGetLastError();  // of this call alone: the device goes on
  size_t free_bytes = 0, all_bytes = 0;
  (void)cudaMemGetInfo(&free_bytes, &all_bytes);
  fail("the CUDA device has " + std::to_string(free_bytes >> 20) + " MiB of memory left, needed " +
       std::to_string(bytes >> 20) + " MiB more (" + text_of(error) + ")");
  return nullptr;
}

// Small ones in few sizes, so that they can be used again.
std::shared_ptr<void> CudaOps::memory(size_t bytes) {
  return bytes <= kMostKeptBytes ? owned(std::bit_ceil(std::max<size_t>(256, bytes)), true) : arena(bytes);
}

std::shared_ptr<void> CudaOps::arena(size_t bytes) {
  return owned(std::max<size_t>(256, (bytes + 255) / 256 * 256), false);
}

std::shared_ptr<void> CudaOps::owned(size_t whole, bool comes_again) {
  if (!status_.ok()) return nullptr;
  void* block = taken(whole);
  if (block == nullptr) return nullptr;
  fine(cudaMemsetAsync(block, 0, whole, cuda_stream_), "clearing memory");
  // Memory may outlive the stream, and this. What waits or is written down may use it: that is started, and comes
  // before whatever is done with a piece that is used again; cudaFree waits for it.
  const std::weak_ptr<Launches> launches = launches_;
  return {block, [this, launches, whole, comes_again](void* p) {
            const std::shared_ptr<Launches> list = launches.lock();
            if (list != nullptr) {
              flush();
              list->push();
              if (comes_again) return kept_[whole].push_back(p);
            }
            (void)cudaFree(p);
          }};
}

void* CudaOps::grown(Grown& buffer, size_t bytes) {
  if (buffer.bytes < bytes) {
    start();
    buffer.memory.reset();
    buffer.bytes = 0;
    buffer.memory = memory(bytes);
    if (buffer.memory != nullptr) buffer.bytes = bytes;
  }
  return buffer.memory.get();
}

float* CudaOps::handover(Grown& buffer, size_t floats) {
  const bool grows = buffer.bytes < floats * sizeof(float);
  void* block = grown(buffer, floats * sizeof(float));
  if (grows && block != nullptr)
    fine(cudaMemsetAsync(block, kNothingByte, buffer.bytes, cuda_stream_), "clearing memory");
  return static_cast<float*>(block);
}

void CudaOps::make_room(size_t bytes) {
  if (ring_used_ + ring_pages_ + bytes > kRingBytes) (void)wait();
}

void* CudaOps::staged(size_t bytes) {
  const size_t whole = (bytes + 255) / 256 * 256;
  CHECK(whole <= kRingBytes);
  if (ring_used_ + ring_pages_ + whole > kRingBytes) (void)wait();
  void* at = static_cast<char*>(host_ring_.get()) + ring_used_;
  ring_used_ += whole;
  return at;
}

const void* CudaOps::sent(const void* from, size_t bytes) {
  if (!status_.ok()) return nullptr;
  void* host = staged(bytes);
  std::memcpy(host, from, bytes);
  void* device =
      static_cast<char*>(device_ring_.get()) + (static_cast<char*>(host) - static_cast<char*>(host_ring_.get()));
  return device;
}

const void* CudaOps::sent_once(const void* from, size_t bytes) {
  const auto* const host = static_cast<const char*>(host_ring_.get());
  const auto* const device = static_cast<const char*>(device_ring_.get());
  for (const SentOnce& one : sent_once_)
    if (one.bytes == bytes && std::memcmp(host + one.at, from, bytes) == 0) return device + one.at;
  const void* to = sent(from, bytes);
  if (to != nullptr) sent_once_.push_back({static_cast<size_t>(static_cast<const char*>(to) - device), bytes});
  return to;
}

void CudaOps::send_staged() {
  if (ring_used_ > ring_sent_ && status_.ok())
    fine(cudaMemcpyAsync(static_cast<char*>(device_ring_.get()) + ring_sent_,
                         static_cast<char*>(host_ring_.get()) + ring_sent_, ring_used_ - ring_sent_,
                         cudaMemcpyHostToDevice, cuda_stream_),
         "sending");
  ring_sent_ = ring_used_;
}

void CudaOps::start() {
  flush();
  if (!status_.ok()) return;
  if (const cudaError_t error = launches_->start(); error != cudaSuccess)
    fine(error, ("starting " + launches_->trouble()).c_str());
}

ThreadPool& CudaOps::loading_threads() {
  constexpr int kThreads = 8;
  if (loading_ == nullptr)
    loading_ = std::make_unique<ThreadPool>(std::min(kThreads, static_cast<int>(std::thread::hardware_concurrency())));
  return *loading_;
}

void CudaOps::copy_by_many(void* to, const void* from, size_t bytes) {
  constexpr int64_t kPiece = 256 << 10;
  const auto count = static_cast<int64_t>((bytes + kPiece - 1) / kPiece);
  loading_threads().run(count, 1, [&](int64_t begin, int64_t end) {
    const auto first = static_cast<size_t>(begin * kPiece), last = std::min(static_cast<size_t>(end * kPiece), bytes);
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  });
}

void CudaOps::upload(void* to, const void* from, size_t bytes) {
  flush();
  written(static_cast<const float*>(to), static_cast<int64_t>(bytes / sizeof(float)));
  if (bytes <= kShortUpload) {
    if (status_.ok()) launches_->copy(to, sent(from, bytes), bytes);
    return;
  }
  start();
  for (size_t at = 0; at < bytes && status_.ok();) {
    const size_t some = std::min(bytes - at, kRingBytes / 4);
    void* host = staged(some);
    copy_by_many(host, static_cast<const char*>(from) + at, some);
    fine(cudaMemcpyAsync(static_cast<char*>(to) + at, host, some, cudaMemcpyHostToDevice, cuda_stream_), "sending");
    ring_sent_ = ring_used_;
    at += some;
  }
}

void CudaOps::copy(void* to, const void* from, size_t bytes) {
  flush();
  written(static_cast<const float*>(to), static_cast<int64_t>(bytes / sizeof(float)));
  if (status_.ok() && bytes > 0) copy_bytes(from, to, static_cast<int64_t>(bytes), stream_);
}

void CudaOps::clear(void* to, size_t bytes) {
  flush();
  written(static_cast<const float*>(to), static_cast<int64_t>(bytes / sizeof(float)));
  if (status_.ok()) launches_->clear(to, bytes);
}

const void* CudaOps::fetch(const void* from, size_t bytes, HostCopy& copy) {
  flush();
  if (!status_.ok()) return nullptr;
  if (copy.bytes < bytes) {
    start();
    void* host = nullptr;
    if (!fine(cudaHostAlloc(&host, bytes, cudaHostAllocDefault), "taking host memory")) return nullptr;
    copy.memory = {host, [](void* p) { (void)cudaFreeHost(p); }};
    copy.bytes = bytes;
  }
  launches_->copy(copy.memory.get(), from, bytes);
  return copy.memory.get();
}

Status CudaOps::wait() {
  flush();
  start();
  if (status_.ok()) fine(cudaGetLastError(), "starting a kernel");
  if (status_.ok()) fine(cudaStreamSynchronize(cuda_stream_), "running");
  launches_->begin();
  ring_used_ = ring_sent_ = ring_pages_ = 0;
  sent_once_.clear();
  keys_written_.clear();
  return status_;
}

size_t CudaOps::free_bytes() const {
  size_t left = 0, all = 0;
  return cudaMemGetInfo(&left, &all) == cudaSuccess ? left : 0;
}

double CudaOps::read_gbs() {
  constexpr size_t kBytes = size_t{2} << 30;  // many times the cache
  constexpr int kRounds = 5;
  const std::shared_ptr<void> block = memory(kBytes);
  cudaEvent_t begin = nullptr, end = nullptr;
  if (block == nullptr || !fine(cudaEventCreate(&begin), "timing") || !fine(cudaEventCreate(&end), "timing")) return 0;
  double best = 0;
  for (int i = 0; i < kRounds && status_.ok(); ++i) {
    fine(cudaEventRecord(begin, cuda_stream_), "timing");
    read_all(block.get(), kBytes, stream_);
    start();
    fine(cudaEventRecord(end, cuda_stream_), "timing");
    (void)wait();
    float ms = 0;
    if (status_.ok() && fine(cudaEventElapsedTime(&ms, begin, end), "timing"))
      best = std::max(best, static_cast<double>(kBytes) / static_cast<double>(ms) * 1e-6);
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  return best;
}

Weight CudaOps::weight_of(const Matrix& m, int32_t at_once) {
  Weight w;
  w.values = m.values;
  w.rows = m.rows;
  w.cols = m.cols;
  w.group = m.group;
  w.scales = m.scale_dtype == DType::f32 ? Scales::f32 : Scales::bf16;
  switch (m.format) {
    case WeightFormat::f32: w.format = Format::f32; break;
    case WeightFormat::f16: w.format = Format::f16; break;
    case WeightFormat::q8: w.format = Format::q8; break;
    case WeightFormat::q4: w.format = Format::q4; break;
    case WeightFormat::f8: w.format = Format::f8; break;
    case WeightFormat::nvfp4_split: w.format = Format::f4; break;
    default: w.format = Format::bf16; break;
  }
  if (w.format == Format::f8 || w.format == Format::f4) {
    w.factors = m.factors;
    w.exact = 1;
  } else if (in_blocks(m.format)) {
    const BlockForm form = block_form(m.format);
    w.format = form.format;
    w.scales = form.scales;
    w.exact = 1;
  }
  const int32_t rows = m.rows * at_once;
  switch (w.format) {
    case Format::q8: w.part = quantised_part_blocks(rows, m.cols); break;
    case Format::q4: w.part = q4_part_blocks(rows, m.cols); break;
    case Format::f8:
    case Format::f4: w.part = chunk_part_blocks(rows, m.cols); break;
    default: w.part = part_blocks(rows, m.cols);
  }
  return w;
}

// A block has half as many outputs of a gate, and as many of what it gates. Where that was measured it counts.
Weight CudaOps::gated_weight_of(const Matrix& m) {
  const Weight w = weight_of(m);
  return w.format == Format::q4 || w.format == Format::f8 || w.format == Format::f4 ? weight_of(m, 2) : w;
}

Weight CudaOps::weight_of(const MatrixStack& s, int32_t at_once) {
  Weight w = weight_of(s.first, at_once);
  w.stride = static_cast<int64_t>(s.stride_bytes);
  return w;
}

namespace {

// Of a matrix's shape and some of its bytes: what else comes to lie at the same place has another one.
uint64_t print_of(const MatrixStack& w) {
  const Matrix& m = w.first;
  uint64_t print = 0;
  const auto mix = [&](uint64_t word) { print = (print ^ word) * 0x9e3779b97f4a7c15u ^ print >> 29; };
  const auto look = [&](const void* row, size_t bytes) {
    for (size_t at = 0; row != nullptr && at < std::min<size_t>(bytes, 512); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, static_cast<const char*>(row) + at, std::min(sizeof word, bytes - at));
      mix(word);
    }
  };
  for (const int64_t field : {int64_t{m.rows}, int64_t{m.cols}, int64_t{m.group}, int64_t{w.count}, w.stride_rows,
                              static_cast<int64_t>(m.format), static_cast<int64_t>(m.scale_dtype)})
    mix(static_cast<uint64_t>(field));
  for (int32_t e = 0; e < w.count; ++e)
    for (const int32_t row : {0, m.rows / 3, m.rows / 2, m.rows - 1}) {
      const Matrix one = w.at(e).row_slice(row, 1);
      look(one.values, m.row_value_bytes());
      look(one.scales, m.row_scale_bytes());
      look(one.biases, m.row_scale_bytes());
      look(one.factors, sizeof(double));
    }
  return print;
}

}  // namespace

// Rows in blocks are taken apart here, by many threads, and packed there.
void CudaOps::pack_blocks(const Matrix& m, const Weight& w, char* staging, void* to) {
  const auto rows = static_cast<size_t>(m.rows);
  const size_t codes = code_bytes(w), scales = raw_scale_bytes(w);
  std::vector<uint8_t> apart(rows * (codes + 2 * scales));
  auto* scales_at = reinterpret_cast<std::byte*>(apart.data() + rows * codes);
  loading_threads().run(m.rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto at = static_cast<size_t>(row);
      take_apart(m, row, w, {apart.data() + at * codes, scales_at + at * scales, scales_at + (rows + at) * scales});
    }
  });
  upload(staging, apart.data(), apart.size());
  pack_values(staging, to, w, stream_);
  const char* raw_scales = staging + rows * codes;
  if (pairs(w.scales))
    pack_scales(raw_scales, raw_scales + rows * scales, to, w, stream_);
  else
    pack_records(raw_scales, to, w, stream_);
}

void CudaOps::pack_floats(const Matrix& m, const Weight& w, char* staging, void* to) {
  const size_t bytes = static_cast<size_t>(m.rows) * m.row_value_bytes();
  upload(staging, m.values, bytes);
  if (w.format == Format::f8) return pack_f8(staging, to, w, stream_);
  upload(staging + bytes, m.scales, static_cast<size_t>(m.rows) * m.row_scale_bytes());
  pack_f4(staging, staging + bytes, to, w, stream_);
}

namespace {

// What kernels have nothing for; loading asks before (model/weight_formats.h).
std::string unread(const Matrix& m) {
  const std::string name = weight_format_name(m.format);
  if (m.format == WeightFormat::nf4) return name;
  if (m.format == WeightFormat::f8 && m.group != 0) return name + " with scales along a row";
  if (m.columns != nullptr) return name + " with columns in another order";
  const bool has = m.format == WeightFormat::f8 || m.format == WeightFormat::nvfp4_split;
  return m.factors != nullptr && !has ? name + " with factors" : "";
}

// Of all matrices of f8 or f4, one behind the other.
std::vector<double> factors_of(const MatrixStack& w, Format format) {
  if (format != Format::f8 && format != Format::f4) return {};
  const auto rows = static_cast<size_t>(w.first.rows);
  std::vector<double> factors(rows * static_cast<size_t>(w.count),
                              format == Format::f4 ? std::ldexp(1.0, kF4Smaller) : 1.0);
  for (int32_t e = 0; e < w.count; ++e) {
    const double* from = w.at(e).factors;
    for (size_t row = 0; from != nullptr && row < rows; ++row)
      factors[static_cast<size_t>(e) * rows + row] *= from[row];
  }
  return factors;
}

}  // namespace

MatrixStack CudaOps::packed(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners) {
  if (!w.first.present() || !status_.ok()) return w;
  if (const std::string what = unread(w.first); !what.empty()) {
    fail("CUDA: weights in " + what + " are not read");
    return w;
  }
  const uint64_t print = print_of(w);
  if (const auto found = packed_.find(w.first.values); found != packed_.end()) {
    const Packed& was = found->second;
    if (const auto alive = was.memory.lock(); alive != nullptr && was.print == print) {
      owners.push_back(alive);
      return was.view;
    }
  }
  const Weight shape = weight_of(w.first);
  const size_t bytes = bytes_of(shape);
  // Values, then factors.
  const std::vector<double> factors = factors_of(w, shape.format);
  const size_t values_bytes = (bytes * static_cast<size_t>(w.count) + 255) / 256 * 256;
  const std::shared_ptr<void> block = arena(values_bytes + factors.size() * sizeof(double));
  if (block == nullptr) return w;
  char* const factors_at = static_cast<char*>(block.get()) + values_bytes;
  if (!factors.empty()) upload(factors_at, factors.data(), factors.size() * sizeof(double));
  // Raw rows pass through a staging block, so many whole pairs of tiles at a time.
  const Matrix& m = w.first;
  const bool apart = shape.format == Format::q8 || shape.format == Format::q4;
  const size_t raw_row = in_blocks(m.format) && apart ? code_bytes(shape) + 2 * raw_scale_bytes(shape)
                                                      : m.row_value_bytes() + 2 * m.row_scale_bytes();
  const int32_t step =
      static_cast<int32_t>(std::max<size_t>(1, (size_t{128} << 20) / raw_row / kPairOutputs)) * kPairOutputs;
  Grown raw;
  auto* staging =
      static_cast<char*>(grown(raw, raw_row * static_cast<size_t>(std::min(step, round_up(m.rows, kPairOutputs)))));
  for (int32_t e = 0; e < w.count && status_.ok(); ++e) {
    const Matrix one = w.at(e);
    for (int32_t row = 0; row < m.rows && status_.ok(); row += step) {
      const int32_t some = std::min(step, m.rows - row);
      const Matrix slice = one.row_slice(row, some);
      char* to = static_cast<char*>(block.get()) + bytes * static_cast<size_t>(e) + bytes_of(shape, row);
      const size_t slice_bytes = static_cast<size_t>(some) * m.row_value_bytes();
      const size_t slice_scales = static_cast<size_t>(some) * m.row_scale_bytes();
      if (shape.format == Format::f32 || shape.format == Format::f16) {
        upload(to, slice.values, slice_bytes);
        continue;
      }
      Weight part = shape;
      part.rows = some;
      if (part.format == Format::f8 || part.format == Format::f4) {
        pack_floats(slice, part, staging, to);
        continue;
      }
      if (in_blocks(m.format)) {
        pack_blocks(slice, part, staging, to);
        continue;
      }
      upload(staging, slice.values, slice_bytes);
      pack_values(staging, to, part, stream_);
      if (!m.quantised()) continue;
      char* raw_scales = staging + (slice_bytes + 255) / 256 * 256;
      if (static_cast<size_t>(raw_scales - staging) + 2 * slice_scales > raw.bytes) raw_scales = staging + slice_bytes;
      upload(raw_scales, slice.scales, slice_scales);
      upload(raw_scales + slice_scales, slice.biases, slice_scales);
      pack_scales(raw_scales, raw_scales + slice_scales, to, part, stream_);
    }
  }
  (void)wait();
  if (!status_.ok()) return w;
  MatrixStack placed = w;
  placed.first.packed = true;
  placed.first.values = block.get();
  placed.first.scales = placed.first.biases = nullptr;
  placed.first.factors = factors.empty() ? nullptr : reinterpret_cast<const double*>(factors_at);
  placed.each = nullptr;
  placed.stride_rows = w.first.rows;
  placed.stride_bytes = bytes;
  packed_[w.first.values] = {block, placed, print};
  owners.push_back(block);
  return placed;
}

Matrix CudaOps::place(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) {
  return packed({w, w.present() ? 1 : 0, 0}, owners).first;
}

MatrixStack CudaOps::place(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners) {
  return packed(w, owners);
}

Matrix CudaOps::place_table(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) {
  return place(w, owners);
}

const float* CudaOps::place(std::span<const float> vector, std::vector<std::shared_ptr<const void>>& owners) {
  if (vector.empty()) return nullptr;
  const std::shared_ptr<void> block = arena(vector.size_bytes());
  if (block == nullptr) return nullptr;
  upload(block.get(), vector.data(), vector.size_bytes());
  owners.push_back(block);
  return static_cast<const float*>(block.get());
}

const TokenId* CudaOps::place(std::span<const TokenId> tokens, std::vector<std::shared_ptr<const void>>& owners) {
  static_assert(sizeof(TokenId) == sizeof(float));
  return reinterpret_cast<const TokenId*>(
      place(std::span(reinterpret_cast<const float*>(tokens.data()), tokens.size()), owners));
}

}  // namespace paceline::kernels::cuda
