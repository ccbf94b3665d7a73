#include "kernels/kv_rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/sign_pattern.h"
#include "kernels/random_matrix.h"

namespace paceline::kernels {
namespace {

double product_of(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

TEST(SignPattern, IsFixedAndEven) {
  const std::vector<float> signs = sign_pattern(1, 512);
  // Kept pages and other backends rely on it.
  std::string first;
  for (int i = 0; i < 32; ++i) first += signs[static_cast<size_t>(i)] > 0 ? '+' : '-';
  EXPECT_EQ(first, "-+---+--+--+++-----+-+++-+-++-+-");
  EXPECT_LT(std::fabs(std::accumulate(signs.begin(), signs.end(), 0.0f)), 80);
  EXPECT_NE(sign_pattern(2, 512), signs);
  for (const float sign : signs) EXPECT_EQ(std::fabs(sign), 1.0f);
}

TEST(KvRotation, KeepsProductsAndTurnsBack) {
  std::mt19937 random(5);
  for (const HeadShape& shape : {HeadShape{1, 1, 512, DType::i8, 128}, HeadShape{1, 1, 256, DType::i8},
                                 HeadShape{1, 1, 32, DType::i8, 8}, HeadShape{1, 1, 16, DType::i8}}) {
    const Rotation rotation(shape);
    const std::vector<float> a = random_rows(1, shape.head_dim, random), b = random_rows(1, shape.head_dim, random);
    std::vector<float> turned = a, other = b;
    rotation.turn(turned.data(), 0, shape.head_dim);
    rotation.turn(other.data(), 0, shape.head_dim);
    EXPECT_NEAR(product_of(turned, other) / rotation.block(), product_of(a, b), 1e-4 * shape.head_dim);
    rotation.turn_back(turned.data(), 0, shape.head_dim);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(turned[i], a[i], 1e-5) << i;
  }
}

// One large number among small ones is spread over its block, so that codes have something to say of the others.
TEST(KvRotation, SpreadsWhatSticksOut) {
  const HeadShape shape{1, 1, 128, DType::i8};
  std::vector<float> x(128, 0.1f);
  x[17] = 50;
  Rotation(shape).turn(x.data(), 0, 128);
  for (const float value : x) EXPECT_LT(std::fabs(value), 60);
  EXPECT_GT(std::fabs(x[99]), 40);
}

TEST(KvRotation, BlocksArePowersOfTwoOrNothing) {
  EXPECT_EQ(rotation_block({1, 1, 512, DType::i8}), 128);
  EXPECT_EQ(rotation_block({1, 1, 512, DType::i8, 128}), 128);
  EXPECT_EQ(rotation_block({1, 1, 64, DType::i8}), 64);
  EXPECT_EQ(rotation_block({1, 1, 96, DType::i8}), 0);
  EXPECT_EQ(rotation_block({1, 1, 512, DType::i8, 96}), 0);
  EXPECT_EQ(rotation_block({1, 1, 192, DType::i8}), 0);
}

TEST(KvRotation, CodesAreTheNearest) {
  const std::vector<float> x = {-2.0f, 1.0f, 2.0f, 0.5f * 2 / 127, 1.5f * 2 / 127, 0.0f};
  std::vector<int8_t> codes(x.size());
  EXPECT_FLOAT_EQ(encode(x.data(), 6, codes.data()), 2.0f / 127);
  EXPECT_EQ(codes, (std::vector<int8_t>{-127, 64, 127, 0, 2, 0}));
  const std::vector<float> zeros(6, 0.0f);
  EXPECT_EQ(encode(zeros.data(), 6, codes.data()), 0.0f);
  EXPECT_EQ(codes, std::vector<int8_t>(6, 0));
  for (const float wrong : {NAN, INFINITY}) {
    const std::vector<float> broken = {1.0f, wrong, 2.0f};
    EXPECT_TRUE(std::isnan(encode(broken.data(), 3, codes.data())));
  }
  const std::vector<float> tiny(6, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(encode(tiny.data(), 6, codes.data()), 0.0f);
}

TEST(KvRotation, OrdersRotatedNumbersFirst) {
  const HeadShape shape{1, 1, 16, DType::i8, 4};
  std::vector<float> x(16), ordered(16), back(16);
  std::iota(x.begin(), x.end(), 0.0f);
  order_joined(shape, x.data(), ordered.data());
  EXPECT_EQ(ordered, (std::vector<float>{0, 1, 8, 9, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15}));
  order_back(shape, ordered.data(), back.data());
  EXPECT_EQ(back, x);
}

// Bytes of a token in all global layers of 31B, as they are, joined, in codes, and both.
TEST(KvPageBytes, AreWhatAFormatTakes) {
  const auto per_token = [](DType dtype, int32_t joined) {
    const KvPageBytes bytes = kv_page_bytes({32, 4, 512, dtype, joined});
    return 10 * (bytes.keys + bytes.values) / kPageTokens;
  };
  EXPECT_EQ(per_token(DType::bf16, 0), 81920u);
  EXPECT_EQ(per_token(DType::bf16, 128), 51200u);
  EXPECT_EQ(per_token(DType::i8, 0), 41280u);
  EXPECT_EQ(per_token(DType::i8, 128), 25920u);
}

}  // namespace
}  // namespace paceline::kernels
