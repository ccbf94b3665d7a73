// Gated DeltaNet: every table against plain sums in float64; and the same bits whatever the rows of a call, what is
// taken back, the threads and the company.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

std::vector<float> random_floats(size_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// A layer's weights, and a text's inputs.
struct DeltaLayer {
  DeltaLayer(const DeltaShape& s, int32_t rows_in)
      : shape(s),
        rows(rows_in),
        u(random_floats(size_of(s.channels()), 1)),
        z(random_floats(size_of(s.values()), 2)),
        a(random_floats(size_of(s.value_heads), 3)),
        b(random_floats(size_of(s.value_heads), 4)),
        taps(random_floats(static_cast<size_t>(s.kernel) * static_cast<size_t>(s.channels()), 5, 0.5f)),
        rate(random_floats(static_cast<size_t>(s.value_heads), 6)),
        bias(random_floats(static_cast<size_t>(s.value_heads), 7)),
        weight(random_floats(static_cast<size_t>(s.value_dim), 8)) {
    for (float& r : rate) r = -std::exp(r);
  }
  [[nodiscard]] size_t size_of(int32_t width) const { return static_cast<size_t>(rows) * static_cast<size_t>(width); }

  DeltaShape shape;
  int32_t rows;
  std::vector<float> u, z, a, b, taps, rate, bias, weight;
};

double silu_of(double x) { return x / (1.0 + std::exp(-x)); }

// out [rows, values], as the formulas have it.
std::vector<double> reference(const DeltaLayer& l) {
  const DeltaShape& s = l.shape;
  const int64_t C = s.channels(), V = s.values();
  std::vector<double> state(static_cast<size_t>(s.value_heads * s.head_floats()), 0.0), out;
  for (int64_t t = 0; t < l.rows; ++t) {
    std::vector<double> y(static_cast<size_t>(C), 0.0);
    for (int64_t c = 0; c < C; ++c) {
      for (int64_t j = 0; j < s.kernel; ++j)
        if (t - s.kernel + 1 + j >= 0)
          y[c] += static_cast<double>(l.taps[j * C + c]) * static_cast<double>(l.u[(t - s.kernel + 1 + j) * C + c]);
      y[c] = silu_of(y[c]);
    }
    for (int64_t h = 0; h < 2 * s.key_heads; ++h) {
      double sum = 1e-6;
      for (int64_t i = 0; i < s.key_dim; ++i) sum += y[h * s.key_dim + i] * y[h * s.key_dim + i];
      const double scale = (h < s.key_heads ? 1.0 / std::sqrt(s.key_dim) : 1.0) / std::sqrt(sum);
      for (int64_t i = 0; i < s.key_dim; ++i) y[h * s.key_dim + i] *= scale;
    }
    for (int64_t h = 0; h < s.value_heads; ++h) {
      const double* q = &y[(s.dealt ? h % s.key_heads : h / (s.value_heads / s.key_heads)) * s.key_dim];
      const double *k = q + s.keys(), *v = &y[2 * s.keys() + h * s.value_dim];
      const double gate = static_cast<double>(l.a[t * s.value_heads + h]) + static_cast<double>(l.bias[h]);
      const double decay = std::exp(static_cast<double>(l.rate[h]) * std::log1p(std::exp(gate)));
      const double beta = 1.0 / (1.0 + std::exp(-static_cast<double>(l.b[t * s.value_heads + h])));
      double* S = &state[h * s.head_floats()];
      std::vector<double> o(static_cast<size_t>(s.value_dim), 0.0);
      double squares = 0;
      for (int64_t c = 0; c < s.value_dim; ++c) {
        double seen = 0;
        for (int64_t i = 0; i < s.key_dim; ++i) seen += (S[i * s.value_dim + c] *= decay) * k[i];
        const double d = beta * (v[c] - seen);
        for (int64_t i = 0; i < s.key_dim; ++i) o[c] += (S[i * s.value_dim + c] += k[i] * d) * q[i];
        squares += o[c] * o[c];
      }
      for (int64_t c = 0; c < s.value_dim; ++c)
        out.push_back(o[c] / std::sqrt(squares / s.value_dim + 1e-6) * static_cast<double>(l.weight[c]) *
                      silu_of(static_cast<double>(l.z[t * V + h * s.value_dim + c])));
    }
  }
  return out;
}

// So many rows, of which the last ones are drafts; of those some stay.
struct Round {
  int32_t rows = 1, drafts = 0, stay = 0;
};

// What one sequence remembers: units in a memory of its own, in no order, and where it stands.
class Remembered {
 public:
  explicit Remembered(const DeltaShape& shape) : shape_(shape) {
    const auto floats =
        static_cast<size_t>(std::max({shape.head_floats(), shape.recent_floats(), shape.row_floats()}) + 15) / 16 * 16;
    const int32_t state_units = shape.value_heads + 1;
    units_ = state_units + 2 * kTapeRows;
    memory_.assign(static_cast<size_t>(units_) * floats, 0.0f);
    for (int32_t i = 0; i < state_units; ++i) {
      state_.push_back((i * 7 + 3) % state_units);
      heads_.push_back({i, 0});
    }
    for (int32_t i = 0; i < 2 * kTapeRows; ++i) tape_.push_back(state_units + i);
    places_ = {reinterpret_cast<std::byte*>(memory_.data()),
               static_cast<int64_t>(floats * sizeof(float)),
               heads_.data(),
               heads_.back(),
               {0, 0},
               1};
  }
  Remembered(const Remembered&) = delete;
  Remembered& operator=(const Remembered&) = delete;

  DeltaSpan span(const Round& round) const {
    DeltaSpan span;
    span.count = round.rows;
    span.certain = round.rows - round.drafts;
    span.replayed = kept_;
    span.state = state_.data();
    span.kept = tape_.data() + side_ * kTapeRows;
    span.keeps = tape_.data() + (1 - side_) * kTapeRows;
    return span;
  }
  void ran(const Round& round) {
    side_ = 1 - side_;
    kept_ = round.stay;
  }
  [[nodiscard]] const DeltaPlaces& places() const { return places_; }
  // What of it is the state's.
  [[nodiscard]] std::vector<float> state() const {
    std::vector<float> all;
    for (const StatePlace& place : heads_) {
      const float* at = places_.at(state_.data(), place);
      all.insert(all.end(), at, at + (&place == &heads_.back() ? shape_.recent_floats() : shape_.head_floats()));
    }
    return all;
  }

 private:
  static constexpr int32_t kTapeRows = 16;
  DeltaShape shape_;
  int32_t units_ = 0, side_ = 0, kept_ = 0;
  std::vector<float> memory_;
  std::vector<int32_t> state_, tape_;
  std::vector<StatePlace> heads_;
  DeltaPlaces places_;
};

struct Ran {
  std::vector<float> out;    // of rows that stayed
  std::vector<float> state;  // behind the last certain one
};

// The text in rounds; what is taken back is run again.
Ran run(CpuOps& ops, const DeltaLayer& l, std::span<const Round> rounds) {
  const DeltaShape& s = l.shape;
  Remembered memory(s);
  Ran ran;
  int64_t at = 0;
  for (const Round& round : rounds) {
    std::vector<float> z(l.z.begin() + at * s.values(), l.z.begin() + (at + round.rows) * s.values());
    std::vector<float> y(static_cast<size_t>(round.rows) * static_cast<size_t>(s.channels())), o(z.size());
    DeltaArgs args;
    args.shape = s;
    args.places = memory.places();
    args.u = l.u.data() + at * s.channels();
    args.a = l.a.data() + at * s.value_heads;
    args.b = l.b.data() + at * s.value_heads;
    args.z = z.data();
    args.taps = l.taps.data();
    args.rate = l.rate.data();
    args.bias = l.bias.data();
    args.weight = l.weight.data();
    args.eps = 1e-6f;
    args.y = y.data();
    args.o = o.data();
    args.rows = round.rows;
    const DeltaSpan span = memory.span(round);
    args.seqs = {&span, 1};
    ops.delta(args);
    memory.ran(round);
    const int32_t stay = round.rows - round.drafts + round.stay;
    ran.out.insert(ran.out.end(), z.begin(), z.begin() + int64_t{stay} * s.values());
    at += stay;
  }
  ran.state = memory.state();
  return ran;
}

class DeltaTest : public testing::TestWithParam<const CpuTable*> {
 protected:
  DeltaTest() : pool_(1), two_(2), ops_(*GetParam(), pool_), threaded_(*GetParam(), two_) {}

  ThreadPool pool_, two_;
  CpuOps ops_, threaded_;
};

constexpr DeltaShape kShapes[] = {
    {2, 4, 16, 16, 4}, {1, 3, 128, 128, 4}, {2, 2, 24, 20, 3}, {1, 1, 1, 1, 2}, {3, 9, 24, 20, 3, true}};

TEST_P(DeltaTest, IsWhatTheFormulasSay) {
  for (const DeltaShape& shape : kShapes) {
    const DeltaLayer layer(shape, 40);
    const std::vector<double> expected = reference(layer);
    const Round all{40};
    const Ran ran = run(ops_, layer, {&all, 1});
    ASSERT_EQ(ran.out.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(static_cast<double>(ran.out[i]), expected[i], 2e-4 * (1.0 + std::abs(expected[i])))
          << "heads of " << shape.key_dim << ", " << i;
  }
}

TEST_P(DeltaTest, BitsDoNotDependOnRounds) {
  for (const DeltaShape& shape : kShapes) {
    const DeltaLayer layer(shape, 60);
    const Round all{30};
    const Ran plain = run(ops_, layer, {&all, 1});
    const std::vector<Round> ways[] = {
        std::vector<Round>(30, Round{}),
        {{7}, {1}, {22}},
        // Drafts that all stay, some, and none; a row of its own, or many, behind those that stay.
        {{10}, {4, 3, 3}, {4, 3, 1}, {1}, {6, 5, 0}, {3, 2, 2}, {5, 0, 0}, {2, 1, 0}, {1}, {2}},
        {{1}, {16, 15, 13}, {16, 15, 13}, {1}},
    };
    for (const std::vector<Round>& rounds : ways) {
      for (CpuOps* ops : {&ops_, &threaded_}) {
        const Ran ran = run(*ops, layer, rounds);
        ASSERT_EQ(ran.out, plain.out);
        ASSERT_EQ(ran.state, plain.state);
      }
    }
  }
}

TEST_P(DeltaTest, BitsDoNotDependOnCompany) {
  const DeltaShape shape = kShapes[0];
  const DeltaLayer layer(shape, 12);
  const Round all{12};
  const Ran alone = run(ops_, layer, {&all, 1});
  // The same text twice, as two sequences of one call.
  const Remembered memory(shape);
  std::vector<float> z = layer.z, u = layer.u, a = layer.a, b = layer.b;
  for (auto* twice : {&z, &u, &a, &b})
    twice->insert(twice->end(), twice->begin(), twice->begin() + static_cast<int64_t>(twice->size()));
  std::vector<float> y(u.size()), o(z.size());
  // One memory holds both states: the second's lies behind the first's.
  DeltaArgs args;
  args.shape = shape;
  args.places = memory.places();
  args.u = u.data();
  args.a = a.data();
  args.b = b.data();
  args.z = z.data();
  args.taps = layer.taps.data();
  args.rate = layer.rate.data();
  args.bias = layer.bias.data();
  args.weight = layer.weight.data();
  args.eps = 1e-6f;
  args.y = y.data();
  args.o = o.data();
  args.rows = 24;
  DeltaSpan spans[2] = {memory.span(all), memory.span(all)};
  std::vector<int32_t> tape_units(static_cast<size_t>(shape.value_heads) + 1);
  std::iota(tape_units.begin(), tape_units.end(), shape.value_heads + 1);
  spans[1].state = tape_units.data();
  spans[1].first_row = 12;
  args.seqs = spans;
  threaded_.delta(args);
  const auto half = static_cast<int64_t>(alone.out.size());
  EXPECT_EQ(std::vector<float>(z.begin(), z.begin() + half), alone.out);
  EXPECT_EQ(std::vector<float>(z.begin() + half, z.end()), alone.out);
}

TEST_P(DeltaTest, GatesBySigmoid) {
  const std::vector<float> x = random_floats(3 * 37, 11), gate = random_floats(3 * 37, 12, 4.0f);
  std::vector<float> each = x, rows = x;
  ops_.sigmoid_mul({each.data(), gate.data(), 3, 37, false});
  ops_.sigmoid_mul({rows.data(), gate.data(), 3, 37, true});
  const auto sigmoid = [](float g) { return 1.0 / (1.0 + std::exp(-static_cast<double>(g))); };
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(each[i]), static_cast<double>(x[i]) * sigmoid(gate[i]), 1e-6);
    EXPECT_NEAR(static_cast<double>(rows[i]), static_cast<double>(x[i]) * sigmoid(gate[i / 37]), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeltaTest, testing::ValuesIn(cpu_tables()), [](const auto& table) {
  std::string name = table.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace paceline::kernels
