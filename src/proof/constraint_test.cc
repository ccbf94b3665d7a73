// A form demanded of the output is kept, and speculation cannot be seen in it either.
#include "grammar/constraint.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>

#include "grammar/documents.h"
#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/load.h"
#include "proof/decode.h"
#include "session/token_vocabulary.h"
#include "speculate/ngram/ngram_drafter.h"
#include "speculate/scripted_drafters.h"
#include "tokenizer/packed_file.h"

namespace paceline {
namespace {

class ConstraintTest : public testing::Test {
 protected:
  ConstraintTest()
      : pool_(1),
        ops_(**kernels::find_cpu_table(""), pool_),
        model_(*load_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "models/default", pool_)),
        forward_(as_gemma4(model_.weights), ops_, Precision::bf16),
        tokenizer_(*Tokenizer::load(*read_packed_file(PACELINE_SOURCE_DIR "/models/default/tokenizer.json"))),
        index_(*make_token_index(tokenizer_)) {}

  DecodeRequest request(std::string_view schema, float temperature, uint64_t seed) {
    DecodeRequest made;
    made.prompt = tokenizer_.encode("data = {\"name\": \"x\", \"tags\": [\"a\", \"b\"], \"on\": true}\njson: ", true);
    made.stop_ids = {*tokenizer_.eos()};
    made.sampling.temperature = temperature;
    made.sampling.seed = seed;
    auto automaton = grammar::json_schema_grammar(boost::json::parse(schema));
    EXPECT_TRUE(automaton.ok());
    made.sampling.constraint =
        *grammar::GrammarConstraint::make(std::move(automaton).value(), index_, {*tokenizer_.eos()});
    made.max_tokens = 120;
    made.context = 1024;
    return made;
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  LoadedModel model_;
  Gemma4Forward forward_;
  Tokenizer tokenizer_;
  std::shared_ptr<const grammar::TokenIndex> index_;
};

// Bounded, so that every text ends in time.
constexpr const char* kSchema =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},"tags":{"type":"array","items":)"
    R"({"type":"string","maxLength":4},"maxItems":3},"on":{"type":"boolean"}},"required":["name","tags"]})";

TEST_F(ConstraintTest, TextsAreDocumentsAndDraftsAreNotSeen) {
  const int32_t vocab = model_.config.vocab;
  for (const float temperature : {0.0f, 1.0f}) {
    const DecodeRequest r = request(kSchema, temperature, 5);
    const DecodeOutcome plain = decode(forward_, r, {});
    ASSERT_EQ(plain.end, DecodeEnd::stop_id);
    const auto text = tokenizer_.decode(plain.tokens, false);
    boost::json::error_code failed;
    const auto value = boost::json::parse(text, failed);
    ASSERT_FALSE(failed) << text;
    EXPECT_TRUE(value.as_object().contains("name") && value.as_object().contains("tags")) << text;

    NgramDrafter ngram;
    RandomDrafter random(3, vocab);
    KnowingDrafter perfect(r.prompt, plain.tokens, vocab, 1.0), half_right(r.prompt, plain.tokens, vocab, 0.5);
    for (Drafter* drafter : {static_cast<Drafter*>(&ngram), static_cast<Drafter*>(&random),
                             static_cast<Drafter*>(&perfect), static_cast<Drafter*>(&half_right)}) {
      for (const int32_t depth : {1, 4, 7}) {
        FixedDepth fixed(depth);
        const DecodeOutcome drafted = decode(forward_, r, {}, {drafter, &fixed});
        EXPECT_EQ(drafted.tokens, plain.tokens);
        EXPECT_EQ(drafted.end, plain.end);
        EXPECT_EQ(drafted.stop_token, plain.stop_token);
      }
    }
  }
}

}  // namespace
}  // namespace paceline
