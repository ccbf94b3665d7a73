#include "proof/decode.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/load.h"

namespace paceline {
namespace {

class DecodeTest : public testing::Test {
 protected:
  DecodeTest()
      : pool_(1),
        ops_(**kernels::find_cpu_table(""), pool_),
        model_(*load_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens/moe/target", pool_)),
        forward_(as_gemma4(model_.weights), ops_, Precision::bf16) {}

  static DecodeRequest request() {
    DecodeRequest request;
    request.prompt = {2};
    for (const char c : std::string_view("def read(self, path):\n    with open(path) as f:\n")) {
      request.prompt.push_back(128 + c);
    }
    request.sampling.seed = 17;
    request.max_tokens = 40;
    request.context = 4096;
    return request;
  }

  std::vector<TokenId> tokens_of(const DecodeRequest& request) { return decode(forward_, request, {}).tokens; }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  LoadedModel model_;
  Gemma4Forward forward_;
};

// The loop without its bookkeeping: everything from the beginning for each token, and counted anew.
TEST_F(DecodeTest, EqualsDecodingEachTokenFromScratch) {
  DecodeRequest r = request();
  r.max_tokens = 12;
  r.sampling.repetition_penalty = 1.3f;
  r.sampling.frequency_penalty = 0.4f;
  std::vector<TokenId> generated;
  ChooseScratch scratch;
  for (int32_t i = 0; i < r.max_tokens; ++i) {
    std::vector<TokenId> standing = r.prompt;
    standing.insert(standing.end(), generated.begin(), generated.end());
    KvCache kv(forward_.kv_layout(), 4096);
    const SeqRows seq{&kv, static_cast<int32_t>(standing.size())};
    const int32_t last = seq.count - 1;
    const ForwardOutput output = forward_.run({standing, {&seq, 1}, {&last, 1}, {}});
    const std::span<const float> row(output.logits, static_cast<size_t>(model_.config.vocab));
    generated.push_back(choose(row, {r.prompt, generated}, r.sampling, i, scratch));
  }
  EXPECT_EQ(tokens_of(r), generated);
}

TEST_F(DecodeTest, ChunksOfThePromptMakeNoDifference) {
  DecodeRequest r = request();
  const auto expected = tokens_of(r);
  ASSERT_EQ(expected.size(), 40u);
  for (const int32_t rows : {1, 7, 16, 33}) {
    r.chunk_rows = rows;
    EXPECT_EQ(tokens_of(r), expected) << rows;
  }
}

TEST_F(DecodeTest, AStopTokenEndsTheTextAndIsNotInIt) {
  DecodeRequest r = request();
  const auto all = tokens_of(r);
  r.stop_ids = {all[10]};
  const DecodeOutcome outcome = decode(forward_, r, {});
  const auto first = std::find(all.begin(), all.end(), all[10]);
  EXPECT_EQ(outcome.end, DecodeEnd::stop_id);
  EXPECT_EQ(outcome.stop_token, all[10]);
  EXPECT_EQ(outcome.tokens, std::vector<TokenId>(all.begin(), first));
}

TEST_F(DecodeTest, TheContextEndsTheText) {
  DecodeRequest r = request();
  const auto all = tokens_of(r);
  r.context = static_cast<int32_t>(r.prompt.size()) + 5;
  const DecodeOutcome outcome = decode(forward_, r, {});
  EXPECT_EQ(outcome.end, DecodeEnd::context);
  EXPECT_EQ(outcome.tokens, std::vector<TokenId>(all.begin(), all.begin() + 5));
}

TEST_F(DecodeTest, CallbacksSeeEverythingAndMayEndIt) {
  DecodeRequest r = request();
  r.chunk_rows = 20;
  std::vector<TokenId> seen;
  std::vector<int32_t> prompt_done;
  DecodeCallbacks callbacks;
  callbacks.on_token = [&](TokenId token) {
    seen.push_back(token);
    return seen.size() < 4;
  };
  callbacks.on_prompt = [&](int32_t done) {
    prompt_done.push_back(done);
    return true;
  };
  const DecodeOutcome outcome = decode(forward_, r, callbacks);
  EXPECT_EQ(outcome.end, DecodeEnd::callback);
  EXPECT_EQ(outcome.tokens, seen);
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(prompt_done, (std::vector<int32_t>{20, 40, static_cast<int32_t>(r.prompt.size())}));

  callbacks.on_prompt = [](int32_t) { return false; };
  const DecodeOutcome none = decode(forward_, r, callbacks);
  EXPECT_EQ(none.end, DecodeEnd::callback);
  EXPECT_TRUE(none.tokens.empty());
}

}  // namespace
}  // namespace paceline
