#include "server/history.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cmath>

namespace paceline {
namespace {

constexpr const char* kText = R"(# HELP vllm:prompt_tokens_total Tokens of prompts
vllm:prompt_tokens_total{model_name="a"} 12
vllm:prompt_tokens_total{model_name="b"} 30
vllm:num_requests_running{model_name="a"} 3
paceline:http_answers_total{model_name="a",route="/v1/models",status="200"} 5
paceline:http_answers_total{model_name="a",route="other",status="404"} 2
paceline:steps_total{depth="4",drafter="mtp",model_name="a",reason="policy"} 7
paceline:step_seconds_sum{kind="verify",model_name="a"} 0.5
paceline:step_seconds_count{kind="verify",model_name="a"} 10
vllm:time_to_first_token_seconds_bucket{model_name="a",le="0.1"} 2
vllm:time_to_first_token_seconds_bucket{model_name="a",le="0.2"} 4
vllm:time_to_first_token_seconds_bucket{model_name="a",le="+Inf"} 4
)";

double cell(const boost::json::value& history, size_t row, std::string_view name) {
  const auto& columns = history.at("columns").as_array();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].as_string() == name) return history.at("rows").at(row).at(i).to_number<double>();
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(MetricsHistory, ReadsWhatMetricsSay) {
  MetricsHistory history;
  history.add(kText, 1000, 4096, 8192);
  const auto json = boost::json::parse(history.json(60, 0));
  ASSERT_EQ(json.at("columns").as_array().size(), kHistoryColumns);
  ASSERT_EQ(json.at("rows").as_array().size(), 1U);
  EXPECT_EQ(cell(json, 0, "prompt"), 42);  // of all models
  EXPECT_EQ(cell(json, 0, "running"), 3);
  EXPECT_EQ(cell(json, 0, "answers_good"), 5);
  EXPECT_EQ(cell(json, 0, "answers_refused"), 2);
  EXPECT_EQ(cell(json, 0, "depth_3"), 7);
  EXPECT_EQ(cell(json, 0, "verify_s"), 0.5);
  EXPECT_EQ(cell(json, 0, "verify_steps"), 10);
  EXPECT_EQ(cell(json, 0, "memory"), 4096);
  EXPECT_EQ(cell(json, 0, "device_memory"), 8192);
  EXPECT_DOUBLE_EQ(cell(json, 0, "first_token_p50"), 0.1);
  EXPECT_NEAR(cell(json, 0, "first_token_p95"), 0.19, 1e-9);
}

TEST(MetricsHistory, NothingNewHasNoQuantile) {
  const BorderCounts counts{{0.1, 2}, {0.2, 4}};
  EXPECT_TRUE(std::isnan(quantile_between(counts, counts, 0.5)));
  EXPECT_TRUE(std::isnan(quantile_between({}, {}, 0.5)));
}

TEST(MetricsHistory, KeepsAnHourFinelyAndADayCoarsely) {
  MetricsHistory history;
  for (int second = 0; second < 100000; ++second) history.add("", second, 0);
  const auto rows = [&](double seconds, double since) {
    return boost::json::parse(history.json(seconds, since)).at("rows").as_array().size();
  };
  EXPECT_EQ(rows(60, 0), 61U);
  EXPECT_EQ(rows(3600, 0), MetricsHistory::kFine);
  EXPECT_EQ(rows(86400, 0), MetricsHistory::kCoarse);
  EXPECT_EQ(rows(3600, 99990), 9U);
}

}  // namespace
}  // namespace paceline
