// Speculation cannot be seen in the text: every drafter, depth, way of choosing, prompt length and weight format gives
// the plain run's tokens. Compared for equality; PACELINE_TEST_LONG=1 runs the whole matrix instead of a slice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "kernels/cpu_ops.h"
#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/synthetic.h"
#include "model/load.h"
#include "model/quantize.h"
#include "proof/decode.h"
#include "proof/identity.h"
#include "proof/long_form_for_tests.h"
#include "speculate/dflash/dflash_drafter.h"
#include "speculate/mtp/mtp_drafter.h"
#include "speculate/scripted_drafters.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

enum class Format : uint8_t { f32, bf16, q8, q4 };

struct ModelCase {
  const char* golden;
  Format format;
};

std::string name_of(const ModelCase& model) {
  constexpr const char* kNames[] = {"f32", "bf16", "q8", "q4"};
  std::string name = fmt::format("{}_{}", model.golden, kNames[static_cast<int>(model.format)]);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const ModelCase& model, std::ostream* out) { *out << name_of(model); }

std::vector<TokenId> prompt_of(int32_t tokens) {
  constexpr std::string_view kText =
      "class Reader:\n    def __init__(self, path):\n        self.path = path\n        self.lines = []\n\n"
      "    def read(self):\n        with open(self.path) as f:\n            for line in f:\n"
      "                self.lines.append(line.strip())\n        return self.lines\n\n";
  std::vector<TokenId> prompt{2};
  for (size_t i = 0; prompt.size() < static_cast<size_t>(tokens); ++i) {
    prompt.push_back(128 + static_cast<unsigned char>(kText[i % kText.size()]));
  }
  return prompt;
}

class SpeculationTest : public testing::TestWithParam<ModelCase> {
 protected:
  SpeculationTest() : pool_(1), ops_(**kernels::find_cpu_table(""), pool_), model_(*load_model(folder(), pool_)) {
    const Precision precision = GetParam().format == Format::f32 ? Precision::f32 : Precision::bf16;
    forward_ = model_.weights->make_forward(ops_, precision);
  }

  std::filesystem::path folder() {
    const auto target = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam().golden / "target";
    if (GetParam().format == Format::f32 || GetParam().format == Format::bf16) return target;
    QuantSpec spec;
    spec.bits = GetParam().format == Format::q8 ? 8 : 4;
    spec.group = 32;
    const auto made = scratch_.path() / "quantised";
    const auto summary = quantize_checkpoint(target, made, spec, pool_);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return made;
  }

  [[nodiscard]] int32_t vocab() const { return model_.config.vocab; }

  [[nodiscard]] static DecodeRequest request(int32_t prompt_tokens, int settings, int32_t max_tokens) {
    DecodeRequest made;
    made.prompt = prompt_of(prompt_tokens);
    made.sampling = choice_settings(settings, static_cast<uint64_t>(1000 * prompt_tokens + settings), made.prompt);
    made.max_tokens = max_tokens;
    made.context = 4096;
    return made;
  }

  DecodeOutcome plain(const DecodeRequest& request) { return decode(*forward_, request, {}); }

  DecodeOutcome speculative(const DecodeRequest& request, Drafter& drafter, int32_t depth) {
    FixedDepth fixed(depth);
    return decode(*forward_, request, {}, {&drafter, &fixed});
  }

  static std::filesystem::path assistant() {
    return std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam().golden / "assistant";
  }

  // None where the golden has none.
  std::unique_ptr<Drafter> make_mtp() {
    if (!std::filesystem::exists(assistant())) return nullptr;
    if (!mtp_) mtp_ = load_mtp(assistant(), pool_).value();
    return std::make_unique<MtpDrafter>(
        std::make_unique<MtpForward>(mtp_, as_gemma4(forward_->weights()), ops_, forward_->precision()));
  }

  // None where the model has no such drafter.
  std::unique_ptr<Drafter> make_dflash() {
    auto place = assistant().parent_path() / "dflash";
    if (!std::filesystem::exists(place)) place = assistant().parent_path() / "dflash2";
    if (!std::filesystem::exists(place)) return nullptr;
    return std::make_unique<DflashDrafter>(
        std::make_unique<DflashForward>(load_dflash(place, *forward_->weights(), pool_).value(), *forward_));
  }

  ScratchFolder scratch_;
  ThreadPool pool_;
  kernels::CpuOps ops_;
  LoadedModel model_;
  std::unique_ptr<Forward> forward_;
  std::shared_ptr<const MtpWeights> mtp_;
};

void expect_same_text(const DecodeOutcome& speculative, const DecodeOutcome& plain) {
  EXPECT_EQ(speculative.tokens, plain.tokens);
  EXPECT_EQ(speculative.end, plain.end);
  EXPECT_EQ(speculative.stop_token, plain.stop_token);
}

void expect_sensible_counts(const IdentityCount& count) {
  const SpeculationCounters& counters = count.counters;
  EXPECT_EQ(counters.emitted, count.tokens);
  EXPECT_EQ(counters.emitted, counters.rounds + counters.accepted);
  switch (count.kind) {
    case DrafterKind::perfect: EXPECT_EQ(counters.accepted, counters.drafted); break;
    case DrafterKind::random: EXPECT_LE(counters.accepted, 2 + counters.drafted / 30); break;
    case DrafterKind::half_right:
      EXPECT_GT(counters.accepted, 0);
      EXPECT_LT(counters.accepted, counters.drafted);
      break;
    default: EXPECT_LE(counters.accepted, counters.drafted);
  }
}

// Every kind of drafter, depths 1 to 15 and the policy's (0), which depend on the clock.
TEST_P(SpeculationTest, EmitsThePlainRunsTokens) {
  IdentityPlan plan;
  plan.text = prompt_of(200);
  // The window is 16, a page 64 and the ring of sliding layers some 300: from nothing to beyond all of them.
  plan.prompt_tokens = {1, 21, 130, 320};
  plan.seeds = {7, 8, 9};
  for (int32_t depth = 0; depth <= 15; ++depth) plan.depths.push_back(depth);
  plan.max_tokens = 40;
  // Prime to how many kinds and depths there are, and no neighbour of their product: every kind has its share.
  plan.stride = long_form() ? 7 : 149;
  const auto mtp = make_mtp(), dflash = make_dflash();
  const IdentityResult result = check_identity(*forward_, {mtp.get(), dflash.get()}, plan);
  int64_t compared = 0;
  for (const IdentityCount& count : result.kinds) {
    SCOPED_TRACE(drafter_kind_name(count.kind));
    EXPECT_EQ(count.runs_equal, count.runs);
    expect_sensible_counts(count);
    compared += count.tokens;
  }
  ASSERT_EQ(result.kinds.size(), std::size(kDrafterKinds) - (mtp == nullptr ? 1 : 0) - (dflash == nullptr ? 1 : 0));
  RecordProperty("tokens_compared", static_cast<int>(compared));
  // In the long form more than 200,000 over the twelve models.
  EXPECT_GE(compared, long_form() ? 200'000 / 12 + 1 : 700);
}

// Of models that have one.
class OwnDrafterTest : public SpeculationTest {};

// One that has the form of the model's own and weights by chance: it costs what that one costs, and nothing else.
TEST_P(OwnDrafterTest, ADrafterWithRandomWeightsChangesNothing) {
  const auto own = load_mtp(assistant(), pool_).value();
  const auto random = make_synthetic_mtp(own->config, {WeightFormat::bf16, 32}, pool_);
  MtpDrafter drafter(std::make_unique<MtpForward>(random, as_gemma4(forward_->weights()), ops_, forward_->precision()));
  for (const int settings : {0, 1}) {
    const DecodeRequest r = request(130, settings, 60);
    const DecodeOutcome outcome = speculative(r, drafter, 4);
    expect_same_text(outcome, plain(r));
    EXPECT_LT(outcome.counters.accepted, outcome.counters.drafted / 8);
  }
}

// The goldens' drafters were trained for these targets: most of a greedy text is theirs.
TEST_P(OwnDrafterTest, TheModelsOwnDrafterIsOftenRight) {
  const DecodeRequest r = request(130, 0, 80);
  const auto drafter = make_mtp();
  const SpeculationCounters counters = speculative(r, *drafter, 3).counters;
  EXPECT_GT(counters.tokens_per_round(), 1.3);
  for (size_t i = 1; i < 3; ++i) EXPECT_LE(counters.accepted_at[i], counters.accepted_at[i - 1]);
}

TEST_P(SpeculationTest, TheModelsBlockDrafterIsOftenRight) {
  const DecodeRequest r = request(130, 0, 80);
  const DecodeOutcome expected = plain(r);
  const auto drafter = make_dflash();
  if (drafter == nullptr) GTEST_SKIP() << "this model has none";
  const DecodeOutcome outcome = speculative(r, *drafter, 7);
  // Its layers beside the model's change nothing.
  expect_same_text(outcome, expected);
  expect_same_text(plain(r), expected);
  EXPECT_GT(outcome.counters.tokens_per_round(), 1.3);
  for (size_t i = 1; i < 7; ++i) EXPECT_LE(outcome.counters.accepted_at[i], outcome.counters.accepted_at[i - 1]);
}

std::vector<ModelCase> models_of(std::initializer_list<const char*> goldens) {
  std::vector<ModelCase> models;
  for (const char* golden : goldens) {
    for (const Format format : {Format::f32, Format::bf16, Format::q8, Format::q4}) models.push_back({golden, format});
  }
  return models;
}

INSTANTIATE_TEST_SUITE_P(Gemma4, SpeculationTest, testing::ValuesIn(models_of({"dense", "moe", "ple"})),
                         [](const auto& model) { return name_of(model.param); });
INSTANTIATE_TEST_SUITE_P(Qwen, SpeculationTest, testing::ValuesIn(models_of({"qwen3", "qwen35", "qwen35-moe"})),
                         [](const auto& model) { return name_of(model.param); });
INSTANTIATE_TEST_SUITE_P(Gemma4, OwnDrafterTest, testing::ValuesIn(models_of({"dense", "moe", "ple"})),
                         [](const auto& model) { return name_of(model.param); });

// The ways a text ends, within drafts that would have gone on.
class SpeculationEndTest : public SpeculationTest {
 protected:
  DecodeRequest base() { return request(21, 1, 40); }

  // With drafts that are right beyond the end, and with half of them right.
  void expect_same_end(const DecodeRequest& r, const std::vector<TokenId>& beyond, DecodeEnd end) {
    const DecodeOutcome expected = plain(r);
    EXPECT_EQ(expected.end, end);
    for (const double right : {1.0, 0.5}) {
      for (int32_t depth = 1; depth <= kMaxDraftTokens; ++depth) {
        KnowingDrafter drafter(r.prompt, beyond, vocab(), right);
        expect_same_text(speculative(r, drafter, depth), expected);
      }
    }
  }
};

TEST_P(SpeculationEndTest, AStopIdEndsTheTextWithinADraft) {
  DecodeRequest r = base();
  const auto all = plain(r).tokens;
  for (const size_t at : {0, 1, 9, 22}) {
    r.stop_ids = {all[at]};
    expect_same_end(r, all, DecodeEnd::stop_id);
  }
}

TEST_P(SpeculationEndTest, MaxTokensEndTheTextWithinADraft) {
  DecodeRequest r = base();
  const auto all = plain(r).tokens;
  for (int32_t most = 1; most <= 20; ++most) {
    r.max_tokens = most;
    expect_same_end(r, all, DecodeEnd::max_tokens);
  }
}

TEST_P(SpeculationEndTest, TheContextEndsTheTextWithinADraft) {
  DecodeRequest r = base();
  const auto all = plain(r).tokens;
  for (int32_t room = 1; room <= 20; ++room) {
    r.context = static_cast<int32_t>(r.prompt.size()) + room;
    expect_same_end(r, all, DecodeEnd::context);
  }
}

TEST_P(SpeculationEndTest, ACallbackEndsTheTextWithinADraft) {
  const DecodeRequest r = base();
  const auto all = plain(r).tokens;
  for (const size_t most : {1, 2, 7, 16, 30}) {
    std::vector<TokenId> seen;
    DecodeCallbacks callbacks;
    callbacks.on_token = [&](TokenId token) {
      seen.push_back(token);
      return seen.size() < most;
    };
    KnowingDrafter drafter(r.prompt, all, vocab(), 1.0);
    FixedDepth depth(8);
    const DecodeOutcome outcome = decode(*forward_, r, callbacks, {&drafter, &depth});
    EXPECT_EQ(outcome.end, DecodeEnd::callback);
    EXPECT_EQ(outcome.tokens, seen);
    EXPECT_EQ(seen, std::vector<TokenId>(all.begin(), all.begin() + static_cast<int64_t>(most)));
  }
}

TEST_P(SpeculationEndTest, OriginsTellWhatHappened) {
  const DecodeRequest r = base();
  const auto all = plain(r).tokens;
  std::vector<TokenOrigin> origins;
  DecodeCallbacks callbacks;
  callbacks.on_origin = [&](TokenOrigin origin) { origins.push_back(origin); };
  KnowingDrafter drafter(r.prompt, all, vocab(), 0.6);
  FixedDepth depth(3);
  const SpeculationCounters counters = decode(*forward_, r, callbacks, {&drafter, &depth}).counters;
  const auto count = [&](TokenOrigin origin) { return std::count(origins.begin(), origins.end(), origin); };
  EXPECT_EQ(count(TokenOrigin::accepted), counters.accepted);
  EXPECT_EQ(count(TokenOrigin::accepted) + count(TokenOrigin::corrected) + count(TokenOrigin::extra) +
                count(TokenOrigin::plain),
            static_cast<int64_t>(all.size()));
  EXPECT_EQ(origins.front(), TokenOrigin::plain);
  EXPECT_GT(count(TokenOrigin::corrected), 0);
  EXPECT_GT(count(TokenOrigin::extra), 0);
}

// Behind more tokens than the smallest window its global layer tries how far back it should look.
TEST_P(SpeculationEndTest, ADrafterThatSeesLessChangesNothing) {
  if (!std::filesystem::exists(assistant())) GTEST_SKIP() << "this model has none";
  MtpDrafter drafter(std::make_unique<MtpForward>(load_mtp(assistant(), pool_).value(), as_gemma4(forward_->weights()),
                                                  ops_, forward_->precision()));
  const DecodeRequest r = request(1200, 1, 60);
  const DecodeOutcome outcome = speculative(r, drafter, 2);
  expect_same_text(outcome, plain(r));
  EXPECT_GT(outcome.counters.accepted, 0);
  for (const int32_t window : {0, 1024}) EXPECT_GT(drafter.window().rate(1230, window), 0) << window;
  EXPECT_EQ(drafter.window().rate(1230, 4096), 0);
}

INSTANTIATE_TEST_SUITE_P(All, SpeculationEndTest,
                         testing::Values(ModelCase{"dense", Format::bf16}, ModelCase{"moe", Format::q8},
                                         ModelCase{"qwen35", Format::bf16}, ModelCase{"qwen35-moe", Format::q8}),
                         [](const auto& model) { return name_of(model.param); });

}  // namespace
}  // namespace paceline
