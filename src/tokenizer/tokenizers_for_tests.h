// Small tokenizers for the tests of this room, and where the real one may be found.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/byte_level/byte_alphabet.h"
#include "tokenizer/packed_file.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

// The parts of a tokenizer.json as JSON text; what a test does not set is as plain as can be.
struct TokenizerText {
  std::string added_tokens = "[]";
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string post_processor = "null";
  std::string decoder = R"({"type": "Fuse"})";
  std::string vocab = R"({"<unk>": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "bc": 5, "abc": 6})";
  std::string merges = R"([["a", "b"], ["b", "c"], ["ab", "c"]])";
  std::string unk_token = R"("<unk>")";
  std::string switches = R"("fuse_unk": true, "byte_fallback": false, "ignore_merges": false)";

  [[nodiscard]] std::string json() const {
    return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": )" + added_tokens +
           R"(, "normalizer": )" + normalizer + R"(, "pre_tokenizer": )" + pre_tokenizer + R"(, "post_processor": )" +
           post_processor + R"(, "decoder": )" + decoder +
           R"(, "model": {"type": "BPE", "dropout": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, )" +
           R"("unk_token": )" + unk_token + ", " + switches + R"(, "vocab": )" + vocab + R"(, "merges": )" + merges +
           "}}";
  }
  [[nodiscard]] Tokenizer load() const {
    auto tokenizer = Tokenizer::load(json());
    if (!tokenizer.ok()) {
      ADD_FAILURE() << tokenizer.error().message;
      std::abort();
    }
    return std::move(tokenizer).value();
  }
};

// How Qwen3 cuts words, and Qwen3.5.
inline constexpr const char* kQwen3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kQwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// A tokenizer of bytes as Qwen's are: bytes have the ids 0 to 255, merged pieces those from 256 on, added tokens what
// they say.
struct ByteTokenizerText {
  std::string words = kQwen3Words;
  std::vector<std::pair<std::string, std::string>> merges = {};  // in the letters of byte_alphabet.h
  std::string added_tokens = "[]";

  [[nodiscard]] std::string vocab_json() const {
    boost::json::object vocab;
    for (int byte = 0; byte < 256; ++byte) vocab[letter_of_byte(static_cast<uint8_t>(byte))] = byte;
    for (const auto& [left, right] : merges) {
      if (!vocab.contains(left + right)) vocab[left + right] = vocab.size();
    }
    return boost::json::serialize(vocab);
  }
  [[nodiscard]] TokenizerText text() const {
    const std::string bytes =
        R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false})";
    TokenizerText text;
    text.added_tokens = added_tokens;
    text.normalizer = R"({"type": "NFC"})";
    text.pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": )" +
                         boost::json::serialize(boost::json::value(words)) +
                         R"(}, "behavior": "Isolated", "invert": false}, )" + bytes + "]}";
    text.post_processor = text.decoder = bytes;
    text.unk_token = "null";
    text.vocab = vocab_json();
    boost::json::array pairs;
    for (const auto& [left, right] : merges) {
      pairs.push_back(boost::json::array{boost::json::value(left), boost::json::value(right)});
    }
    text.merges = boost::json::serialize(pairs);
    return text;
  }
  [[nodiscard]] Tokenizer load() const { return text().load(); }
};

using Ids = std::vector<TokenId>;

inline std::string read_or_fail(const std::string& path) {
  auto contents = read_packed_file(path);
  EXPECT_TRUE(contents.ok()) << (contents.ok() ? "" : contents.error().message);
  return contents.ok() ? std::move(contents).value() : std::string();
}

inline Tokenizer load_golden_tokenizer() {
  auto tokenizer = Tokenizer::load(read_or_fail(PACELINE_SOURCE_DIR "/tests/goldens/tokenizer.json"));
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.error().message;
    std::abort();
  }
  return std::move(tokenizer).value();
}

// The folder with the real tokenizer and templates: PACELINE_SHARED, or what stands beside the project. Empty: neither.
inline std::string shared_folder() {
  const char* named = std::getenv("PACELINE_SHARED");
  const std::string folder = named != nullptr ? named : PACELINE_SOURCE_DIR "/../shared";
  return std::filesystem::exists(folder + "/tokenizer/encodings.json") ? folder : "";
}

#define SKIP_WITHOUT_SHARED(folder) \
  if ((folder).empty())             \
  GTEST_SKIP() << "needs the real tokenizer: set PACELINE_SHARED to the folder that has tokenizer/ and templates/"

}  // namespace paceline
