#include "media/resize.h"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

// Keys' cubic with a = -1/2, which reaches two pixels to either side.
constexpr double kReach = 2.0;

double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  return 0;
}

// For each output pixel: the input pixels it is mixed from, and how much of each in units of 2^-shift.
struct Mix {
  struct Part {
    int32_t first = 0, count = 0;
    size_t weights_at = 0;
  };
  std::vector<Part> parts;
  std::vector<int16_t> weights;
  int shift = 0;
};

// As many bits as the largest weight leaves in 16 with a sign.
int bits_for(double largest) {
  int bits = 0;
  while (bits < 22 && static_cast<int>(0.5 + largest * (1 << (bits + 1))) < 1 << 15) ++bits;
  return bits;
}

Mix mix_for(int32_t from, int32_t to) {
  const double scale = static_cast<double>(from) / to;
  const double stretch = std::max(scale, 1.0);
  const double inverse = scale >= 1.0 ? 1.0 / scale : 1.0;
  const double reach = kReach * stretch;
  Mix mix;
  std::vector<double> shares;
  double largest = 0;
  for (int32_t i = 0; i < to; ++i) {
    const double centre = scale * (i + 0.5);
    const auto first = std::max(static_cast<int32_t>(centre - reach + 0.5), 0);
    const auto end = std::min(static_cast<int32_t>(centre + reach + 0.5), from);
    mix.parts.push_back({first, end - first, shares.size()});
    double sum = 0;
    for (int32_t j = first; j < end; ++j) {
      shares.push_back(cubic((j - centre + 0.5) * inverse));
      sum += shares.back();
    }
    for (size_t j = mix.parts.back().weights_at; j < shares.size(); ++j) {
      if (sum != 0) shares[j] /= sum;
      largest = std::max(largest, shares[j]);
    }
  }
  mix.shift = bits_for(largest);
  for (const double share : shares)
    mix.weights.push_back(static_cast<int16_t>(share * (1 << mix.shift) + (share < 0 ? -0.5 : 0.5)));
  return mix;
}

uint8_t rounded(int32_t sum, int shift) { return static_cast<uint8_t>(std::clamp(sum >> shift, 0, 255)); }

// Along rows: [height, width, 3] to [height, to, 3].
std::vector<uint8_t> resize_rows(const Picture& picture, int32_t to) {
  const Mix mix = mix_for(picture.width, to);
  const auto in_row = static_cast<size_t>(picture.width) * 3;
  std::vector<uint8_t> out(static_cast<size_t>(picture.height) * static_cast<size_t>(to) * 3);
  uint8_t* next = out.data();
  for (int32_t y = 0; y < picture.height; ++y) {
    const uint8_t* row = picture.rgb.data() + static_cast<size_t>(y) * in_row;
    for (const Mix::Part& part : mix.parts) {
      const int16_t* weights = mix.weights.data() + part.weights_at;
      const uint8_t* in = row + static_cast<size_t>(part.first) * 3;
      int32_t red = 1 << (mix.shift - 1), green = red, blue = red;
      for (int32_t j = 0; j < part.count; ++j, in += 3) {
        red += weights[j] * in[0];
        green += weights[j] * in[1];
        blue += weights[j] * in[2];
      }
      *next++ = rounded(red, mix.shift);
      *next++ = rounded(green, mix.shift);
      *next++ = rounded(blue, mix.shift);
    }
  }
  return out;
}

// Along columns: [height, row] to [to, row].
std::vector<uint8_t> resize_columns(const std::vector<uint8_t>& in, int32_t height, size_t row, int32_t to) {
  const Mix mix = mix_for(height, to);
  std::vector<uint8_t> out(static_cast<size_t>(to) * row);
  std::vector<int32_t> sums(row);
  uint8_t* next = out.data();
  for (const Mix::Part& part : mix.parts) {
    std::fill(sums.begin(), sums.end(), 1 << (mix.shift - 1));
    for (int32_t j = 0; j < part.count; ++j) {
      const int32_t weight = mix.weights[part.weights_at + static_cast<size_t>(j)];
      const uint8_t* line = in.data() + static_cast<size_t>(part.first + j) * row;
      for (size_t i = 0; i < row; ++i) sums[i] += weight * line[i];
    }
    for (size_t i = 0; i < row; ++i) next[i] = rounded(sums[i], mix.shift);
    next += row;
  }
  return out;
}

}  // namespace

Picture resized(const Picture& picture, int32_t width, int32_t height) {
  Picture out{width, height, {}};
  std::vector<uint8_t> wide;
  const std::vector<uint8_t>* rows = &picture.rgb;
  if (width != picture.width) {
    wide = resize_rows(picture, width);
    rows = &wide;
  }
  out.rgb =
      height == picture.height ? *rows : resize_columns(*rows, picture.height, static_cast<size_t>(width) * 3, height);
  return out;
}

}  // namespace paceline
