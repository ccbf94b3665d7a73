#include "proof/golden_vision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/regular_file.h"
#include "media/decode.h"
#include "media/video.h"

namespace paceline {
namespace {

Result<Picture> frame_of(const GoldenFile::ByteValues& frames, int32_t number) {
  const auto& shape = frames.shape;
  if (shape.size() != 4 || shape[3] != 3)
    return Error{"golden.safetensors: frames should be [frames, height, width, 3]"};
  TRY(check_size(shape[2], shape[1], {}));
  if (number >= shape[0]) return Error{fmt::format("golden.json: frame {} of {}", number, shape[0])};
  Picture picture{static_cast<int32_t>(shape[2]), static_cast<int32_t>(shape[1]), {}};
  const auto size = static_cast<size_t>(shape[1] * shape[2] * 3);
  const auto begin = frames.values.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(number) * size);
  picture.rgb.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
  return picture;
}

}  // namespace

double largest_difference(const float* ours, std::span<const float> golden) {
  double largest = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const double difference = std::abs(static_cast<double>(ours[i]) - static_cast<double>(golden[i]));
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

Result<std::unique_ptr<GoldenVision>> GoldenVision::open(const std::filesystem::path& folder, const LoadedModel& model,
                                                         Precision precision, ThreadPool& pool, kernels::Ops& ops) {
  TRY_ASSIGN(auto weights, load_vision_weights(model.checkpoint, model.config.hidden, pool));
  return std::unique_ptr<GoldenVision>(new GoldenVision(folder, std::move(weights), ops, precision));
}

Result<Patches> GoldenVision::patches_of(const Picture& picture, int32_t budget) const {
  const VisionConfig& config = forward_.weights().config;
  TRY_ASSIGN(Patches patches, make_patches(picture, config.shape, config.side(), budget));
  TRY(forward_.check(patches));
  return patches;
}

Result<std::vector<float>> GoldenVision::image(const GoldenFile& golden, size_t i, VisionCheck& check) {
  const GoldenImage& image = golden.images()[i];
  TRY_ASSIGN(const std::string file, read_file(folder_ / image.file, PictureLimits{}.bytes));
  TRY_ASSIGN(const Picture picture, decode_picture({reinterpret_cast<const uint8_t*>(file.data()), file.size()}));
  TRY_ASSIGN(const Patches patches, patches_of(picture, image.budget));
  TRY_ASSIGN(const auto pixels, golden.bytes(fmt::format("image{}.patches_u8", i)));
  ++check.images;
  if (std::equal(pixels.values.begin(), pixels.values.end(), patches.values.begin(), patches.values.end()))
    ++check.patches_equal;
  const Patches* const one = &patches;
  std::vector<float> soft = std::move(forward_.run({&one, 1})[0]);
  TRY_ASSIGN(const auto features, golden.matrix(fmt::format("image{}.features", i)));
  if (features.values.size() != soft.size()) {
    return Error{fmt::format("golden.safetensors: image{}.features has {} values, the vision side gives {}", i,
                             features.values.size(), soft.size())};
  }
  check.feature_error = std::max(check.feature_error, largest_difference(soft.data(), features.values));
  return soft;
}

Result<std::vector<std::vector<float>>> GoldenVision::clip(const GoldenFile& golden, size_t i) {
  TRY_ASSIGN(const auto frames, golden.bytes(fmt::format("video{}.frames", i)));
  std::vector<Patches> shown;
  for (const int32_t number : golden.clips()[i].frames) {
    TRY_ASSIGN(const Picture picture, frame_of(frames, number));
    TRY_ASSIGN(Patches patches, patches_of(picture, kFrameBudget));
    shown.push_back(std::move(patches));
  }
  std::vector<const Patches*> all;
  for (const Patches& patches : shown) all.push_back(&patches);
  return forward_.run(all);
}

}  // namespace paceline
