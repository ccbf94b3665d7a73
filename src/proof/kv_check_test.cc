// What formats of keys and values cost, and what they may: on the model that ships with the program and on goldens,
// beside bf16, and beside formats that others keep as many bits in. PACELINE_TEST_LONG=1 reads 20,000 positions, or the
// file that PACELINE_TEST_TEXT names.
#include "proof/kv_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/regular_file.h"
#include "kernels/cpu_ops.h"
#include "kernels/portable/rounded.h"
#include "model/gemma4/gemma4_forward.h"
#include "proof/decode.h"
#include "proof/draft_hits.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/long_form_for_tests.h"
#include "proof/rounding_ops.h"
#include "proof/wide_weights.h"
#include "session/found_drafter.h"
#include "session/text_model.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

TEST(SmallFloats, AreTheNearest) {
  using kernels::portable::to_e4m3;
  EXPECT_EQ(to_e4m3(1.0f), 1.0f);
  EXPECT_EQ(to_e4m3(1.06f), 1.0f);
  EXPECT_EQ(to_e4m3(-1.07f), -1.125f);
  EXPECT_EQ(to_e4m3(1000.0f), 448.0f);
  EXPECT_EQ(to_e4m3(0x1p-9f), 0x1p-9f);
  EXPECT_EQ(to_e4m3(0x1p-11f), 0.0f);
}

// The ways that all positions are read in, by number; and those that only show what global layers cost, with the others
// in float32, so that nothing else is seen.
enum Way : size_t { kBf16, kJoined, kQ8, kE4m3 };
enum GlobalWay : size_t { kQ8Global, kE4m3Global, kQ4Global, kQ40Global };

// Owns the backends that round.
class Ways {
 public:
  Ways(const kernels::CpuTable& table, ThreadPool& pool)
      : e4m3_(table, pool, e4m3_rounding()),
        e4m3_global_(table, pool, e4m3_rounding(), RoundingOps::Layers::global),
        q4_0_(table, pool, q4_0_rounding(), RoundingOps::Layers::global),
        q4_(table, pool, q4_rounding(), RoundingOps::Layers::global) {}

  [[nodiscard]] std::vector<KvWay> whole() {
    return {{"bf16", apart(DType::bf16)},
            {"bf16 joined", DType::bf16},
            {"q8", DType::i8},
            {"e4m3", apart(DType::f32), &e4m3_}};
  }
  [[nodiscard]] std::vector<KvWay> global() {
    return {{"q8, sliding f32", {DType::i8, DType::f32}},
            {"e4m3, sliding f32", apart(DType::f32), &e4m3_global_},
            {"q4, sliding f32", DType::f32, &q4_},
            {"q4_0, sliding f32", apart(DType::f32), &q4_0_}};
  }

  static KvFormats apart(DType dtype) {
    KvFormats formats = dtype;
    formats.joined = false;
    return formats;
  }

 private:
  RoundingOps e4m3_, e4m3_global_, q4_0_, q4_;
};

void print_ways(const KvBucket& found, std::span<const KvWay> ways) {
  fmt::print("{} positions, perplexity in float32 {:.4f}\n{:<20} {:>11} {:>9} {:>9} {:>12} {:>9}\n", found.positions,
             found.truth_perplexity(), "", "mean KL", "÷ first", "kept %", "perplexity", "more %");
  for (size_t way = 0; way < ways.size(); ++way)
    fmt::print("{:<20} {:>11.3e} {:>9.2f} {:>9.3f} {:>12.5f} {:>+9.4f}\n", ways[way].name, found.kl(way),
               found.ways[way].kl / found.ways[0].kl, 100 * found.kept(way), found.perplexity(way),
               100 * (found.perplexity(way) / found.truth_perplexity() - 1));
}

// What a format may cost beside others. Nothing below bf16's own is worth caring. Where experts are chosen, any
// rounding turns some choices, and of few positions it is chance how many.
void expect_gates(const KvBucket& found, bool experts) {
  EXPECT_GT(found.kl(kBf16), 0);
  EXPECT_LE(found.kl(kJoined), 1.2 * found.kl(kBf16));
  EXPECT_LE(found.kl(kQ8), std::max((experts ? 0.5 : 0.12) * found.kl(kE4m3), found.kl(kBf16)));
}

// What the model itself writes, sampled from nothing: text such as it was made for.
std::vector<TokenId> written_text(Forward& forward, std::span<const TokenId> begin, size_t tokens) {
  std::vector<TokenId> text;
  for (uint64_t seed = 1; text.size() < tokens; ++seed) {
    DecodeRequest request;
    request.prompt.assign(begin.begin(), begin.end());
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    request.max_tokens = static_cast<int32_t>(std::min<size_t>(tokens - text.size(), 1500));
    request.context = forward.config().context;
    const DecodeOutcome outcome = decode(forward, request, {});
    text.insert(text.end(), request.prompt.begin(), request.prompt.end());
    text.insert(text.end(), outcome.tokens.begin(), outcome.tokens.end());
  }
  return text;
}

class ShippedModel : public testing::Test {
 protected:
  ShippedModel()
      : pool_(2),
        table_(**kernels::find_cpu_table("")),
        ops_(table_, pool_),
        model_(load_text_model(fs::path(PACELINE_SOURCE_DIR) / "models" / "default", pool_).value()) {}

  std::vector<TokenId> text() {
    const char* file = std::getenv("PACELINE_TEST_TEXT");  // NOLINT(concurrency-mt-unsafe)
    if (long_form() && file != nullptr) return model_.tokenizer.encode(read_file(file, 1 << 24).value(), false);
    const auto writer = model_.loaded.weights->make_forward(ops_, Precision::bf16);
    const std::vector<TokenId> begin{*model_.tokenizer.bos()};
    return written_text(*writer, begin, long_form() ? 20'500 : 250);
  }

  ThreadPool pool_;
  const kernels::CpuTable& table_;
  kernels::CpuOps ops_;
  TextModel model_;
};

TEST_F(ShippedModel, FormatsCostNoMoreThanTheyMay) {
  Ways ways(table_, pool_);
  KvCheckSettings settings;
  settings.precision = Precision::f32;
  settings.ways = ways.whole();
  const std::vector<TokenId> text = this->text();
  const auto wide = in_float32(*as_gemma4(model_.loaded.weights), table_);
  const KvBucket found = check_kv(*wide, ops_, text, settings)->all();
  print_ways(found, settings.ways);
  if (long_form()) {
    EXPECT_GE(found.positions, 20'000);
  }
  expect_gates(found, false);
  EXPECT_NEAR(found.perplexity(kJoined) / found.perplexity(kBf16), 1, 0.0002);
  // Sliding layers, too: twice what global ones may cost (below). Of some hundred choices a few are near enough to
  // turn.
  EXPECT_GE(found.kept(kQ8), long_form() ? 0.99 : 0.98);
  EXPECT_LE(found.perplexity(kQ8), (long_form() ? 1.002 : 1.01) * found.perplexity(kBf16));
}

// Four bits are no format of pages: what they would cost is printed, beside what others' four bits do.
TEST_F(ShippedModel, GlobalLayersCostNoMoreThanTheyMay) {
  Ways ways(table_, pool_);
  KvCheckSettings settings;
  settings.precision = Precision::f32;
  settings.ways = ways.global();
  const std::vector<TokenId> text = this->text();
  const auto wide = in_float32(*as_gemma4(model_.loaded.weights), table_);
  const KvBucket found =
      check_kv(*wide, ops_, std::span(text).first(text.size() / (long_form() ? 5 : 1)), settings)->all();
  print_ways(found, settings.ways);
  EXPECT_LE(found.kl(kQ8Global), 0.12 * found.kl(kE4m3Global));
  EXPECT_GE(found.kept(kQ8Global), long_form() ? 0.995 : 0.98);
  EXPECT_LE(found.perplexity(kQ8Global), (long_form() ? 1.001 : 1.01) * found.truth_perplexity());
}

// The model as it is stored, drafts by its own drafter at every place.
TEST_F(ShippedModel, DraftsHoldAsOftenInEveryFormat) {
  const std::vector<TokenId> text = this->text();
  constexpr int32_t kDepth = 4;
  std::vector<double> accepted;
  for (const KvFormats& formats :
       {Ways::apart(DType::bf16), KvFormats(DType::bf16), KvFormats(DType::i8, DType::bf16), KvFormats(DType::i8)}) {
    Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops_, Precision::bf16, formats);
    const auto found =
        FoundDrafter::load(fs::path(PACELINE_SOURCE_DIR) / "models/default/assistant", forward, pool_, ops_);
    const DraftHits hits = count_draft_hits(forward, *found->drafter(), text, kDepth).value();
    fmt::print("{:<20} {:<12} {} places, {:.4f} of {} drafts hold at each\n", kv_formats_name(formats),
               formats.joined ? "joined" : "apart", hits.places, hits.per_place(), kDepth);
    accepted.push_back(hits.per_place());
  }
  EXPECT_GT(accepted[0], 0.5);
  // Of a few hundred places some turn either way.
  const double less = long_form() ? 0.01 : 0.06;
  EXPECT_NEAR(accepted[1] / accepted[0], 1, less);
  EXPECT_GE(accepted[2], (1 - less) * accepted[0]);
  EXPECT_GE(accepted[3], (1 - less) * accepted[0]);
}

class GoldenKv : public testing::TestWithParam<const char*> {};

TEST_P(GoldenKv, FormatsCostNoMoreThanTheyMay) {
  ThreadPool pool(2);
  const kernels::CpuTable& table = **kernels::find_cpu_table("");
  kernels::CpuOps ops(table, pool);
  const LoadedModel model =
      load_model(fs::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam() / "target", pool).value();
  Ways ways(table, pool);
  KvCheckSettings settings;
  settings.precision = Precision::f32;
  settings.ways = ways.whole();
  const auto writer = model.weights->make_forward(ops, Precision::f32);
  const std::vector<TokenId> text = written_text(*writer, text_of(60), long_form() ? 20'500 : 300);
  const KvBucket found = check_kv(*model.weights->placed_for(ops), ops, text, settings)->all();
  print_ways(found, settings.ways);
  expect_gates(found, std::string(GetParam()) == "moe" && !long_form());
}

INSTANTIATE_TEST_SUITE_P(Goldens, GoldenKv, testing::Values("dense", "moe", "ple"),
                         [](const auto& run) { return std::string(run.param); });

}  // namespace
}  // namespace paceline
