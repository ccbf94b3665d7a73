#include "weights/gguf/gguf_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/gguf/gguf_header.h"
#include "weights/gguf/gguf_writer_for_tests.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::string numbers(const std::vector<int32_t>& values) {
  std::string bytes = GgufBytes::raw<uint32_t>(5) + GgufBytes::raw<uint64_t>(values.size());
  for (const int32_t value : values) bytes += GgufBytes::raw(value);
  return bytes;
}

// Keeps the bytes that a vocabulary is a view of.
struct Read {
  std::string bytes;
  GgufHeader header;
  Result<GgufVocabulary> vocabulary = Error{"not read"};

  explicit Read(const GgufBytes& made, int64_t rows = 8) : bytes(made.bytes()) {
    header = parse_gguf(std::as_bytes(std::span(bytes))).value();
    vocabulary = GgufVocabulary::read(header.metadata, rows);
  }
  [[nodiscard]] std::string message() const { return vocabulary.ok() ? "" : vocabulary.error().message; }
};

GgufBytes gemma(const std::vector<std::string>& tokens = {"<pad>", "<eos>", "a\"b", "<|channel>", "x", "y", "xy"}) {
  GgufBytes made;
  made.string("tokenizer.ggml.model", "gemma4").strings("tokenizer.ggml.tokens", tokens);
  made.strings("tokenizer.ggml.merges", {"x y"});
  return made;
}

TEST(GgufVocabulary, KnowsSpecialTokensByTextAndByKind) {
  GgufBytes made = gemma();
  made.key("tokenizer.ggml.token_type", 9, numbers({3, 1, 1, 1, 4, 1, 1})).u32("tokenizer.ggml.eos_token_id", 1);
  const Read read(made);
  ASSERT_EQ(read.message(), "");
  EXPECT_EQ(read.vocabulary->id_of("xy"), 6);
  EXPECT_EQ(read.vocabulary->named_id("eos_token_id"), 1);
  EXPECT_EQ(read.vocabulary->named_id("bos_token_id"), -1);
  const std::string json = read.vocabulary->tokenizer_json().value();
  // Marked so, and of the family's list though the file says otherwise.
  for (const char* special :
       {R"({"id":4,"content":"x")", R"({"id":1,"content":"<eos>")", R"({"id":3,"content":"<|channel>")"})
    EXPECT_THAT(json, HasSubstr(special));
  EXPECT_THAT(json, testing::Not(HasSubstr(R"({"id":5,)")));
  EXPECT_THAT(json, HasSubstr(R"("a\"b":2)"));
  EXPECT_THAT(json, HasSubstr(R"("merges":[["x","y"]])"));
  EXPECT_EQ(read.vocabulary->tokenizer_config_json().value(), R"({"eos_token":"<eos>"})");
}

TEST(GgufVocabulary, ReadsWhatOllamaWrites) {
  GgufBytes made;
  made.string("tokenizer.ggml.model", "llama").string("tokenizer.ggml.pre", "gemma4");
  made.strings("tokenizer.ggml.tokens", {"<|turn>", "a"}).strings("tokenizer.ggml.merges", {});
  const Read read(made);
  ASSERT_EQ(read.message(), "");
  EXPECT_FALSE(read.vocabulary->byte_level());
  // It has no template: the family's.
  EXPECT_THAT(read.vocabulary->chat_template().value().value(), HasSubstr("<|turn>model"));
  EXPECT_FALSE(Read(gemma()).vocabulary->chat_template().value().has_value());
}

TEST(GgufVocabulary, RefusesWhatDoesNotFit) {
  EXPECT_THAT(Read(gemma(), 6).message(), HasSubstr("tokens"));
  EXPECT_THAT(Read(gemma().u32("tokenizer.ggml.bos_token_id", 7)).message(), HasSubstr("bos_token_id"));
  EXPECT_THAT(Read(gemma().key("tokenizer.ggml.token_type", 9, numbers({1}))).message(), HasSubstr("token_type"));
  EXPECT_THAT(Read(gemma().key("tokenizer.ggml.scores", 9, numbers({1}))).message(), HasSubstr("scores"));
  EXPECT_THAT(Read(gemma({"a", ""})).message(), HasSubstr("token 1: expected a text"));
  EXPECT_THAT(Read(gemma({"a", "\xff"})).message(), HasSubstr("token 1: expected a text"));
  GgufBytes other;
  EXPECT_THAT(Read(other.string("tokenizer.ggml.model", "t5")).message(), HasSubstr("tokenizer.ggml.model"));
  GgufBytes broken;
  broken.string("tokenizer.ggml.model", "gemma4").strings("tokenizer.ggml.tokens", {"a"});
  broken.strings("tokenizer.ggml.merges", {"ab"});
  EXPECT_THAT(Read(broken).vocabulary->tokenizer_json().error().message, HasSubstr("entry 0: expected two pieces"));
}

TEST(GgufVocabulary, BytesAreWordsAndMerges) {
  GgufBytes made;
  made.string("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.tokens", {"a", "b", "ab", "<|im_end|>"});
  made.strings("tokenizer.ggml.merges", {"a b"}).key("tokenizer.ggml.token_type", 9, numbers({1, 1, 1, 3}));
  const Read read(made);
  ASSERT_EQ(read.message(), "");
  EXPECT_TRUE(read.vocabulary->byte_level());
  EXPECT_EQ(read.vocabulary->vocab_json().value(), R"({"a":0,"b":1,"ab":2})");
  EXPECT_EQ(read.vocabulary->merges_txt().value(), "a b\n");
  EXPECT_THAT(read.vocabulary->tokenizer_config_json().value(), HasSubstr(R"("3":{"content":"<|im_end|>")"));
}

}  // namespace
}  // namespace paceline
