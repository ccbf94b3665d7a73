// What drafters of whole blocks need: rows side by side, block convolutions, guesses, and drafts that follow each
// other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/block_ops.h"
#include "kernels/choosing_ops.h"
#include "kernels_check.h"

namespace paceline::gpu {
namespace {

using kernels::random_rows;
using kernels::RandomMatrix;

std::vector<int32_t> ints_of(const std::vector<float>& bits) {
  std::vector<int32_t> ints(bits.size());
  std::memcpy(ints.data(), bits.data(), bits.size() * sizeof(float));
  return ints;
}

void check_join(Backends& b) {
  constexpr int32_t kParts = 3, kRows = 40, kWidth = 100;
  const std::vector<float> from = random_rows(kParts * kRows, kWidth, b.random);
  const std::vector<int32_t> rows = {5, 6, 7, 0, 39};
  std::vector<float> want(rows.size() * kParts * kWidth);
  b.cpu.join({from.data(), rows, want.data(), kParts, kRows, kWidth});
  const Block gfrom(b.gpu, from), to(b.gpu, want.size());
  b.gpu.blocks()->join({gfrom.at(), rows, to.at(), kParts, kRows, kWidth});
  b.checks.expect(to.read() == want, "rows side by side");
}

void check_conv(Backends& b) {
  constexpr int32_t kWidth = 192, kTaps = 2, kGroup = 16, kStride = 2 * kTaps * kWidth / kGroup;
  const std::vector<int32_t> blocks = {8, 1, 5, 16};
  const int32_t rows = std::accumulate(blocks.begin(), blocks.end(), 0);
  const std::vector<float> x = random_rows(rows, kWidth, b.random), base = random_rows(kTaps, kWidth, b.random);
  const std::vector<float> own = random_rows(rows, kStride, b.random);
  std::vector<float> want(x.size());
  b.cpu.block_conv({x.data(), base.data(), own.data(), want.data(), kStride, kWidth, kTaps, kGroup, blocks});
  const Block gx(b.gpu, x), gbase(b.gpu, base), gown(b.gpu, own), y(b.gpu, x.size());
  b.gpu.blocks()->block_conv({gx.at(), gbase.at(), gown.at(), y.at(), kStride, kWidth, kTaps, kGroup, blocks});
  const std::vector<float> all = y.read();
  b.checks.expect(distance(all, want) < 1e-6, "a convolution of blocks");
  // The last block alone.
  const std::vector<int32_t> last = {16};
  const int64_t first = rows - 16;
  b.gpu.blocks()->block_conv(
      {gx.at(first * kWidth), gbase.at(), gown.at(first * kStride), y.at(), kStride, kWidth, kTaps, kGroup, last});
  b.checks.expect(same_bits(y.read().data(), all.data() + first * kWidth, size_t{16} * kWidth), "a block alone");
}

// Guesses: the largest, or what the noise of the index favours; 0 where nothing is a number.
void check_guesses(Backends& b) {
  constexpr int32_t kRows = 6, kVocab = 5000;
  std::vector<float> logits = random_rows(kRows, kVocab, b.random);
  logits[2 * kVocab + 77] = NAN;
  const Block gl(b.gpu, logits), chosen(b.gpu, size_t{kRows});
  std::vector<kernels::ChoiceRow> rows(kRows);
  for (int32_t i = 0; i < kRows; ++i) {
    rows[static_cast<size_t>(i)].logits_row = i;
    rows[static_cast<size_t>(i)].temperature = i < 3 ? 0.0f : 1e-4f;
    rows[static_cast<size_t>(i)].seed = 9;
    rows[static_cast<size_t>(i)].index = static_cast<uint64_t>(i);
  }
  kernels::ChooseArgs args;
  args.logits = gl.at();
  args.vocab = kVocab;
  args.rows = rows;
  args.chosen = reinterpret_cast<TokenId*>(chosen.at());
  b.gpu.choosing()->choose(args);
  const std::vector<int32_t> guesses = ints_of(chosen.read());
  for (int32_t i = 0; i < kRows; ++i) {
    const auto row = logits.begin() + static_cast<int64_t>(i) * kVocab;
    // So cold that only the largest has a chance.
    const auto want = i == 2 ? 0 : static_cast<int32_t>(std::max_element(row, row + kVocab) - row);
    b.checks.expect(guesses[static_cast<size_t>(i)] == want, "a guess of row " + std::to_string(i));
  }
}

void check_follow(Backends& b, WeightFormat format, int32_t vocab, int32_t rank, int32_t top) {
  constexpr int32_t kRows = 15;
  RandomMatrix before(format, vocab, rank, 32, DType::bf16, b.random),
      after(format, vocab, rank, 32, DType::bf16, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix gb = b.gpu.place_table(before.view, owners), ga = b.gpu.place_table(after.view, owners);
  const std::vector<float> logits = random_rows(kRows, vocab, b.random), weighed = random_rows(kRows, rank, b.random);
  const kernels::DraftChain chains[] = {{0, 8, 3}, {8, 1, 5}, {9, 6, 7}};
  const Block gl(b.gpu, logits), gw(b.gpu, weighed), drafts(b.gpu, size_t{kRows});
  b.gpu.choosing()->follow(
      {gl.at(), gw.at(), &gb, &ga, vocab, kRows, top, chains, reinterpret_cast<TokenId*>(drafts.at())});
  const std::vector<int32_t> got = ints_of(drafts.read());
  for (const kernels::DraftChain& chain : chains) {
    TokenId previous = chain.newest;
    for (int32_t row = chain.first_row; row < chain.first_row + chain.count; ++row) {
      const float* mine = logits.data() + static_cast<int64_t>(row) * vocab;
      std::vector<TokenId> order(static_cast<size_t>(vocab));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId c) { return mine[a] > mine[c]; });
      order.resize(static_cast<size_t>(top));
      std::vector<float> p(static_cast<size_t>(rank)), s(static_cast<size_t>(rank));
      b.cpu.embed(before.view, &previous, 1, 1.0f, p.data());
      double best = -INFINITY, mine_score = -INFINITY;
      for (const TokenId id : order) {
        b.cpu.embed(after.view, &id, 1, 1.0f, s.data());
        double score = static_cast<double>(mine[id]);
        for (int32_t r = 0; r < rank; ++r)
          score += static_cast<double>(p[static_cast<size_t>(r)]) *
                   static_cast<double>(weighed[static_cast<size_t>(row * rank + r)]) *
                   static_cast<double>(s[static_cast<size_t>(r)]);
        best = std::max(best, score);
        if (id == got[static_cast<size_t>(row)]) mine_score = score;
      }
      // Sums in another order may turn near ties around.
      b.checks.expect(mine_score >= best - 1e-4, "a draft that follows, row " + std::to_string(row));
      previous = got[static_cast<size_t>(row)];
    }
  }
}

}  // namespace

void check_blocks(Backends& b) {
  check_join(b);
  check_conv(b);
  check_guesses(b);
  check_follow(b, WeightFormat::bf16, 300, 32, 16);
  check_follow(b, WeightFormat::bf16, 40000, 256, 16);
  check_follow(b, WeightFormat::q8, 2000, 64, 64);
}

}  // namespace paceline::gpu
