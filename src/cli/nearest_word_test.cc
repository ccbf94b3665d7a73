#include "cli/nearest_word.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline {
namespace {

TEST(NearestWord, IsTheOneThatWasMeant) {
  const std::vector<std::string> words{"generate", "serve", "inspect", "quantize", "check", "bench"};
  EXPECT_EQ(nearest_word("generat", words), "generate");
  EXPECT_EQ(nearest_word("genreate", words), "generate");
  EXPECT_EQ(nearest_word("gen", words), "generate");
  EXPECT_EQ(nearest_word("quantise", words), "quantize");
  EXPECT_EQ(nearest_word("server", words), "serve");
  EXPECT_EQ(nearest_word("benhc", words), "bench");
  for (const char* far : {"", "x", "dance", "--help", "s", "an altogether different thing"}) {
    EXPECT_EQ(nearest_word(far, words), "") << far;
  }
  EXPECT_EQ(nearest_word("generate", {}), "");
}

}  // namespace
}  // namespace paceline
