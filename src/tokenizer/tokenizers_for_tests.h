// Small tokenizers for the tests of this room, and where the real one may be found.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

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
