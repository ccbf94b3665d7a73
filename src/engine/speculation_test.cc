// Speculation cannot be seen in the text: every proposer, depth, way of choosing, prompt length and weight format gives
// the plain run's tokens. Compared for equality; PACELINE_TEST_LONG=1 runs the whole matrix instead of a slice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "engine/decode.h"
#include "speculate/scripted_proposers.h"
#include "kernels/cpu_ops.h"
#include "model/load.h"
#include "model/mtp_binding.h"
#include "model/quantize.h"
#include "speculate/adaptive.h"
#include "speculate/mtp_proposer.h"
#include "speculate/ngram.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

enum class Format : uint8_t { f32, bf16, q8, q4 };
enum class Drafter : uint8_t { ngram, random, perfect, half_right, mtp };

constexpr Drafter kDrafters[] = {Drafter::ngram, Drafter::random, Drafter::perfect, Drafter::half_right, Drafter::mtp};
constexpr int32_t kDepths[] = {1, 2, 3, 5, 8, 15};
constexpr int kSettings = 5;
// The window is 16, a page 32 or more and the ring of sliding layers some 300: from nothing to beyond all of them.
constexpr int32_t kPromptTokens[] = {1, 21, 130, 320};

bool long_form() { return std::getenv("PACELINE_TEST_LONG") != nullptr; }

struct ModelCase {
  const char* golden;
  Format format;
};

std::string name_of(const ModelCase& model) {
  constexpr const char* kNames[] = {"f32", "bf16", "q8", "q4"};
  return fmt::format("{}_{}", model.golden, kNames[static_cast<int>(model.format)]);
}

// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const ModelCase& model, std::ostream* out) { *out << name_of(model); }

SampleSettings settings_of(int which, uint64_t seed) {
  SampleSettings settings;
  settings.seed = seed;
  switch (which) {
    case 0: settings.temperature = 0; break;
    case 1:
      settings.top_k = 64;
      settings.top_p = 0.95f;
      break;
    case 2:
      settings.temperature = 0.7f;
      settings.min_p = 0.05f;
      settings.repetition_penalty = 1.2f;
      settings.logit_bias = {{128 + ' ', -1.5f}, {128 + 'e', 2.0f}};
      break;
    case 3:
      settings.temperature = 0.8f;
      settings.presence_penalty = 0.5f;
      settings.frequency_penalty = 0.3f;
      break;
    default: settings.temperature = 1.5f;
  }
  return settings;
}

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
    forward_.emplace(model_.weights, ops_, precision);
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
    made.sampling = settings_of(settings, static_cast<uint64_t>(1000 * prompt_tokens + settings));
    made.max_tokens = max_tokens;
    made.context = 4096;
    return made;
  }

  DecodeOutcome plain(const DecodeRequest& request) { return decode(*forward_, request, {}); }

  DecodeOutcome speculative(const DecodeRequest& request, Proposer& proposer, int32_t depth) {
    FixedDepth fixed(depth);
    return decode(*forward_, request, {}, {&proposer, &fixed});
  }

  std::unique_ptr<Proposer> make_mtp() {
    const auto folder = std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam().golden / "assistant";
    if (!mtp_) mtp_ = load_mtp(folder, pool_).value();
    return std::make_unique<MtpProposer>(
        std::make_unique<MtpDrafter>(mtp_, forward_->shared_weights(), ops_, forward_->precision()));
  }

  std::unique_ptr<Proposer> make(Drafter drafter, const DecodeRequest& request, const std::vector<TokenId>& output) {
    switch (drafter) {
      case Drafter::ngram: return std::make_unique<NgramProposer>();
      case Drafter::random: return std::make_unique<RandomProposer>(request.sampling.seed, vocab());
      case Drafter::perfect: return std::make_unique<KnowingProposer>(request.prompt, output, vocab(), 1.0);
      case Drafter::half_right: return std::make_unique<KnowingProposer>(request.prompt, output, vocab(), 0.5);
      case Drafter::mtp: return make_mtp();
    }
    return nullptr;
  }

  ScratchFolder scratch_;
  ThreadPool pool_;
  kernels::CpuOps ops_;
  LoadedModel model_;
  std::optional<Forward> forward_;
  std::shared_ptr<const MtpWeights> mtp_;
};

void expect_same_text(const DecodeOutcome& speculative, const DecodeOutcome& plain) {
  EXPECT_EQ(speculative.tokens, plain.tokens);
  EXPECT_EQ(speculative.end, plain.end);
  EXPECT_EQ(speculative.stop_token, plain.stop_token);
}

void expect_sensible_counts(Drafter drafter, const SpeculationCounters& counters, size_t tokens) {
  EXPECT_EQ(counters.emitted, static_cast<int64_t>(tokens));
  EXPECT_EQ(counters.emitted, counters.rounds + counters.accepted);
  EXPECT_LE(counters.accepted, counters.drafted);
  if (drafter == Drafter::perfect) {
    EXPECT_EQ(counters.accepted, counters.drafted);
  }
  if (drafter == Drafter::random) {
    EXPECT_LE(counters.accepted, 2 + counters.drafted / 30);
  }
  if (drafter == Drafter::half_right) {
    EXPECT_GT(counters.accepted, 0);
  }
  if (drafter == Drafter::half_right && counters.drafted > 60) {
    EXPECT_LT(counters.accepted, counters.drafted);
  }
}

TEST_P(SpeculationTest, EmitsThePlainRunsTokens) {
  const int32_t max_tokens = long_form() ? 72 : 40;
  // A slice takes every so manieth cell; a prime, so that it meets every value of every dimension.
  const int stride = long_form() ? 1 : 19;
  int cell = 0;
  int64_t compared = 0, cells = 0;
  for (const int32_t prompt_tokens : kPromptTokens) {
    for (int settings = 0; settings < kSettings; ++settings) {
      const DecodeRequest r = request(prompt_tokens, settings, max_tokens);
      const DecodeOutcome expected = plain(r);
      for (const Drafter drafter : kDrafters) {
        for (const int32_t depth : kDepths) {
          if (cell++ % stride != 0) continue;
          SCOPED_TRACE(fmt::format("drafter {} depth {} settings {} prompt {}", static_cast<int>(drafter), depth,
                                   settings, prompt_tokens));
          const auto proposer = make(drafter, r, expected.tokens);
          const DecodeOutcome outcome = speculative(r, *proposer, depth);
          expect_same_text(outcome, expected);
          expect_sensible_counts(drafter, outcome.counters, expected.tokens.size());
          compared += static_cast<int64_t>(outcome.tokens.size());
          ++cells;
          if (HasFailure()) return;
        }
      }
    }
  }
  RecordProperty("tokens_compared", static_cast<int>(compared));
  EXPECT_EQ(compared, cells * max_tokens);
  // Twelve models: more than 200,000 tokens over all.
  if (long_form()) {
    EXPECT_GE(compared, 200'000 / 12 + 1);
  }
}

// Depths that change from round to round with the clock: timing decides how, and still not a token.
TEST_P(SpeculationTest, AdaptiveDepthsEmitThePlainRunsTokens) {
  StepCosts costs;
  AdaptiveDepth policy(costs);
  for (const Drafter drafter : kDrafters) {
    for (const int32_t prompt_tokens : {1, 130}) {
      const DecodeRequest r = request(prompt_tokens, static_cast<int>(drafter), 40);
      const DecodeOutcome expected = plain(r);
      const auto proposer = make(drafter, r, expected.tokens);
      expect_same_text(decode(*forward_, r, {}, {proposer.get(), &policy}), expected);
    }
  }
}

// The goldens' drafters were trained for these targets: most of a greedy text is theirs.
TEST_P(SpeculationTest, TheModelsOwnDrafterIsOftenRight) {
  const DecodeRequest r = request(130, 0, 80);
  const auto proposer = make_mtp();
  const SpeculationCounters counters = speculative(r, *proposer, 3).counters;
  EXPECT_GT(counters.tokens_per_round(), 1.3);
  for (size_t i = 1; i < 3; ++i) EXPECT_LE(counters.accepted_at[i], counters.accepted_at[i - 1]);
}

std::vector<ModelCase> all_models() {
  std::vector<ModelCase> models;
  for (const char* golden : {"dense", "moe", "ple"}) {
    for (const Format format : {Format::f32, Format::bf16, Format::q8, Format::q4}) models.push_back({golden, format});
  }
  return models;
}

INSTANTIATE_TEST_SUITE_P(All, SpeculationTest, testing::ValuesIn(all_models()),
                         [](const auto& model) { return name_of(model.param); });

// The ways a text ends, within drafts that would have gone on.
class SpeculationEndTest : public SpeculationTest {
 protected:
  DecodeRequest base() { return request(21, 1, 40); }

  // With drafts that are right beyond the end, and with half of them right.
  void expect_same_end(const DecodeRequest& r, const std::vector<TokenId>& beyond, DecodeEnd end) {
    const DecodeOutcome expected = plain(r);
    EXPECT_EQ(expected.end, end);
    for (const Drafter drafter : {Drafter::perfect, Drafter::half_right}) {
      for (int32_t depth = 1; depth <= kMaxDraftTokens; ++depth) {
        const auto proposer = make(drafter, r, beyond);
        expect_same_text(speculative(r, *proposer, depth), expected);
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
    KnowingProposer proposer(r.prompt, all, vocab(), 1.0);
    FixedDepth depth(8);
    const DecodeOutcome outcome = decode(*forward_, r, callbacks, {&proposer, &depth});
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
  KnowingProposer proposer(r.prompt, all, vocab(), 0.6);
  FixedDepth depth(3);
  const SpeculationCounters counters = decode(*forward_, r, callbacks, {&proposer, &depth}).counters;
  const auto count = [&](TokenOrigin origin) { return std::count(origins.begin(), origins.end(), origin); };
  EXPECT_EQ(count(TokenOrigin::accepted), counters.accepted);
  EXPECT_EQ(count(TokenOrigin::accepted) + count(TokenOrigin::corrected) + count(TokenOrigin::extra) +
                count(TokenOrigin::plain),
            static_cast<int64_t>(all.size()));
  EXPECT_EQ(origins.front(), TokenOrigin::plain);
  EXPECT_GT(count(TokenOrigin::corrected), 0);
  EXPECT_GT(count(TokenOrigin::extra), 0);
}

INSTANTIATE_TEST_SUITE_P(All, SpeculationEndTest,
                         testing::Values(ModelCase{"dense", Format::bf16}, ModelCase{"moe", Format::q8}),
                         [](const auto& model) { return name_of(model.param); });

}  // namespace
}  // namespace paceline
