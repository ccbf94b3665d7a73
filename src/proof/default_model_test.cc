// The model that ships with the program, against what transformers computed with it in float32.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/regular_file.h"
#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "proof/decode.h"
#include "proof/golden_file.h"
#include "proof/identity.h"
#include "proof/load_identity.h"
#include "proof/speculation_check.h"
#include "proof/wide_weights.h"
#include "session/found_drafter.h"
#include "session/media_places.h"
#include "session/text_model.h"
#include "session/vision.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

const fs::path kModel = fs::path(PACELINE_SOURCE_DIR) / "models" / "default";
const fs::path kPictures = fs::path(PACELINE_SOURCE_DIR) / "tests" / "default_model";
// Below this distance between best and second logit, activations rounded to eight bits may choose otherwise.
constexpr double kClearGap = 0.05;

struct Golden {
  std::string text;
  GoldenPrompt prompt;
};

// What was asked about the pictures, in the words of the template, without the places for them.
std::vector<TokenId> picture_questions(const TokenIds& ids) {
  const auto text = read_file(kPictures / "golden-q4.json", 1 << 24);
  std::vector<TokenId> all;
  const boost::json::value file = boost::json::parse(*text);
  for (const auto& image : file.at("images").as_array()) {
    for (const auto& value : image.at("ids").as_array()) {
      const auto id = static_cast<TokenId>(value.as_int64());
      if (id != ids.image && id != ids.image_begin && id != ids.image_end) all.push_back(id);
    }
  }
  return all;
}

std::vector<Golden> goldens() {
  const auto text = read_file(fs::path(PACELINE_SOURCE_DIR) / "tests/default_model/golden-q4.json", 1 << 20);
  const boost::json::value file = boost::json::parse(*text);
  std::vector<Golden> all;
  for (const auto& value : file.at("prompts").as_array()) {
    const JsonFields fields(value.as_object(), "prompt");
    all.push_back({*fields.text("text"),
                   {*read_token_list(fields, "ids"), *read_token_list(fields, "greedy"),
                    fields.number_or("min_gap", 0, 0, 100).value()}});
  }
  return all;
}

class DefaultModel : public testing::Test {
 protected:
  DefaultModel()
      : pool_(2), ops_(**kernels::find_cpu_table(""), pool_), model_(load_text_model(kModel, pool_).value()) {}

  // As goldens have them: with the stop token.
  std::vector<TokenId> greedy(Forward& forward, const GoldenPrompt& prompt) {
    DecodeRequest request;
    request.prompt = prompt.ids;
    request.sampling.temperature = 0;
    request.stop_ids = model_.loaded.config.stop_ids;
    request.max_tokens = static_cast<int32_t>(prompt.greedy.size());
    request.context = model_.loaded.config.context;
    DecodeOutcome outcome = decode(forward, request, {});
    if (outcome.end == DecodeEnd::stop_id) outcome.tokens.push_back(outcome.stop_token);
    return outcome.tokens;
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  TextModel model_;
};

TEST_F(DefaultModel, TokenizerAgreesWithTheReferences) {
  for (const Golden& golden : goldens()) EXPECT_EQ(model_.tokenizer.encode(golden.text, false), golden.prompt.ids);
}

TEST_F(DefaultModel, GreedyTextIsTheReferencesWhereItsChoicesAreClear) {
  Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops_, Precision::f32);
  int judged = 0;
  for (const Golden& golden : goldens()) {
    if (golden.prompt.min_gap < kClearGap) continue;
    EXPECT_EQ(greedy(forward, golden.prompt), golden.prompt.greedy) << golden.text;
    ++judged;
  }
  EXPECT_GE(judged, 12);
}

TEST_F(DefaultModel, InFloat32GreedyTextIsTheReferences) {
  Gemma4Forward forward(in_float32(*as_gemma4(model_.loaded.weights), ops_.table()), ops_, Precision::f32);
  const auto all = goldens();
  ASSERT_EQ(all.size(), 20u);
  // All twenty in the long form; float32 takes a while.
  const size_t step = std::getenv("PACELINE_TEST_LONG") != nullptr ? 1 : 4;
  for (size_t i = 0; i < all.size(); i += step) {
    EXPECT_EQ(greedy(forward, all[i].prompt), all[i].prompt.greedy) << all[i].text;
  }
}

// Window 512, four bits, its own drafter: the promise on the model that people try first.
TEST_F(DefaultModel, SpeculationEmitsThePlainRunsTokens) {
  Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops_, Precision::bf16);
  const auto mtp = FoundDrafter::load(kModel / "assistant", forward, pool_, ops_)->drafter();
  const bool whole = std::getenv("PACELINE_TEST_LONG") != nullptr;
  IdentityPlan plan;
  for (const Golden& golden : goldens()) {
    plan.text.insert(plan.text.end(), golden.prompt.ids.begin(), golden.prompt.ids.end());
  }
  plan.prompt_tokens = {1, 21, 600, 2048};
  plan.seeds = {1, 2, 3};
  for (int32_t depth = 0; depth <= 15; ++depth) plan.depths.push_back(depth);
  plan.stride = whole ? 7 : 1021;
  const IdentityResult result = check_identity(forward, {mtp.get()}, plan);
  EXPECT_FALSE(result.difference) << difference_text(*result.difference);
  int64_t compared = 0;
  for (const IdentityCount& count : result.kinds) {
    EXPECT_EQ(count.runs_equal, count.runs);
    compared += count.tokens;
    if (count.kind == DrafterKind::mtp) {
      EXPECT_GT(count.counters.tokens_per_round(), 1.3);
    }
  }
  EXPECT_GE(compared, whole ? 25'000 : 150);
}

// The same with keys and values in codes, in all layers: another text, perhaps, but one.
TEST_F(DefaultModel, InCodesSpeculationEmitsThePlainRunsTokens) {
  Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops_, Precision::bf16, DType::i8);
  const auto mtp = FoundDrafter::load(kModel / "assistant", forward, pool_, ops_)->drafter();
  const bool whole = std::getenv("PACELINE_TEST_LONG") != nullptr;
  IdentityPlan plan;
  for (const Golden& golden : goldens()) {
    plan.text.insert(plan.text.end(), golden.prompt.ids.begin(), golden.prompt.ids.end());
  }
  plan.prompt_tokens = {1, 21, 600, 2048};
  plan.seeds = {1, 2, 3};
  for (int32_t depth = 0; depth <= 15; ++depth) plan.depths.push_back(depth);
  plan.stride = whole ? 7 : 1019;
  const IdentityResult result = check_identity(forward, {mtp.get()}, plan);
  EXPECT_FALSE(result.difference) << difference_text(*result.difference);
  for (const IdentityCount& count : result.kinds) EXPECT_EQ(count.runs_equal, count.runs);
}

// Drawings such as it was made to see, in the midst of questions about them: at every depth and by the policy, greedy
// and sampled, in company and with kept pages, each gets what it gets alone without drafts.
TEST_F(DefaultModel, SpeculationChangesNothingAboutPictures) {
  const bool whole = std::getenv("PACELINE_TEST_LONG") != nullptr;
  Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops_, Precision::bf16);
  const auto vision = Vision::load(model_.loaded, Precision::bf16, pool_, ops_).value();
  const auto mtp = FoundDrafter::load(kModel / "assistant", forward, pool_, ops_)->drafter();
  StepCosts costs;
  LoadPlan plan;
  plan.text = picture_questions(model_.loaded.config.ids);
  for (int number = 0; number < 10; ++number) {
    const Medium picture = std::make_shared<const Patches>(
        vision->read(kPictures / ("picture" + std::to_string(number) + ".png"), 0).value());
    const TokenIds& ids = model_.loaded.config.ids;
    plan.pictures.push_back(place_media(ids, {ids.image}, {&picture, 1})->pictures[0]);
  }
  plan.requests = whole ? 60 : 4;
  plan.at_once = 6;
  plan.most_tokens = whole ? 120 : 40;
  EngineSettings settings;
  settings.kv_bytes = size_t{128} << 20;
  int64_t tokens = 0, accepted = 0, known = 0;
  for (int32_t depth = 0; depth <= 15; depth += whole ? 1 : 3) {
    if (depth > 0) settings.fixed_depth = depth;  // before: the policy's
    plan.seed = static_cast<uint64_t>(depth) + 1;
    const LoadResult result =
        check_load({&forward, &pool_, mtp.get(), &costs, nullptr, &vision->forward()}, settings, plan);
    ASSERT_EQ(result.difference, "") << "depth " << depth;
    ASSERT_EQ(result.requests, plan.requests);
    tokens += result.tokens;
    accepted += result.counters.accepted;
    known += result.pictures_known;
  }
  EXPECT_GE(tokens, whole ? 20'000 : 200);
  EXPECT_GT(accepted, tokens / 10);
  EXPECT_GT(known, 0);
  fmt::print("{} tokens compared, {} of them accepted drafts\n", tokens, accepted);
}

// Sixty-four at once, of all settings, with shared beginnings and clients that go away: each gets what it gets alone.
TEST_F(DefaultModel, UnderLoadEachGetsWhatItGetsAlone) {
  Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops_, Precision::bf16);
  const auto mtp = FoundDrafter::load(kModel / "assistant", forward, pool_, ops_)->drafter();
  StepCosts costs;
  LoadPlan plan;
  for (const Golden& golden : goldens()) {
    plan.text.insert(plan.text.end(), golden.prompt.ids.begin(), golden.prompt.ids.end());
  }
  plan.requests = std::getenv("PACELINE_TEST_LONG") != nullptr ? 2000 : 32;
  plan.longest_prompt = 180;
  plan.most_tokens = 30;
  plan.stop_ids = model_.loaded.config.stop_ids;
  EngineSettings settings;
  settings.kv_bytes = size_t{128} << 20;
  // By the policy, which may find that drafts do not pay on this machine, and then with drafts always.
  for (const auto depth : {std::optional<int32_t>(), std::optional<int32_t>(2)}) {
    settings.fixed_depth = depth;
    const LoadResult result = check_load({&forward, &pool_, mtp.get(), &costs}, settings, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, plan.requests);
    EXPECT_GT(result.cancelled, 0);
    EXPECT_GT(result.prefix_hits, 0);
    EXPECT_TRUE(!depth || result.counters.drafted > 0);
    EXPECT_GE(result.most_running, 24);
  }
}

}  // namespace
}  // namespace paceline
