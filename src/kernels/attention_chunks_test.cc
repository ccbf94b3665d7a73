// Attention over several chunks of positions: bits that depend on positions alone, and errors that do not grow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/attention_scene_for_tests.h"
#include "kernels/cpu_ops.h"
#include "kernels/cpu_walk.h"

namespace paceline::kernels {
namespace {

constexpr int32_t kChunkPositions = kChunkPages * kPageTokens;

// Rows before, on and behind borders of chunks, and far behind.
std::vector<AttentionCase> chunk_cases() {
  const std::vector<std::pair<int32_t, int32_t>> rows = {
      {kChunkPositions - 2, 5}, {2 * kChunkPositions - 1, 3}, {5000, 9}, {700, 2}};
  std::vector<AttentionCase> all;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int32_t window : {0, 600, kChunkPositions})
      for (const auto& [heads, kv_heads] : {std::pair{8, 1}, {4, 2}})
        all.push_back({{heads, kv_heads, 16, dtype}, window, window != 600, rows});
  // More queries than a block takes.
  all.push_back({{16, 1, 16, DType::bf16}, 0, true, {{2 * kChunkPositions - 7, 19}}});
  return all;
}

bool same_floats(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class AttentionChunksTest : public testing::TestWithParam<const CpuTable*> {};

TEST_P(AttentionChunksTest, ThreadsAndCompanyChangeNoBit) {
  std::mt19937 random(21);
  for (const AttentionCase& c : chunk_cases()) {
    SCOPED_TRACE(c.text());
    const Scene scene(c, random);
    ThreadPool one(1);
    CpuOps ops(*GetParam(), one);
    const std::vector<float> all = scene.run(*GetParam(), one);
    for (const int threads : {2, 3, 8}) {
      ThreadPool pool(threads);
      ASSERT_TRUE(same_floats(scene.run(*GetParam(), pool), all)) << threads << " threads";
    }
    for (const SeqSpan& seq : scene.seqs())
      for (int32_t row = 0; row < seq.count;) {
        const int32_t count = row == 0 ? 1 : std::min(seq.count - row, 4);
        const std::vector<float> alone = scene.run_alone(ops, seq, row, count);
        const float* there = all.data() + (seq.first_row + row) * scene.row_floats();
        ASSERT_TRUE(same_floats(alone, {there, there + alone.size()})) << "position " << seq.first_pos + row;
        row += count;
      }
  }
}

TEST_P(AttentionChunksTest, IsSoftmaxOfWhatTheRowSees) {
  std::mt19937 random(22);
  ThreadPool pool(2);
  for (const AttentionCase& c : chunk_cases()) {
    SCOPED_TRACE(c.text());
    const Scene scene(c, random);
    const std::vector<float> got = scene.run(*GetParam(), pool);
    // As in attention_test.cc; over more keys a share's rounding counts for less.
    const double tolerance = c.shape.kv_dtype == DType::f32 ? 2e-5 : 0x1p-9 * 4;
    for (size_t s = 0; s < c.rows.size(); ++s)
      for (int32_t row = 0; row < c.rows[s].second; ++row)
        for (int32_t head = 0; head < c.shape.heads; ++head) {
          const std::vector<double> want = scene.want(s, row, head);
          const float* out = got.data() + (scene.seqs()[s].first_row + row) * scene.row_floats() +
                             static_cast<int64_t>(head) * c.shape.head_dim;
          for (size_t i = 0; i < want.size(); ++i)
            ASSERT_NEAR(static_cast<double>(out[i]), want[i], tolerance) << "position " << c.rows[s].first + row;
        }
  }
}

// The merge that the rule asks for, of chunks that are walked one by one.
TEST_P(AttentionChunksTest, ChunksAreMergedOneAfterAnother) {
  const CpuTable& table = *GetParam();
  constexpr int32_t kNumbers = 16, kHeads = 2;
  std::mt19937 random(23);
  const AttentionCase c{{kHeads, 1, kNumbers, DType::f32}, 0, true, {{3 * kChunkPositions + 40, 1}}};
  const Scene scene(c, random);
  ThreadPool pool(2);
  const std::vector<float> got = scene.run(table, pool);
  std::vector<float> merged(kHeads * kNumbers, 0.0f), out(merged.size());
  float top[kHeads] = {-INFINITY, -INFINITY}, sum[kHeads] = {}, part_top[kHeads], part_sum[kHeads];
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(64, WalkScratch::bytes(table, c.shape)),
                                                      std::free);
  WalkScratch scratch(table, c.shape, memory.get());
  for (int32_t chunk = 0; chunk < 4; ++chunk) {
    walk_chunk(table, scene.args(nullptr), {&scene.seqs()[0], 0, 1, 0, 0, kHeads}, chunk, scratch,
               {part_top, part_sum, out.data()});
    for (size_t head = 0; head < kHeads; ++head) {
      const float most = std::max(top[head], part_top[head]);
      float keep = top[head], share = part_top[head];
      table.exp_sum(&keep, most, 1);
      table.exp_sum(&share, most, 1);
      table.blend(merged.data() + head * kNumbers, keep, out.data() + head * kNumbers, share, kNumbers);
      sum[head] = sum[head] * keep + part_sum[head] * share;
      top[head] = most;
    }
  }
  for (size_t i = 0; i < merged.size(); ++i) ASSERT_EQ(got[i], merged[i] * (1.0f / sum[i / kNumbers])) << i;
}

// Relative to the values' mean, rounding errors at 131,072 positions are no more than twice those at 1,024.
TEST_P(AttentionChunksTest, ErrorsDoNotGrowWithTheContext) {
  ThreadPool pool(2);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    std::vector<double> errors;
    for (const int32_t length : {kChunkPositions, 128 * kChunkPositions}) {
      std::mt19937 random(24);
      const AttentionCase c{{16, 1, 8, dtype}, 0, true, {{length - 1, 1}}};
      const Scene scene(c, random);
      const std::vector<float> got = scene.run(*GetParam(), pool);
      double wrong = 0, all = 0;
      for (int32_t head = 0; head < c.shape.heads; ++head) {
        const std::vector<double> want = scene.want(0, 0, head);
        for (size_t i = 0; i < want.size(); ++i) {
          const double off = static_cast<double>(got[static_cast<size_t>(head) * want.size() + i]) - want[i];
          wrong += off * off;
          all += want[i] * want[i];
        }
      }
      errors.push_back(std::sqrt(wrong / all));
    }
    // float32 keys have no rounding of their own: what is left are the sums' and merges', far below bf16's.
    EXPECT_LE(errors[1], dtype == DType::f32 ? 1e-6 : 2 * errors[0])
        << dtype_name(dtype) << ": " << errors[0] << " at 1,024";
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, AttentionChunksTest, testing::ValuesIn(cpu_tables()), [](const auto& run) {
  std::string name = run.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace paceline::kernels
