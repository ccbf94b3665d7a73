// Router and experts against a plain computation in double, and their rows' bits alone and in company.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "kernels/cpu_ops.h"
#include "kernels/portable/matmul.h"
#include "kernels/random_matrix.h"

namespace paceline::kernels {
namespace {

using Doubles = std::vector<double>;

// W x with the weights widened.
Doubles product(const Matrix& w, const Doubles& x) {
  Doubles y(static_cast<size_t>(w.rows), 0.0);
  std::vector<float> weights(static_cast<size_t>(w.cols));
  for (int32_t n = 0; n < w.rows; ++n) {
    portable::dequantise(w, n, 1.0f, weights.data());
    for (size_t k = 0; k < weights.size(); ++k) y[static_cast<size_t>(n)] += static_cast<double>(weights[k]) * x[k];
  }
  return y;
}

double through(GateFunction function, double x) {
  if (function == GateFunction::silu) return x / (1 + std::exp(-x));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

struct Chosen {
  std::vector<int32_t> experts;
  std::vector<float> shares;
};

class ExpertsTest : public testing::TestWithParam<const CpuTable*> {
 protected:
  static constexpr int32_t kRows = 23, kExperts = 9, kTop = 3, kHidden = 96, kWidth = 64;

  [[nodiscard]] const float* row_of(int32_t row) const { return x_.data() + static_cast<int64_t>(row) * kHidden; }
  [[nodiscard]] Doubles wide_row(int32_t row) const { return {row_of(row), row_of(row) + kHidden}; }

  Chosen route(int32_t first, int32_t rows) {
    Chosen out{std::vector<int32_t>(static_cast<size_t>(rows * kTop), -1),
               std::vector<float>(static_cast<size_t>(rows * kTop), NAN)};
    std::vector<float> scores(static_cast<size_t>(rows * kExperts));
    ops_.route({&router_.view, row_of(first), expert_scale_.data(), rows, kTop, scores.data(), out.experts.data(),
                out.shares.data()});
    return out;
  }

  static MatrixStack stack_of(const RandomMatrix& all, int32_t rows) {
    return {all.view.row_slice(0, rows), kExperts, rows};
  }

  struct Stacks {
    RandomMatrix gate, up, down;
    Stacks(WeightFormat format, std::mt19937& random)
        : gate(format, kExperts * kWidth, kHidden, 32, DType::bf16, random),
          up(format, kExperts * kWidth, kHidden, 32, DType::bf16, random),
          down(format, kExperts * kHidden, kWidth, 32, DType::bf16, random) {}
  };

  std::vector<float> run(CpuOps& ops, const Stacks& stacks, const Chosen& chosen, int32_t first, int32_t rows,
                         Activation activation, GateFunction function = GateFunction::gelu) {
    std::vector<std::shared_ptr<const void>> owners;
    const MatrixStack gate = ops.place(stack_of(stacks.gate, kWidth), owners),
                      up = ops.place(stack_of(stacks.up, kWidth), owners);
    const MatrixStack down = ops.place(stack_of(stacks.down, kHidden), owners);
    std::vector<float> y(static_cast<size_t>(rows * kHidden), NAN);
    ops.experts({&gate, &up, &down, row_of(first), chosen.experts.data() + first * kTop,
                 chosen.shares.data() + first * kTop, rows, kTop, y.data(), function},
                activation);
    return y;
  }

  static Doubles want(const Stacks& stacks, const Doubles& x, const int32_t* experts, const float* shares,
                      GateFunction function) {
    Doubles y(kHidden, 0.0);
    for (int32_t rank = 0; rank < kTop; ++rank) {
      Doubles inner = product(stack_of(stacks.gate, kWidth).at(experts[rank]), x);
      const Doubles up = product(stack_of(stacks.up, kWidth).at(experts[rank]), x);
      for (size_t i = 0; i < inner.size(); ++i) inner[i] = through(function, inner[i]) * up[i];
      const Doubles out = product(stack_of(stacks.down, kHidden).at(experts[rank]), inner);
      for (size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(shares[rank]) * out[i];
    }
    return y;
  }

  std::mt19937 random_{9};
  ThreadPool pool_{1};
  CpuOps ops_{*GetParam(), pool_};
  RandomMatrix router_{WeightFormat::bf16, kExperts, kHidden, 0, DType::bf16, random_};
  std::vector<float> x_ = random_rows(kRows, kHidden, random_);
  std::vector<float> expert_scale_ = random_rows(1, kExperts, random_);
};

TEST_P(ExpertsTest, RouteTakesTheBest) {
  const Chosen got = route(0, kRows);
  for (int32_t r = 0; r < kRows; ++r) {
    const Doubles scores = product(router_.view, wide_row(r));
    std::vector<int32_t> order(kExperts);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int32_t a, int32_t b) { return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)]; });
    double sum = 0;
    for (int32_t rank = 0; rank < kTop; ++rank)
      sum += std::exp(scores[static_cast<size_t>(order[static_cast<size_t>(rank)])]);
    for (int32_t rank = 0; rank < kTop; ++rank) {
      const auto at = static_cast<size_t>(r * kTop + rank),
                 best = static_cast<size_t>(order[static_cast<size_t>(rank)]);
      ASSERT_EQ(got.experts[at], order[static_cast<size_t>(rank)]) << "row " << r << " rank " << rank;
      const double share = std::exp(scores[best]) / sum * static_cast<double>(expert_scale_[best]);
      ASSERT_NEAR(static_cast<double>(got.shares[at]), share, 1e-5) << "row " << r << " rank " << rank;
    }
  }
}

TEST_P(ExpertsTest, RouteDoesNotDependOnCompany) {
  const Chosen all = route(0, kRows);
  for (int32_t r = 0; r < kRows; ++r) {
    const Chosen alone = route(r, 1);
    for (size_t rank = 0; rank < kTop; ++rank)
      ASSERT_EQ(alone.experts[rank], all.experts[static_cast<size_t>(r) * kTop + rank]);
    ASSERT_EQ(0, std::memcmp(alone.shares.data(), all.shares.data() + r * kTop, kTop * sizeof(float)));
  }
}

TEST_P(ExpertsTest, SumOfTheChosen) {
  const Chosen chosen = route(0, kRows);
  const struct {
    WeightFormat format;
    Activation activation;
    double tolerance;  // of outputs about 1: float32's rounding; bf16's, 2^-9 of each factor; of 8 bits, 1/254 of the
                       // largest
  } cases[] = {{WeightFormat::bf16, Activation::f32, 2e-5},
               {WeightFormat::f32, Activation::f32, 2e-5},
               {WeightFormat::bf16, Activation::bf16, 0.05},
               {WeightFormat::q8, Activation::bf16, 0.1},
               {WeightFormat::q4, Activation::bf16, 0.1}};
  for (const auto& c : cases) {
    const Stacks stacks(c.format, random_);
    const GateFunction function = &c == cases ? GateFunction::silu : GateFunction::gelu;
    const std::vector<float> got = run(ops_, stacks, chosen, 0, kRows, c.activation, function);
    for (int32_t r = 0; r < kRows; ++r) {
      const Doubles y =
          want(stacks, wide_row(r), chosen.experts.data() + r * kTop, chosen.shares.data() + r * kTop, function);
      double largest = 1;
      for (const double v : y) largest = std::max(largest, std::fabs(v));
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(static_cast<double>(got[static_cast<size_t>(r) * kHidden + i]), y[i], c.tolerance * largest)
            << weight_format_name(c.format) << " row " << r << " element " << i;
    }
  }
}

// The end of a layer: each of its norms is there where it has a weight.
TEST_P(ExpertsTest, MixtureHasTheNormsThatHaveWeights) {
  const Chosen chosen = route(0, kRows);
  const Stacks stacks(WeightFormat::f32, random_);
  const RandomMatrix gate(WeightFormat::f32, kWidth, kHidden, 0, DType::bf16, random_);
  const RandomMatrix up(WeightFormat::f32, kWidth, kHidden, 0, DType::bf16, random_);
  const RandomMatrix down(WeightFormat::f32, kHidden, kWidth, 0, DType::bf16, random_);
  const std::vector<float> weights = random_rows(3, kHidden, random_), before = random_rows(kRows, kHidden, random_);
  const MatrixStack all[3] = {stack_of(stacks.gate, kWidth), stack_of(stacks.up, kWidth),
                              stack_of(stacks.down, kHidden)};
  const auto normed = [](Doubles x, const float* weight) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    for (size_t i = 0; i < x.size() && weight != nullptr; ++i)
      x[i] *= static_cast<double>(weight[i]) / std::sqrt(squares / kHidden + 1e-6);
    return x;
  };
  for (int which = 0; which < 8; ++which) {
    const auto weight = [&](int i) { return which >> i & 1 ? weights.data() + i * kHidden : nullptr; };
    std::vector<float> x = before, wide(kRows * kWidth), dense(kRows * kHidden), y(kRows * kHidden);
    MixtureArgs args;
    args.gate = &gate.view;
    args.up = &up.view;
    args.down = &down.view;
    args.x = x_.data();
    args.wide = wide.data();
    args.dense = dense.data();
    args.experts = {&all[0], &all[1], &all[2],  x_.data(),         chosen.experts.data(), chosen.shares.data(),
                    kRows,   kTop,    y.data(), GateFunction::silu};
    args.dense_weight = weight(0);
    args.expert_weight = weight(1);
    args.add = {x.data(), dense.data(), weight(2), kRows, kHidden, 1e-6f, 0.5f};
    ops_.mixture(args, Activation::f32);
    for (int32_t r = 0; r < kRows; ++r) {
      Doubles inner = product(gate.view, wide_row(r));
      const Doubles by = product(up.view, wide_row(r));
      for (size_t i = 0; i < inner.size(); ++i) inner[i] = through(GateFunction::silu, inner[i]) * by[i];
      Doubles sum = normed(product(down.view, inner), weight(0));
      const Doubles mixed = normed(want(stacks, wide_row(r), chosen.experts.data() + r * kTop,
                                        chosen.shares.data() + r * kTop, GateFunction::silu),
                                   weight(1));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += mixed[i];
      sum = normed(sum, weight(2));
      for (size_t i = 0; i < sum.size(); ++i) {
        const auto at = static_cast<size_t>(r) * kHidden + i;
        const double value = (static_cast<double>(before[at]) + sum[i]) * 0.5;
        ASSERT_NEAR(static_cast<double>(x[at]), value, 5e-5 * std::max(1.0, std::fabs(value)))
            << "norms " << which << " row " << r << " element " << i;
      }
    }
  }
}

TEST_P(ExpertsTest, RowsDoNotDependOnTheirCompany) {
  const Chosen chosen = route(0, kRows);
  ThreadPool pool(3);
  CpuOps threaded(*GetParam(), pool);
  for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::f32, WeightFormat::q8, WeightFormat::q4})
    for (const Activation activation : {Activation::f32, Activation::bf16}) {
      const Stacks stacks(format, random_);
      const std::vector<float> all = run(ops_, stacks, chosen, 0, kRows, activation);
      const std::vector<float> again = run(threaded, stacks, chosen, 0, kRows, activation);
      ASSERT_EQ(0, std::memcmp(all.data(), again.data(), all.size() * sizeof(float))) << "three threads";
      for (const int32_t width : {1, 2, 5, 8})
        for (int32_t first = 0; first < kRows; first += width) {
          const std::vector<float> some = run(ops_, stacks, chosen, first, std::min(width, kRows - first), activation);
          ASSERT_EQ(0, std::memcmp(some.data(), all.data() + static_cast<int64_t>(first) * kHidden,
                                   some.size() * sizeof(float)))
              << weight_format_name(format) << " rows " << first << " by " << width;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Tables, ExpertsTest, testing::ValuesIn(cpu_tables()), [](const auto& run) {
  std::string name = run.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace paceline::kernels
