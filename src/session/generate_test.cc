#include "session/generate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"

namespace paceline {
namespace {

std::filesystem::path goldens_folder() { return std::filesystem::path(PACELINE_SOURCE_DIR) / "tests" / "goldens"; }

// The goldens have no tokenizer beside them: theirs is one for all.
TextModel golden_model(const char* name, ThreadPool& pool) {
  std::ifstream file(goldens_folder() / "tokenizer.json", std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Tokenizer tokenizer = std::move(*Tokenizer::load(json));
  SpecialTokens special_tokens = default_special_tokens(tokenizer);
  return make_text_model(*load_model(goldens_folder() / name / "target", pool), std::move(tokenizer),
                         std::move(special_tokens));
}

class GenerateTest : public testing::Test {
 protected:
  GenerateTest()
      : pool_(1),
        ops_(**kernels::find_cpu_table(""), pool_),
        model_(golden_model("vlm", pool_)),
        forward_(as_gemma4(model_.loaded.weights), ops_, Precision::bf16) {
    request_.prompt = "def ";
    request_.raw = true;
    request_.max_tokens = 40;
    request_.sampling.seed = 4;
  }

  GenerateResult run(const GenerateRequest& request, const GenerateCallbacks& callbacks = {}) {
    const auto prepared = prepare(model_, request);
    EXPECT_TRUE(prepared.ok()) << prepared.error().message;
    Engine engine({&forward_, &pool_}, {});
    auto result = generate(model_, engine, *prepared, callbacks);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return std::move(result).value();
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  TextModel model_;
  Gemma4Forward forward_;
  GenerateRequest request_;
};

TEST_F(GenerateTest, WhatIsStreamedIsTheText) {
  std::string streamed;
  GenerateCallbacks callbacks;
  callbacks.on_text = [&](std::string_view text) {
    streamed += text;
    return true;
  };
  const GenerateResult result = run(request_, callbacks);
  EXPECT_EQ(result.finish, FinishReason::length);
  EXPECT_EQ(result.tokens.size(), 40u);
  EXPECT_EQ(result.prompt_tokens, 5);
  EXPECT_EQ(streamed, result.text);
  EXPECT_FALSE(streamed.empty());
}

TEST_F(GenerateTest, PlaceholdersOfMediaAreNeverSampled) {
  const TokenIds& ids = model_.loaded.config.ids;
  ASSERT_GE(ids.image, 0);
  for (const TokenId id : {ids.image_begin, ids.image, ids.image_end, ids.video}) {
    if (id >= 0) request_.sampling.logit_bias.push_back({id, 1000});
  }
  sort_biases(request_.sampling.logit_bias);
  for (const TokenId token : run(request_).tokens) EXPECT_GT(token, 8);
}

TEST_F(GenerateTest, StopIdsAreTheModelsTheTokenizersAndTheRequests) {
  request_.stop_ids = {200, 3};
  const auto prepared = prepare(model_, request_);
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared->request.stop_ids, (std::vector<TokenId>{1, 3, 200}));
  request_.ignore_eos = true;
  EXPECT_EQ(prepare(model_, request_)->request.stop_ids, (std::vector<TokenId>{3, 200}));
}

TEST_F(GenerateTest, AStopIdEndsWithReasonStop) {
  request_.stop_ids = {run(request_).tokens[7]};
  const GenerateResult result = run(request_);
  EXPECT_EQ(result.finish, FinishReason::stop);
  EXPECT_LE(result.tokens.size(), 7u);
}

TEST_F(GenerateTest, AReaderMayEndIt) {
  GenerateCallbacks callbacks;
  callbacks.on_text = [](std::string_view) { return false; };
  const GenerateResult result = run(request_, callbacks);
  EXPECT_EQ(result.finish, FinishReason::cancelled);
  EXPECT_LT(result.tokens.size(), 40u);
}

// A device that goes away in the middle.
class LeavingOps : public kernels::CpuOps {
 public:
  using CpuOps::CpuOps;
  Status wait() override { return waits_++ < 12 ? Status(Done{}) : Status(Error{"the device fell off"}); }

 private:
  int waits_ = 0;
};

TEST_F(GenerateTest, AFaultIsAnErrorAndNotAnEnd) {
  LeavingOps ops(**kernels::find_cpu_table(""), pool_);
  Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops, Precision::bf16);
  Engine engine({&forward, &pool_}, {});
  const auto prepared = prepare(model_, request_);
  std::string streamed;
  GenerateCallbacks callbacks;
  callbacks.on_text = [&](std::string_view text) {
    streamed += text;
    return true;
  };
  const auto result = generate(model_, engine, *prepared, callbacks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "the device fell off");
  EXPECT_FALSE(streamed.empty());
  // And whoever comes to the same engine afterwards hears the same.
  const auto later = generate(model_, engine, *prepared, {});
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().message, "the device fell off");
}

TEST_F(GenerateTest, WhatTheEngineRefusesIsAnError) {
  EngineSettings settings;
  settings.kv_bytes = 10;
  Engine engine({&forward_, &pool_}, settings);
  const auto result = generate(model_, engine, *prepare(model_, request_), {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("10"), std::string::npos);
}

TEST_F(GenerateTest, MistakesAreFoundBeforeAnythingRuns) {
  const auto message = [&](auto change) {
    GenerateRequest request = request_;
    change(request);
    const auto prepared = prepare(model_, request);
    return prepared.ok() ? std::string() : prepared.error().message;
  };
  EXPECT_EQ(message([](auto& r) { r.prompt = ""; }), "the prompt is empty");
  EXPECT_EQ(message([](auto& r) { r.context = 5; }),
            "the prompt has 5 tokens; the context of 5 must hold it and at least one more");
  EXPECT_EQ(message([](auto& r) { r.max_tokens = 0; }), "max_tokens must be 1 or more, not 0");
  EXPECT_NE(message([](auto& r) { r.context = 1 << 20; }), "");
  EXPECT_NE(message([](auto& r) { r.raw = false; }), "");
  EXPECT_NE(message([](auto& r) { r.sampling.top_p = 2; }), "");
}

}  // namespace
}  // namespace paceline
