// A picture as the vision side takes it: resized to a grid of square patches that keeps the aspect ratio and fits the
// budget of soft tokens. Nothing of it depends on a model but the three numbers of PatchShape.
#pragma once

#include <vector>

#include "base/result.h"
#include "media/picture.h"

namespace paceline {

// What pictures may be given, in soft tokens.
inline constexpr int32_t kBudgets[] = {70, 140, 280, 560, 1120};
inline constexpr int32_t kDefaultBudget = 280;
bool is_budget(int64_t tokens);

struct PatchShape {
  int32_t patch = 16;  // pixels of a side
  int32_t pool = 3;    // a soft token stands for pool × pool patches

  [[nodiscard]] int32_t token_side() const { return patch * pool; }

  bool operator==(const PatchShape&) const = default;
};

struct GridSize {
  int32_t width = 0, height = 0;  // in pixels, multiples of token_side()
};

// The largest size with at most `budget` soft tokens; an error where the picture is too long for its breadth.
Result<GridSize> grid_size(int32_t width, int32_t height, const PatchShape& shape, int32_t budget);

// Squares of `side` pixels, row by row; inside of each row, column, channel.
struct Patches {
  int32_t side = 0;
  int32_t columns = 0, rows = 0;
  std::vector<uint8_t> values;  // [rows * columns, side * side * 3]
  int32_t tokens = 0;           // soft tokens that they become

  [[nodiscard]] int32_t count() const { return columns * rows; }
  [[nodiscard]] size_t patch_values() const { return static_cast<size_t>(side) * static_cast<size_t>(side) * 3; }
};

// side: of the patches, shape.patch or shape.token_side().
Result<Patches> make_patches(const Picture& picture, const PatchShape& shape, int32_t side, int32_t budget);

}  // namespace paceline
