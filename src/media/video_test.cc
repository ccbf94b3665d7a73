// Clips: which frames are shown and when, their pixels to the bit, and what is refused.
#include "media/video.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "media/clips_for_tests.h"
#include "media/refusal_codes.h"

namespace paceline {
namespace {

using testing::HasSubstr;

// What the frame is without any file in between.
Patches patches_of(const Picture& frame) { return *make_patches(frame, {}, 16, kFrameBudget); }

FrameWishes wishes_for(int32_t frames) {
  FrameWishes wishes;
  wishes.frames = frames;
  return wishes;
}

void expect_frames(const Clip& clip, const std::vector<Picture>& frames, const std::vector<int64_t>& numbers,
                   double rate) {
  ASSERT_EQ(clip.frames.size(), numbers.size());
  EXPECT_EQ(clip.file_frames, static_cast<int64_t>(frames.size()));
  EXPECT_NEAR(clip.rate, rate, 1e-6);
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(clip.frames[i].number, numbers[i]);
    EXPECT_NEAR(clip.frames[i].seconds, static_cast<double>(numbers[i]) / rate, 1e-6);
    const Patches expected = patches_of(frames[static_cast<size_t>(numbers[i])]);
    EXPECT_EQ(clip.frames[i].patches->columns, expected.columns);
    EXPECT_TRUE(clip.frames[i].patches->values == expected.values) << "frame " << numbers[i];
  }
}

TEST(SampledFramesTest, AreEvenlySpreadFromTheFirst) {
  EXPECT_EQ(sampled_frames(10, 4), (std::vector<int64_t>{0, 2, 5, 7}));  // as in the goldens
  EXPECT_EQ(sampled_frames(3, 32), (std::vector<int64_t>{0, 1, 2}));
  const auto many = sampled_frames(1000, 32);
  ASSERT_EQ(many.size(), 32u);
  EXPECT_EQ(many.front(), 0);
  EXPECT_EQ(many[1], 31);
  EXPECT_EQ(many.back(), 968);
  EXPECT_TRUE(sampled_frames(0, 32).empty());
}

class LosslessClips : public testing::TestWithParam<ClipKind> {};

TEST_P(LosslessClips, ComeOutToTheBit) {
  const auto frames = test_frames(10, 120, 80);
  const Bytes file = encode_clip(GetParam(), frames);
  if (file.empty()) GTEST_SKIP() << "no encoder " << GetParam().codec;
  const auto clip = read_clip(file, wishes_for(4));
  ASSERT_TRUE(clip.ok()) << clip.error().message;
  expect_frames(*clip, frames, {0, 2, 5, 7}, 5);
}

// Many keys, and frames that refer to both sides: what is left out between them changes nothing.
TEST_P(LosslessClips, AreTheSameWhereMostIsNotDecoded) {
  const auto frames = test_frames(90, 64, 48);
  for (const int between : {0, 2}) {
    ClipKind kind = GetParam();
    kind.key_every = 7;
    kind.rate = 30;
    if (std::string(kind.codec) == "libx264rgb") kind.between = between;
    const Bytes file = encode_clip(kind, frames);
    if (file.empty()) GTEST_SKIP() << "no encoder " << kind.codec;
    const auto few = read_clip(file, wishes_for(3));
    ASSERT_TRUE(few.ok()) << few.error().message;
    expect_frames(*few, frames, {0, 30, 60}, 30);
    const auto all = read_clip(file, {});
    ASSERT_TRUE(all.ok()) << all.error().message;
    expect_frames(*all, frames, sampled_frames(90, 32), 30);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LosslessClips, testing::Values(ClipKind{}, lossless_h264(), lossless_vp9()),
                         [](const auto& kind) {
                           std::string name = std::string(kind.param.container) + "_" + kind.param.codec;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Colours at half resolution and with losses: close, and the same every time.
TEST(ClipTest, OrdinaryCodecsComeClose) {
  const std::vector<Picture> frames(6, test_picture(96, 96));
  for (const auto& [container, codec] :
       {std::pair{"mp4", "libx264"}, {"webm", "libvpx-vp9"}, {"mpegts", "libx264"}, {"mov", "mpeg4"}}) {
    const Bytes file = encode_clip({.container = container, .codec = codec, .layout = AV_PIX_FMT_YUV420P}, frames);
    if (file.empty()) continue;
    const auto clip = read_clip(file, {});
    ASSERT_TRUE(clip.ok()) << codec << ": " << clip.error().message;
    ASSERT_EQ(clip->frames.size(), 6u) << codec;
    const Patches expected = patches_of(frames[0]);
    const std::vector<uint8_t>& values = clip->frames[0].patches->values;
    ASSERT_EQ(values.size(), expected.values.size());
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += std::abs(values[i] - expected.values[i]);
    EXPECT_LT(sum / static_cast<double>(values.size()), 25) << codec;
    EXPECT_TRUE(read_clip(file, {})->frames[0].patches->values == values) << codec;
  }
}

TEST(ClipTest, ATurnedClipIsShownUpright) {
  const auto frames = test_frames(2, 120, 80);
  ClipKind kind = lossless_h264();
  kind.turned = 90;
  const Bytes file = encode_clip(kind, frames);
  if (file.empty()) GTEST_SKIP() << "no encoder";
  const auto clip = read_clip(file, {});
  ASSERT_TRUE(clip.ok()) << clip.error().message;
  Picture upright{80, 120, std::vector<uint8_t>(frames[0].rgb.size())};
  for (size_t y = 0; y < 80; ++y)
    for (size_t x = 0; x < 120; ++x)
      for (size_t c = 0; c < 3; ++c) upright.rgb[(x * 80 + (79 - y)) * 3 + c] = frames[0].rgb[(y * 120 + x) * 3 + c];
  EXPECT_TRUE(clip->frames[0].patches->values == patches_of(upright).values);
}

TEST(ClipTest, AnAnimationIsAClip) {
  std::vector<Picture> frames(3, Picture{48, 48, std::vector<uint8_t>(48 * 48 * 3, 0)});
  frames[1].rgb.assign(48 * 48 * 3, 255);
  const Bytes file = encode_clip({.container = "gif", .codec = "gif", .layout = AV_PIX_FMT_RGB8}, frames);
  const auto clip = read_clip(file, {});
  ASSERT_TRUE(clip.ok()) << clip.error().message;
  ASSERT_EQ(clip->frames.size(), 3u);
  EXPECT_EQ(clip->frames[0].patches->values[0], 0);
  EXPECT_GT(clip->frames[1].patches->values[0], 250);  // its palette has no purer white
}

TEST(ClipTest, WhatIsOverALimitIsRefusedWithBothNumbers) {
  const auto frames = test_frames(10, 120, 80);
  const Bytes file = encode_clip({}, frames);
  const auto error_of = [&](const ClipLimits& limits) { return read_clip(file, {}, limits).error().message; };
  EXPECT_THAT(error_of({.bytes = 100}), HasSubstr("at most 100 are read"));
  EXPECT_THAT(error_of({.pixels = 9599}), HasSubstr("120 × 80 = 9600 pixels; at most 9599"));
  EXPECT_THAT(error_of({.side = 100}), HasSubstr("a side may have at most 100"));
  EXPECT_THAT(error_of({.frames = 9}), HasSubstr("more than 9 frames"));
  EXPECT_THAT(error_of({.seconds = 1.5}), HasSubstr("lasts 2 s; at most 2"));
  EXPECT_THAT(error_of({.time = std::chrono::milliseconds(0)}), HasSubstr("longer than it may"));
  const auto just = read_clip(file, {}, {.pixels = 9600, .frames = 10, .seconds = 2});
  EXPECT_TRUE(just.ok()) << just.error().message;
}

TEST(ClipTest, ReasonsHaveAWordForPrograms) {
  Bytes file = encode_clip(lossless_h264(), test_frames(10, 120, 80));
  const auto code_of = [&](const ClipLimits& limits) { return std::string(read_clip(file, {}, limits).error().code); };
  EXPECT_EQ(code_of({.bytes = 100}), kTooLarge);
  EXPECT_EQ(code_of({.pixels = 9599}), kTooLarge);
  EXPECT_EQ(code_of({.frames = 9}), kTooLong);
  EXPECT_EQ(code_of({.seconds = 1.5}), kTooLong);
  EXPECT_EQ(code_of({.time = std::chrono::milliseconds(0)}), kTooSlow);
  std::fill(file.begin() + 48, file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2), uint8_t{0xff});
  EXPECT_EQ(code_of({}), kBroken);
  file.assign(1000, 'x');
  EXPECT_EQ(code_of({}), kUnknownFormat);
}

TEST(ClipTest, WhatIsNoClipIsAnErrorWithItsReason) {
  const Bytes nothing, text(1000, 'x');
  EXPECT_THAT(read_clip(nothing, {}).error().message, HasSubstr("expected a clip"));
  EXPECT_THAT(read_clip(text, {}).error().message, HasSubstr("expected a clip"));
  Bytes cut = encode_clip(lossless_h264(), test_frames(10, 120, 80));
  cut.resize(cut.size() / 2);
  EXPECT_FALSE(read_clip(cut, {}).ok());
}

// Nothing but the bytes is read, whatever they name.
TEST(ClipTest, OtherFilesAreNotRead) {
  for (const std::string list : {"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/hostname\n#EXT-X-ENDLIST\n",
                                 "ffconcat version 1.0\nfile /etc/hostname\n"}) {
    const Bytes file(list.begin(), list.end());
    EXPECT_THAT(read_clip(file, {}).error().message, HasSubstr("expected a clip"));
  }
}

}  // namespace
}  // namespace paceline
