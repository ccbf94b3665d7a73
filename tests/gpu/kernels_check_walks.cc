// Long contexts of one sequence, whose pages few queries walk in equal shares with chunks cut between blocks: rows have
// the bits that they have beside another sequence, where blocks have whole chunks; of bf16 and of codes. More queries
// have whole chunks either way.
#include <algorithm>
#include <numeric>

#include "kernels/cuda/layout.h"
#include "kernels_check.h"

namespace paceline::gpu {
namespace {

using kernels::HeadShape;
using kernels::kPageTokens;
using kernels::random_rows;

// So many KV heads that a device's multiprocessors have a chunk each at some 17,000 positions.
constexpr int32_t kHeads = 64, kKvHeads = 8, kDim = 512, kJoined = 128;
constexpr int32_t kRows = 16;

class LongContext {
 public:
  LongContext(Ops& ops, int32_t most, bool codes, std::mt19937& random)
      : ops_(ops),
        shape_{kHeads, kKvHeads, kDim, codes ? DType::i8 : DType::bf16, kJoined},
        numbers_(static_cast<size_t>(most / kPageTokens + 1)),
        q_(random_rows(kRows + 1, kHeads * kDim, random)),
        k_(random_rows(kRows + 1, kKvHeads * kDim, random)),
        turns_(random_rows(kRows + 1, kDim / 2, random)),
        weight_(ops, random_rows(1, kDim, random)) {
    std::iota(numbers_.rbegin(), numbers_.rend(), 0);
    // Sixteenths up to a half either way; as codes, any, whose scales are about as much.
    const size_t each = codes ? kernels::cuda::kCodedPageBytes : (kDim + kJoined) * kPageTokens * 2;
    const size_t page_bytes = kKvHeads * each;
    const auto fill = [&](size_t pages) {
      std::shared_ptr<void> memory = ops.memory(page_bytes * pages);
      std::vector<uint16_t> bits(page_bytes / 2);
      for (size_t page = 0; page < pages; ++page) {
        for (size_t i = 0; i < bits.size(); ++i) {
          const bool any = codes && i * 2 % each < kernels::cuda::kCodeBytes, low = codes && i % 2 == 0;
          bits[i] = static_cast<uint16_t>(any || low ? random() : (random() & (codes ? 0x7f : 0x80ff)) | 0x3e00);
        }
        // A code and 128.
        if (codes)
          for (size_t i = 0; i < page_bytes; ++i)
            if (auto* bytes = reinterpret_cast<uint8_t*>(bits.data()); i % each < kernels::cuda::kCodeBytes)
              bytes[i] = std::max<uint8_t>(bytes[i], 1);
        ops.upload(static_cast<char*>(memory.get()) + page * page_bytes, bits.data(), page_bytes);
      }
      return memory;
    };
    memory_ = fill(numbers_.size());
    others_ = fill(1);
    pages_ = kernels::pages_in_a_row(memory_.get(), kernels::KvPageBytes{page_bytes, 0}, numbers_.data());
    other_pages_ = kernels::pages_in_a_row(others_.get(), kernels::KvPageBytes{page_bytes, 0}, &other_number_);
  }

  // What rows of a step get that begins at this position, so many at a time; beside another sequence, or alone.
  [[nodiscard]] std::vector<float> run(int32_t pos, int32_t at_once, bool beside) const {
    std::vector<float> all;
    for (int32_t first = 0; first + at_once <= kRows; first += at_once)
      append(all, some(pos, first, at_once, beside ? 1 : 0));
    return all;
  }

 private:
  // The other sequence has the last row of all.
  [[nodiscard]] std::vector<float> some(int32_t pos, int32_t first, int32_t count, int32_t others) const {
    const auto rows = [&](const std::vector<float>& from, int32_t width) {
      std::vector<float> some = rows_of(from, first, count, width);
      append(some, rows_of(from, kRows, others, width));
      return Block(ops_, some);
    };
    const Block q = rows(q_, kHeads * kDim), k = rows(k_, kKvHeads * kDim), turns = rows(turns_, kDim / 2);
    const auto floats = static_cast<size_t>(count) * kHeads * kDim;
    const Block out(ops_, floats + static_cast<size_t>(others) * kHeads * kDim);
    out.poison();
    const kernels::SeqSpan spans[2] = {{0, count, pos + first, pages_}, {count, 1, 5, other_pages_}};
    kernels::HeadsArgs heads;
    heads.shape = shape_;
    heads.q = q.at();
    heads.k = heads.v = k.at();
    heads.q_weight = heads.k_weight = weight_.at();
    heads.cos = heads.sin = turns.at();
    heads.eps = 1e-6f;
    heads.seqs = {spans, static_cast<size_t>(1 + others)};
    ops_.attend(heads, {shape_, q.at(), out.at(), 0, true, heads.seqs, nullptr});
    std::vector<float> all = out.read();
    all.resize(floats);
    return all;
  }

  Ops& ops_;
  HeadShape shape_;
  std::vector<int32_t> numbers_;
  int32_t other_number_ = 0;
  std::vector<float> q_, k_, turns_;
  Block weight_;
  std::shared_ptr<void> memory_, others_;
  kernels::KvPages pages_, other_pages_;
};

}  // namespace

void check_walks(Ops& gpu, Checks& checks) {
  for (const bool codes : {false, true}) {
    std::mt19937 random(21);
    const LongContext context(gpu, 25000, codes, random);
    const std::string name = codes ? "walks of codes" : "walks";
    for (const int32_t pos : {17408, 18000, 20479, 22345, 24570}) {
      const std::vector<float> want = context.run(pos, kRows, true);
      for (const int32_t at_once : {1, 2, 4, 8, 16, 1}) {
        const std::vector<float> got = context.run(pos, at_once, false);
        checks.expect(same_bits(got.data(), want.data(), got.size()),
                      name + ", " + std::to_string(at_once) + " rows at " + std::to_string(pos));
      }
      checks.expect(std::ranges::all_of(want, [](float v) { return std::isfinite(v); }),
                    name + " at " + std::to_string(pos) + " are numbers");
    }
  }
}

}  // namespace paceline::gpu
