#include "engine/request_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace paceline {
namespace {

Request with_prompt(size_t tokens) {
  Request request;
  request.prompt.assign(tokens, 1);
  return request;
}

RequestPicture picture_of(size_t bytes) {
  auto patches = std::make_shared<Patches>();
  patches->values.resize(bytes);
  return {0, 1, std::move(patches), {}};
}

class Form : public TokenConstraint {
 public:
  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override { return nullptr; }
  [[nodiscard]] size_t bytes() const override { return 300'000; }
};

TEST(RequestBytes, CountsWhatARequestHolds) {
  RequestBytes counter(size_t{1} << 30);
  const auto bytes_of = [&](const Request& request) {
    const auto hold = counter.try_hold(request);
    return counter.held();
  };
  const size_t least = bytes_of(with_prompt(0));
  EXPECT_GT(least, 0u);
  EXPECT_EQ(bytes_of(with_prompt(1000)), least + 4000);
  Request request = with_prompt(0);
  request.listener_bytes = 777;
  EXPECT_EQ(bytes_of(request), least + 777);
  request.pictures = {picture_of(100'000), picture_of(50'000)};
  EXPECT_GE(bytes_of(request), least + 150'777);
  request.sampling.constraint = std::make_shared<Form>();
  EXPECT_GE(bytes_of(request), least + 450'777);
  EXPECT_EQ(counter.held(), 0u);
}

TEST(RequestBytes, WhatIsSharedIsCountedOnce) {
  RequestBytes counter(size_t{1} << 30);
  Request request = with_prompt(10);
  request.pictures = {picture_of(100'000)};
  request.sampling.constraint = std::make_shared<Form>();
  std::vector<RequestBytes::Hold> holds;
  for (int i = 0; i < 10; ++i) holds.push_back(counter.try_hold(request));
  EXPECT_GE(counter.held(), 400'000u);
  EXPECT_LT(counter.held(), 500'000u);
  holds.resize(1);
  EXPECT_GE(counter.held(), 400'000u);
  holds.clear();
  EXPECT_EQ(counter.held(), 0u);
}

TEST(RequestBytes, MoreThanThereIsIsRefusedUnlessItIsAlone) {
  RequestBytes counter(100'000);
  auto alone = counter.try_hold(with_prompt(100'000));
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(counter.try_hold(with_prompt(1)), nullptr);
  alone.reset();
  std::vector<RequestBytes::Hold> holds;
  while (auto hold = counter.try_hold(with_prompt(1000))) holds.push_back(std::move(hold));
  EXPECT_GE(holds.size(), 15u);
  EXPECT_LE(counter.held(), 100'000u);
  holds.pop_back();
  EXPECT_NE(counter.try_hold(with_prompt(1000)), nullptr);
}

TEST(RequestBytes, MayOutliveItsCounter) {
  RequestBytes::Hold hold;
  {
    RequestBytes counter(100'000);
    hold = counter.try_hold(with_prompt(1000));
    EXPECT_GE(counter.held(), 4000u);
  }
  ASSERT_NE(hold, nullptr);
  const std::weak_ptr<const void> held = hold;
  hold.reset();
  EXPECT_TRUE(held.expired());
}

}  // namespace
}  // namespace paceline
