#include "model/yarn.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weights/json_fields.h"

namespace paceline {
namespace {

double magnitude(double factor, double weight) { return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1; }

}  // namespace

Result<Yarn> read_yarn(const JsonFields& fields, int64_t context) {
  Yarn yarn;
  TRY_ASSIGN(yarn.factor, fields.number_or("factor", 1, 1, 1e6));
  TRY_ASSIGN(yarn.original_context,
             fields.number_or("original_max_position_embeddings", static_cast<double>(context), 1, 1e9));
  TRY_ASSIGN(yarn.beta_fast, fields.number_or("beta_fast", 32, 1e-6, 1e6));
  TRY_ASSIGN(yarn.beta_slow, fields.number_or("beta_slow", 1, 1e-6, 1e6));
  TRY_ASSIGN(yarn.truncate, fields.boolean_or("truncate", true));
  TRY_ASSIGN(const double part, fields.number_or("mscale", 0, 0, 1e6));
  TRY_ASSIGN(const double all, fields.number_or("mscale_all_dim", 0, 0, 1e6));
  const double otherwise =
      part > 0 && all > 0 ? magnitude(yarn.factor, part) / magnitude(yarn.factor, all) : magnitude(yarn.factor, 1);
  TRY_ASSIGN(yarn.attention_factor, fields.number_or("attention_factor", otherwise, 1e-6, 1e6));
  return yarn;
}

std::vector<float> rope_frequencies(double theta, int32_t head_dim, const std::optional<Yarn>& yarn) {
  std::vector<float> frequencies;
  double low = 0, high = 0;
  if (yarn) {
    // The pair that turns so many times within the original context.
    const auto pair_of = [&](double turns) {
      return head_dim * std::log(yarn->original_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
    };
    low = pair_of(yarn->beta_fast), high = pair_of(yarn->beta_slow);
    if (yarn->truncate) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, static_cast<double>(head_dim - 1));
    if (low == high) high += 0.001;
  }
  for (int32_t i = 0; i < head_dim / 2; ++i) {
    const double fast = 1.0 / std::pow(theta, 2.0 * i / head_dim);
    const double slow_share = yarn ? std::clamp((i - low) / (high - low), 0.0, 1.0) : 0.0;
    const double slow = yarn ? fast / yarn->factor : fast;
    frequencies.push_back(static_cast<float>(slow * slow_share + fast * (1 - slow_share)));
  }
  return frequencies;
}

}  // namespace paceline
