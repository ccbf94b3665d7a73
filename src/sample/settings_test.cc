#include "sample/settings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sample/logprobs.h"

namespace paceline {
namespace {

TEST(Settings, ErrorsNameTheField) {
  const auto message = [](auto change) {
    SampleSettings settings;
    change(settings);
    const Status status = check_settings(settings, 100);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(message([](auto&) {}), "");
  EXPECT_EQ(message([](auto& s) { s.temperature = -1; }), "temperature must be from 0 to 100, not -1");
  EXPECT_NE(message([](auto& s) { s.temperature = NAN; }), "");
  EXPECT_EQ(message([](auto& s) { s.top_k = -2; }), "top_k must be 0 (all) or more, not -2");
  EXPECT_EQ(message([](auto& s) { s.top_p = 0; }), "top_p must be above 0 and at most 1, not 0");
  EXPECT_NE(message([](auto& s) { s.min_p = 1.5f; }), "");
  EXPECT_NE(message([](auto& s) { s.repetition_penalty = 0; }), "");
  EXPECT_NE(message([](auto& s) { s.presence_penalty = INFINITY; }), "");
  EXPECT_NE(message([](auto& s) { s.frequency_penalty = NAN; }), "");
  EXPECT_EQ(message([](auto& s) { s.logit_bias = {{100, 1}}; }), "logit_bias names token 100; ids go from 0 to 99");
}

TEST(Settings, TheLaterOfTwoBiasesStands) {
  std::vector<LogitBias> biases{{5, 1}, {2, 2}, {5, 3}};
  sort_biases(biases);
  ASSERT_EQ(biases.size(), 2u);
  EXPECT_EQ(biases[0].id, 2);
  EXPECT_EQ(biases[1].bias, 3);
}

TEST(Logprobs, AreTheLogOfSoftmax) {
  ChooseScratch scratch;
  const std::vector<float> row{1, 2, NAN, 3, 0};
  const double sum = std::exp(1) + std::exp(2) + std::exp(3) + 1;
  const RowLogprobs result = row_logprobs(row, 1, 3, scratch);
  EXPECT_NEAR(result.chosen, 2 - std::log(sum), 1e-6);
  ASSERT_EQ(result.top.size(), 3u);
  EXPECT_EQ(result.top[0].id, 3);
  EXPECT_NEAR(result.top[0].logprob, 3 - std::log(sum), 1e-6);
  EXPECT_EQ(result.top[2].id, 0);
}

}  // namespace
}  // namespace paceline
