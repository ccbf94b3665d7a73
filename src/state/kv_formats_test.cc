#include "state/kv_formats.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

// Layers as 31B has them: windows of 256 numbers a head, and 512 of which RoPE rotates 128.
ModelState layers(int32_t joined) {
  ModelState state;
  state.layers.push_back({StateKind::window, 16, 256, 0, 0});
  state.layers.push_back({StateKind::paged, 4, 512, 1, joined});
  return state;
}

KvFormats codes(bool windows) { return {DType::i8, windows ? DType::i8 : DType::bf16}; }

kernels::Limits device() {
  kernels::Limits limits;
  limits.codes = true;
  limits.codes_apart = false;
  limits.joined_head = 512;
  limits.joined_rotated = 128;
  return limits;
}

TEST(KvFormats, ABackendWithCodesOfJoinedHeadsTakesThoseAndSaysWhatElseItFound) {
  EXPECT_TRUE(check_formats(codes(false), layers(128), device()).ok());
  const Status windows = check_formats(codes(true), layers(128), device());
  ASSERT_FALSE(windows.ok());
  EXPECT_NE(windows.error().message.find("heads of 512 numbers; found heads of 256"), std::string::npos)
      << windows.error().message;
  EXPECT_FALSE(check_formats(codes(false), layers(0), device()).ok());
}

TEST(KvFormats, WhereNotJoinedIsAllowedCodesNeedBlocksOfAPowerOfTwo) {
  kernels::Limits limits;
  limits.codes = true;
  EXPECT_TRUE(check_formats(codes(true), layers(0), limits).ok());
  ModelState odd = layers(0);
  odd.layers[1].head_dim = 160;
  EXPECT_FALSE(check_formats(codes(false), odd, limits).ok());
  limits.codes = false;
  EXPECT_FALSE(check_formats(codes(false), layers(0), limits).ok());
}

}  // namespace
}  // namespace paceline
