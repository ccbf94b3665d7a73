// Choosing a token for each row on the device, and which choices of a chain stand. What is meant is sample/choose.h's:
// adjust, keep the largest (top_k, top_p, min_p), and let the survivors race with noise that is a function of seed,
// output index and id. One block per row, after a pass that finds the largest of every 64 logits.
//
// A row's choice depends on its logits and settings alone. Where few candidates do, they are sorted, and their weights
// are added in that order, as on the host. Where they do not, thresholds are found by bisection, with weights in fixed
// point, so that sums are exact and do not depend on who adds. Bound by the passes over a row: 1 MB each.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"
#include "kernels/cuda/race.cuh"
#include "kernels/cuda/rounds.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr float kNever = -INFINITY;
constexpr float kLargest = 3.40282347e38f;
constexpr int32_t kMostSorted = 2048;  // candidates that are sorted
constexpr int32_t kFewWanted = 256, kMoreWanted = 1024;
constexpr double kFixedOne = 17592186044416.0;  // 2^44: a row's weights add up to less than 2^63

__device__ bool bit_of(const uint64_t* words, int32_t id) { return (words[id / 64] >> (id % 64) & 1) != 0; }

// A row of logits as the filters see it.
struct Row {
  const float* logits;
  const int32_t* drafts;  // that stand in front
  const ChoiceRow* how;
  int32_t vocab;

  __device__ float operator()(int32_t id) const { return adjusted(id, logits[id]); }

  // A number, or -infinity.
  __device__ float adjusted(int32_t id, float logit) const {
    const ChoiceRow& h = *how;
    if (h.counts != nullptr) {
      int32_t count = h.counts[id];
      for (int32_t i = 0; i < h.drafts; ++i) count += drafts[i] == id ? 1 : 0;
      if (count > 0) {
        logit = logit > 0 ? __fdiv_rn(logit, h.repetition_penalty) : logit * h.repetition_penalty;
        const int32_t generated = count & (kInPrompt - 1);
        if (generated > 0) logit -= h.frequency_penalty * static_cast<float>(generated) + h.presence_penalty;
        logit = fminf(logit, kLargest);
      }
    }
    if (h.bias != nullptr) logit += h.bias[id];
    if (h.barred != nullptr && bit_of(h.barred, id)) logit = kNever;
    if (h.allowed != nullptr && !bit_of(h.allowed, id)) logit = kNever;
    return logit;
  }
};

__device__ Row row_of(const ChooseRows& args, int32_t row) {
  const ChoiceRow* how = args.rows + row;
  return {args.logits + static_cast<int64_t>(how->logits_row) * args.vocab, args.row_tokens + how->first_draft, how,
          args.vocab};
}

// Keys of the largest of every piece; 0 where nothing is left. One in which something is not a number, or +infinity,
// has a key above all others.
constexpr uint64_t kNoNumbers = ~uint64_t{0};
constexpr int32_t kNoChoice = -1;
constexpr int kTopThreads = 256, kPiecesOfBlock = 64;

__global__ void __launch_bounds__(kTopThreads) tops_kernel(const ChooseRows args) {
  let_next_start();
  wait_for_previous();
  const Row row = row_of(args, static_cast<int32_t>(blockIdx.y));
  const int32_t pieces = choice_pieces(args.vocab);
  const int lane = threadIdx.x % 32;
  for (int i = threadIdx.x / 32; i < kPiecesOfBlock; i += kTopThreads / 32) {
    const int32_t piece = static_cast<int32_t>(blockIdx.x) * kPiecesOfBlock + i;
    if (piece >= pieces) return;
    uint64_t key = 0;
    for (int32_t id = piece * kChoicePiece + lane; id < min(args.vocab, (piece + 1) * kChoicePiece); id += 32) {
      const float raw = row.logits[id], logit = row.adjusted(id, raw);
      if (logit != kNever) key = max(key, key_of(logit, id));
      if (!(raw <= kLargest)) key = kNoNumbers;
    }
    for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_xor_sync(~0u, key, offset));
    if (lane == 0) args.tops[static_cast<int64_t>(blockIdx.y) * pieces + piece] = key;
  }
}

// Exact sums over a block; every thread gets them.
__device__ uint64_t block_total(uint64_t x, uint64_t* scratch) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  uint64_t sum = 0;
  for (int i = 0; i < kThreads / 32; ++i) sum += scratch[i];
  return sum;
}

// The largest value for which `reaches` holds, where it holds for all below one that it holds for; 0 if for none.
template <class Reaches>
__device__ uint32_t largest_that(const Reaches& reaches) {
  uint32_t found = 0;
  for (int bit = 31; bit >= 0; --bit)
    if (reaches(found | 1u << bit)) found |= 1u << bit;
  return found;
}

struct Shared {
  uint64_t keys[kMostSorted];
  double weights[kMostSorted];
  uint64_t totals[kThreads / 32];
  double sums[kThreads / 32];
  Racer racers[kThreads / 32];
  int32_t count, kept;
};

class Choosing {
 public:
  __device__ Choosing(const Row& row, const uint64_t* tops, Shared& shared)
      : row_(row), how_(*row.how), tops_(tops), pieces_(choice_pieces(row.vocab)), s_(shared) {}

  __device__ int32_t run() {
    uint64_t key = 0;
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < pieces_; i += kThreads) key = max(key, tops_[i]);
    key = block_max(key, s_.totals);
    if (key == kNoNumbers) return kNoChoice;
    if (key == 0) return lowest_left();
    if (how_.temperature == 0.0f) return place_of(key);
    largest_ = static_cast<double>(value_of_key(key));
    Racer best;
    if (how_.top_k <= 0 && how_.top_p >= 1.0f) {
      race_above(best, 1, row_.vocab - 1);
    } else if (!sorted(best)) {
      bisected(best);
    }
    return winner(best);
  }

 private:
  // Nothing is left of the row: the lowest id that may stand at all, unless nothing ever was.
  __device__ int32_t lowest_left() {
    uint64_t key = 0, some = 0;
    for (int32_t id = static_cast<int32_t>(threadIdx.x); id < row_.vocab; id += kThreads) {
      if (row_.logits[id] != kNever) some = 1;
      if (how_.allowed != nullptr && !bit_of(how_.allowed, id)) continue;
      const bool barred = how_.barred != nullptr && bit_of(how_.barred, id);
      if (barred && how_.allowed == nullptr) continue;
      key = max(key, key_of(barred ? 1.0f : 2.0f, id));
    }
    if (block_max(some, s_.totals) == 0) return kNoChoice;
    key = block_max(key, s_.totals);
    return key == 0 ? 0 : place_of(key);
  }

  // Probability relative to the likeliest token's.
  __device__ double weight(float logit) const {
    return exp((static_cast<double>(logit) - largest_) / static_cast<double>(how_.temperature));
  }
  __device__ uint64_t fixed(float logit) const { return static_cast<uint64_t>(weight(logit) * kFixedOne); }

  __device__ void enter(Racer& best, int32_t id, double w) const {
    if (w > 0 && w >= static_cast<double>(how_.min_p)) race(best, how_.seed, how_.index, id, w);
  }

  // Those above `order`, and those at it up to id `last`.
  __device__ void race_above(Racer& best, uint32_t order, int32_t last) const {
    for (int32_t id = static_cast<int32_t>(threadIdx.x); id < row_.vocab; id += kThreads) {
      const float logit = row_(id);
      const uint32_t mine = order_of(logit);
      if (logit != kNever && (mine > order || (mine == order && id <= last))) enter(best, id, weight(logit));
    }
  }

  __device__ int32_t winner(Racer best) {
    for (int offset = 16; offset > 0; offset /= 2)
      best.meet(__shfl_xor_sync(~0u, best.time, offset), __shfl_xor_sync(~0u, best.id, offset));
    __syncthreads();
    if (threadIdx.x % 32 == 0) s_.racers[threadIdx.x / 32] = best;
    __syncthreads();
    for (int i = 0; i < kThreads / 32; ++i) best.meet(s_.racers[i].time, s_.racers[i].id);
    return best.id;
  }

  // ---- few candidates: sorted

  __device__ bool sorted(Racer& best) {
    if (how_.top_k > 0) return how_.top_k <= kMoreWanted && sorted(best, how_.top_k, 0);
    const double total = whole_weight();
    return sorted(best, kFewWanted, total) || sorted(best, kMoreWanted, total);
  }

  // The weight of the whole row, in an order fixed by the number of threads.
  __device__ double whole_weight() {
    double sum = 0;
    for (int32_t id = static_cast<int32_t>(threadIdx.x); id < row_.vocab; id += kThreads) sum += weight(row_(id));
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s_.sums[threadIdx.x / 32] = sum;
    __syncthreads();
    double all = 0;
    for (int i = 0; i < kThreads / 32; ++i) all += s_.sums[i];
    return all;
  }

  // At least `wanted` logits reach the wanted-th largest of the pieces' largest.
  __device__ void collect(int32_t wanted) {
    const uint32_t bound = largest_that([&](uint32_t order) {
      uint64_t count = 0;
      for (int32_t i = static_cast<int32_t>(threadIdx.x); i < pieces_; i += kThreads)
        count += static_cast<uint32_t>(tops_[i] >> 32) >= order ? 1 : 0;
      return block_total(count, s_.totals) >= static_cast<uint64_t>(wanted);
    });
    __syncthreads();
    if (threadIdx.x == 0) s_.count = 0;
    __syncthreads();
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < pieces_; i += kThreads) {
      if (tops_[i] == 0 || static_cast<uint32_t>(tops_[i] >> 32) < bound) continue;
      for (int32_t id = i * kChoicePiece; id < min(row_.vocab, (i + 1) * kChoicePiece); ++id) {
        const float logit = row_(id);
        if (logit == kNever || order_of(logit) < bound) continue;
        const int32_t at = atomicAdd(&s_.count, 1);
        if (at < kMostSorted) s_.keys[at] = key_of(logit, id);
      }
    }
    __syncthreads();
  }

  // Of the largest `wanted`, in order, those that weigh top_p together: of all the row (`whole` > 0) or of themselves.
  // False: they are not enough, or too many are equal.
  __device__ bool sorted(Racer& best, int32_t wanted, double whole) {
    collect(wanted);
    const int32_t count = s_.count, kept_most = min(count, wanted);
    if (count > kMostSorted) return false;
    int32_t padded = 2;
    while (padded < count) padded *= 2;
    for (int32_t i = count + static_cast<int32_t>(threadIdx.x); i < padded; i += kThreads) s_.keys[i] = 0;
    sort_keys(s_.keys, padded);
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < kept_most; i += kThreads)
      s_.weights[i] = weight(value_of_key(s_.keys[i]));
    __syncthreads();
    if (threadIdx.x == 0) s_.kept = how_.top_p < 1.0f ? reach(kept_most, whole) : kept_most;
    __syncthreads();
    int32_t kept = s_.kept;
    if (kept == 0) {
      if (whole > 0 && count >= wanted) return false;
      kept = kept_most;
    }
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < kept; i += kThreads)
      enter(best, place_of(s_.keys[i]), s_.weights[i]);
    return true;
  }

  // By one thread, one after the other: how many it takes; 0 if all together do not.
  __device__ int32_t reach(int32_t count, double whole) const {
    double total = whole;
    if (whole == 0)
      for (int32_t i = 0; i < count; ++i) total += s_.weights[i];
    const double goal = total * static_cast<double>(how_.top_p);
    double sum = 0;
    for (int32_t i = 0; i < count; ++i) {
      sum += s_.weights[i];
      if (sum >= goal) return i + 1;
    }
    return 0;
  }

  // ---- many candidates: thresholds

  // Over the row's logits that are left: how many, or what they weigh.
  template <class Value>
  __device__ uint64_t over_row(const Value& value) {
    uint64_t sum = 0;
    for (int32_t id = static_cast<int32_t>(threadIdx.x); id < row_.vocab; id += kThreads) {
      const float logit = row_(id);
      if (logit != kNever) sum += value(id, logit);
    }
    return block_total(sum, s_.totals);
  }
  __device__ uint64_t count_from(uint32_t order) {
    return over_row([&](int32_t, float logit) { return uint64_t{order_of(logit) >= order}; });
  }
  __device__ uint64_t weight_from(uint32_t order) {
    return over_row([&](int32_t, float logit) { return order_of(logit) >= order ? fixed(logit) : 0; });
  }

  __device__ void bisected(Racer& best) {
    // Those above `order`, and so many of those at it as stand first.
    uint32_t order = 1;
    uint64_t at_it = ~uint64_t{0};
    if (how_.top_k > 0) {
      const auto wanted = static_cast<uint64_t>(how_.top_k);
      order = max(1u, largest_that([&](uint32_t from) { return count_from(from) >= wanted; }));
      const uint64_t above = count_from(order + 1);
      if (wanted > above) at_it = wanted - above;
    }
    if (how_.top_p < 1.0f) {
      const uint64_t equal = count_from(order) - count_from(order + 1), weight_above = weight_from(order + 1);
      const uint64_t total = weight_above + min(equal, at_it) * fixed(value_of(order));
      const auto goal = static_cast<uint64_t>(ceil(static_cast<double>(total) * static_cast<double>(how_.top_p)));
      if (weight_above >= goal) {
        order = largest_that([&](uint32_t from) { return weight_from(from) >= goal; });
        at_it = ~uint64_t{0};
      }
      const uint64_t missing = goal - min(goal, weight_from(order + 1)), one = fixed(value_of(order));
      if (one > 0) at_it = min(at_it, max(uint64_t{1}, (missing + one - 1) / one));
    }
    int32_t last = row_.vocab - 1;
    if (at_it < static_cast<uint64_t>(row_.vocab)) {
      // The lowest id up to which there are so many.
      int32_t low = 0;
      while (low < last) {
        const int32_t middle = low + (last - low) / 2;
        const uint64_t count =
            over_row([&](int32_t id, float logit) { return uint64_t{order_of(logit) == order && id <= middle}; });
        if (count >= at_it)
          last = middle;
        else
          low = middle + 1;
      }
    }
    race_above(best, order, last);
  }

  const Row& row_;
  const ChoiceRow& how_;
  const uint64_t* tops_;
  const int32_t pieces_;
  Shared& s_;
  double largest_ = 0;
};

__global__ void __launch_bounds__(kThreads) choose_kernel(const ChooseRows args) {
  __shared__ Shared shared;
  let_next_start();
  wait_for_previous();
  const auto number = static_cast<int32_t>(blockIdx.x);
  const Row row = row_of(args, number);
  const int32_t chosen =
      Choosing(row, args.tops + static_cast<int64_t>(number) * choice_pieces(args.vocab), shared).run();
  // A guess has to be a token.
  if (threadIdx.x == 0) args.chosen[number] = args.chain_count == 0 ? max(chosen, 0) : chosen;
}

// One block per chain.
constexpr int kChainThreads = 256;

__global__ void __launch_bounds__(kChainThreads) accept_kernel(const ChooseRows args) {
  let_next_start();
  wait_for_previous();
  const ChoiceChain chain = args.chains[blockIdx.x];
  const int32_t* chosen = args.chosen + chain.first_choice;
  const int32_t* drafts = args.row_tokens + chain.first_row + 1;
  int32_t accepted = 0;
  while (accepted < chain.drafts && chosen[accepted] == drafts[accepted]) ++accepted;
  const int32_t i = static_cast<int32_t>(threadIdx.x);
  if (i <= chain.drafts) args.chosen[args.row_count + chain.first_choice + i] = i < chain.drafts ? drafts[i] : -1;
  if (chain.counts != nullptr && i <= accepted && chosen[i] >= 0) atomicAdd(chain.counts + chosen[i], 1);
  if (chain.hidden == nullptr) return;
  const float* from = args.hidden + static_cast<int64_t>(chain.first_row + accepted) * args.width;
  for (int32_t col = i; col < args.width; col += kChainThreads) chain.hidden[col] = from[col];
}

}  // namespace

void choose(const ChooseRows& args, Stream stream) {
  const auto rows = static_cast<unsigned>(args.row_count);
  const auto blocks = static_cast<unsigned>(ceil_div(choice_pieces(args.vocab), kPiecesOfBlock));
  launch(tops_kernel, dim3(blocks, rows), dim3(kTopThreads), 0, stream, true, args);
  launch(choose_kernel, dim3(rows), dim3(kThreads), 0, stream, true, args);
  if (args.chain_count == 0) return;
  launch(accept_kernel, dim3(static_cast<unsigned>(args.chain_count)), dim3(kChainThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
