// Long contexts of one sequence, whose pages few queries walk in equal shares with chunks cut between blocks: a row has
// the bits that it has among more rows, whose blocks have whole chunks.
#include <algorithm>
#include <numeric>

#include "kernels_check.h"

namespace paceline::gpu {
namespace {

using kernels::HeadShape;
using kernels::kPageTokens;
using kernels::random_rows;

// So many KV heads that a device's multiprocessors have a chunk each at some 17,000 positions.
constexpr int32_t kHeads = 64, kKvHeads = 8, kDim = 512, kJoined = 128;
// More than few queries.
constexpr int32_t kRows = 5;

class LongContext {
 public:
  LongContext(Ops& ops, int32_t most, std::mt19937& random)
      : ops_(ops),
        numbers_(static_cast<size_t>(most / kPageTokens + 1)),
        q_(random_rows(kRows, kHeads * kDim, random)),
        k_(random_rows(kRows, kKvHeads * kDim, random)),
        turns_(ops, random_rows(kRows, kDim / 2, random)),
        weight_(ops, random_rows(1, kDim, random)) {
    std::iota(numbers_.rbegin(), numbers_.rend(), 0);
    const size_t page_bytes = size_t{kKvHeads} * (kDim + kJoined) * kPageTokens * 2;
    memory_ = ops.memory(page_bytes * numbers_.size());
    std::vector<uint16_t> bits(page_bytes / 2);  // up to a half either way
    for (size_t page = 0; page < numbers_.size(); ++page) {
      for (uint16_t& b : bits) b = static_cast<uint16_t>((random() & 0x80ff) | 0x3e00);
      ops.upload(static_cast<char*>(memory_.get()) + page * page_bytes, bits.data(), page_bytes);
    }
    pages_ = kernels::pages_in_a_row(memory_.get(), page_bytes, numbers_.data());
  }

  // What rows of a step get that begins at this position, so many at a time.
  [[nodiscard]] std::vector<float> run(int32_t pos, int32_t at_once) const {
    std::vector<float> all;
    for (int32_t first = 0; first + at_once <= kRows; first += at_once) append(all, some(pos, first, at_once));
    return all;
  }

 private:
  [[nodiscard]] std::vector<float> some(int32_t pos, int32_t first, int32_t count) const {
    const Block q(ops_, rows_of(q_, first, count, kHeads * kDim)), k(ops_, rows_of(k_, first, count, kKvHeads * kDim));
    const Block out(ops_, static_cast<size_t>(count) * kHeads * kDim);
    out.poison();
    const kernels::SeqSpan span{0, count, pos + first, pages_};
    const HeadShape shape{kHeads, kKvHeads, kDim, DType::bf16, kJoined};
    kernels::HeadsArgs heads;
    heads.shape = shape;
    heads.q = q.at();
    heads.k = heads.v = k.at();
    heads.q_weight = heads.k_weight = weight_.at();
    heads.cos = heads.sin = turns_.at(static_cast<size_t>(first) * (kDim / 2));
    heads.eps = 1e-6f;
    heads.seqs = {&span, 1};
    ops_.attend(heads, {shape, q.at(), out.at(), 0, true, heads.seqs, nullptr});
    return out.read();
  }

  Ops& ops_;
  std::vector<int32_t> numbers_;
  std::vector<float> q_, k_;
  Block turns_, weight_;
  std::shared_ptr<void> memory_;
  kernels::KvPages pages_;
};

}  // namespace

void check_walks(Ops& gpu, Checks& checks) {
  std::mt19937 random(21);
  const LongContext context(gpu, 25000, random);
  for (const int32_t pos : {17408, 18000, 20479, 22345, 24570}) {
    const std::vector<float> want = context.run(pos, kRows);
    for (const int32_t at_once : {1, 2, 4, 1}) {
      const std::vector<float> got = context.run(pos, at_once);
      checks.expect(same_bits(got.data(), want.data(), got.size()),
                    "walks of " + std::to_string(at_once) + " rows at " + std::to_string(pos));
    }
    checks.expect(std::ranges::all_of(want, [](float v) { return std::isfinite(v); }),
                  "walks at " + std::to_string(pos) + " are numbers");
  }
}

}  // namespace paceline::gpu
