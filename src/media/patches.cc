#include "media/patches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "media/refusal_codes.h"
#include "media/resize.h"

namespace paceline {
namespace {

// Cuts [height, width, 3] into squares.
Patches cut(const Picture& picture, int32_t side, int32_t token_side) {
  Patches patches{side, picture.width / side, picture.height / side, {}, 0};
  patches.tokens = (picture.width / token_side) * (picture.height / token_side);
  patches.values.resize(picture.rgb.size());
  const size_t line = static_cast<size_t>(side) * 3, row = static_cast<size_t>(picture.width) * 3;
  uint8_t* out = patches.values.data();
  for (int32_t y = 0; y < patches.rows; ++y) {
    for (int32_t x = 0; x < patches.columns; ++x) {
      const uint8_t* in = picture.rgb.data() + static_cast<size_t>(y * side) * row + static_cast<size_t>(x) * line;
      for (int32_t i = 0; i < side; ++i, in += row, out += line) std::memcpy(out, in, line);
    }
  }
  return patches;
}

}  // namespace

bool is_budget(int64_t tokens) {
  return std::find(std::begin(kBudgets), std::end(kBudgets), tokens) != std::end(kBudgets);
}

Result<GridSize> grid_size(int32_t width, int32_t height, const PatchShape& shape, int32_t budget) {
  const int32_t side = shape.token_side();
  const double pixels = static_cast<double>(budget) * side * side;
  const double factor = std::sqrt(pixels / (static_cast<double>(width) * height));
  const auto whole_sides = [&](int32_t length) {
    return static_cast<int32_t>(std::floor(factor * length / side)) * side;
  };
  GridSize size{whole_sides(width), whole_sides(height)};
  // A strip: one token high or wide, and as long as its whole ratio says or the budget allows.
  if (size.height == 0) size = {std::min(width / height, budget) * side, side};
  if (size.width == 0) size = {side, std::min(height / width, budget) * side};
  if (size.width == 0 || size.height == 0 || static_cast<double>(size.width) * size.height > pixels) {
    return Error{fmt::format("a picture of {} × {} pixels does not fit into {} tokens", width, height, budget),
                 kTooLarge};
  }
  return size;
}

Result<Patches> make_patches(const Picture& picture, const PatchShape& shape, int32_t side, int32_t budget) {
  CHECK(side > 0 && shape.token_side() % side == 0);
  TRY_ASSIGN(const GridSize size, grid_size(picture.width, picture.height, shape, budget));
  if (size.width == picture.width && size.height == picture.height) return cut(picture, side, shape.token_side());
  return cut(resized(picture, size.width, size.height), side, shape.token_side());
}

}  // namespace paceline
