// Products and experts: against the portable ones, and a row's bits alone, in company, at any place.
#include <algorithm>

#include "kernels_check.h"

namespace paceline::gpu {

using kernels::Projection;
using kernels::random_rows;
using kernels::RandomMatrix;

namespace {

// In how many ways the same rows are run: where they begin and how many at once.
struct Cut {
  int32_t first, count;
};

std::vector<Cut> cuts_of(int32_t rows) {
  std::vector<Cut> cuts;
  for (const int32_t count : {1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 64, 90, 100, 128, 129, 150})
    for (const int32_t first : {0, 3, 11, rows - count})
      if (first >= 0 && first + count <= rows) cuts.push_back({first, count});
  return cuts;
}

std::string name_of(const Case& c, int32_t n, int32_t k) {
  return std::string(c.name) + " [" + std::to_string(n) + ", " + std::to_string(k) + "]";
}

// None: a product without a gate.
using Gate = std::optional<kernels::GateFunction>;
constexpr Gate kGates[] = {std::nullopt, kernels::GateFunction::gelu, kernels::GateFunction::silu};

std::string name_of(Gate gate) { return !gate ? "" : *gate == kernels::GateFunction::gelu ? " gelu" : " silu"; }

// Row 1 has a value that is not a number: so are all of its outputs, and others' bits are what they are without it.
constexpr int32_t kStrayRow = 1;

std::vector<float> with_stray(std::vector<float> x, int32_t width) {
  x[static_cast<size_t>(kStrayRow * width + 5)] = NAN;
  return x;
}

void expect_stray(Backends& b, const std::string& name, const std::vector<float>& got,
                  const std::vector<float>& without, int32_t width) {
  const auto floats = static_cast<size_t>(width), begin = static_cast<size_t>(kStrayRow) * floats, end = begin + floats;
  const bool all = std::all_of(got.begin() + static_cast<int64_t>(begin), got.begin() + static_cast<int64_t>(end),
                               [](float v) { return std::isnan(v); });
  b.checks.expect(all, name + ": a row that is not a number");
  b.checks.expect(same_bits(got.data(), without.data(), begin) &&
                      same_bits(got.data() + end, without.data() + end, got.size() - end),
                  name + ": " + std::to_string(got.size() / floats) + " rows, one of them not a number");
}

}  // namespace

std::vector<Case> block_cases() {
  std::vector<Case> cases;
  for (int f = static_cast<int>(WeightFormat::q8_0); f <= static_cast<int>(WeightFormat::iq4_xs); ++f) {
    const auto format = static_cast<WeightFormat>(f);
    if (format == WeightFormat::nvfp4_split) continue;
    for (const Activation activation : {Activation::bf16, Activation::f32})
      cases.push_back({format, activation, block_shape(format).group, DType::bf16, weight_format_name(format)});
  }
  return cases;
}

std::vector<Case> chunk_cases() {
  std::vector<Case> cases;
  for (const WeightFormat format : {WeightFormat::f8, WeightFormat::nvfp4_split})
    for (const Activation activation : {Activation::bf16, Activation::f32})
      cases.push_back(
          {format, activation, format == WeightFormat::f8 ? 0 : 16, DType::bf16, weight_format_name(format)});
  return cases;
}

std::vector<double> give_factors(Matrix& m, std::mt19937& random) {
  std::vector<double> factors;
  if (m.format != WeightFormat::f8 && m.format != WeightFormat::nvfp4_split) return factors;
  for (int32_t row = 0; row < m.rows; ++row) factors.push_back(1e-4 * (1 + static_cast<double>(random() % 1000)));
  m.factors = factors.data();
  return factors;
}

namespace {

// So that bytes are made of them without a doubt: a number halfway between two becomes either. Others are bf16's.
std::vector<float> steady_rows(int32_t rows, int32_t cols, const Case& c, std::mt19937& random) {
  std::vector<float> x = random_rows(rows, cols, random);
  if (c.format == WeightFormat::nvfp4_split)
    for (float& v : x) v = bf16_to_f32(f32_to_bf16(v));
  if (c.group == 0 || c.format == WeightFormat::nvfp4_split) return x;
  const int32_t group = c.group;
  for (auto from = x.begin(); from != x.end(); from += group) {
    const auto larger = [](float one, float other) { return std::abs(one) < std::abs(other); };
    const float step = std::abs(*std::max_element(from, from + group, larger)) / 127.0f;
    for (auto at = from; at != from + group; ++at) *at = std::round(*at / step) * step;
  }
  return x;
}

}  // namespace

void check_matmul(Backends& b, const Case& c, int32_t n, int32_t k, int32_t rows, bool oracle) {
  RandomMatrix w(c.format, n, k, c.group, c.scales, b.random);
  RandomMatrix up(c.format, n, k, c.group, c.scales, b.random);
  const std::vector<double> factors = give_factors(w.view, b.random), up_factors = give_factors(up.view, b.random);
  // The processor makes bytes of rows for nvfp4.
  const Activation of_oracle = c.format == WeightFormat::nvfp4_split ? Activation::f32 : c.activation;
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = b.gpu.place(w.view, owners), placed_up = b.gpu.place(up.view, owners);
  const std::vector<float> x = steady_rows(rows, k, c, b.random);
  const auto run = [&](int32_t first, int32_t count, Gate gate) {
    const Block in(b.gpu, rows_of(x, first, count, k)), out(b.gpu, static_cast<size_t>(count) * static_cast<size_t>(n));
    out.poison();
    if (gate) {
      b.gpu.gated(in.at(), count, c.activation, {&placed, &placed_up, out.at(), *gate});
    } else {
      const Projection to{&placed, out.at()};
      b.gpu.linear(in.at(), count, c.activation, {&to, 1});
    }
    return out.read();
  };
  for (const Gate gate : kGates) {
    const std::string name = name_of(c, n, k) + name_of(gate);
    const std::vector<float> whole = run(0, rows, gate);
    for (const Cut& cut : cuts_of(rows)) {
      const std::vector<float> some = run(cut.first, cut.count, gate);
      b.checks.expect(same_bits(some.data(), whole.data() + static_cast<int64_t>(cut.first) * n, some.size()),
                      name + ": rows " + std::to_string(cut.first) + " + " + std::to_string(cut.count) + " of " +
                          std::to_string(rows) + " have other bits");
    }
    if (!oracle) continue;
    const int32_t few = std::min(rows, 3);
    std::vector<float> want(static_cast<size_t>(few) * static_cast<size_t>(n));
    if (gate) {
      b.cpu.gated(x.data(), few, of_oracle, {&w.view, &up.view, want.data(), *gate});
    } else {
      const Projection to{&w.view, want.data()};
      b.cpu.linear(x.data(), few, of_oracle, {&to, 1});
    }
    const double off = distance(std::span(whole).first(want.size()), want);
    b.checks.expect(off < 3e-5, name + ": off by " + std::to_string(off * 1e6) + "e-6");
  }
}

void check_not_a_number(Backends& b, const Case& c) {
  constexpr int32_t kOutputs = 80, kWidth = 384;
  RandomMatrix w(c.format, kOutputs, kWidth, c.group, c.scales, b.random);
  RandomMatrix up(c.format, kOutputs, kWidth, c.group, c.scales, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = b.gpu.place(w.view, owners), placed_up = b.gpu.place(up.view, owners);
  for (const int32_t rows : {3, 20, 40}) {
    const std::vector<float> x = random_rows(rows, kWidth, b.random);
    const auto run = [&](const std::vector<float>& from, Gate gate) {
      const Block in(b.gpu, from), out(b.gpu, static_cast<size_t>(rows) * kOutputs);
      const Projection to{&placed, out.at()};
      if (gate)
        b.gpu.gated(in.at(), rows, c.activation, {&placed, &placed_up, out.at(), *gate});
      else
        b.gpu.linear(in.at(), rows, c.activation, {&to, 1});
      return out.read();
    };
    for (const Gate gate : kGates)
      expect_stray(b, name_of(c, kOutputs, kWidth) + name_of(gate), run(with_stray(x, kWidth), gate), run(x, gate),
                   kOutputs);
  }
}

void check_projections(Backends& b) {
  const int32_t k = 384;
  for (const int32_t rows : {6, 40, 100})
    for (const Case& c : kCases) {
      RandomMatrix q(c.format, 512, k, c.group, c.scales, b.random), v(c.format, 200, k, c.group, c.scales, b.random);
      RandomMatrix other(WeightFormat::bf16, 64, k, 0, DType::bf16, b.random);
      std::vector<std::shared_ptr<const void>> owners;
      const Matrix all[] = {b.gpu.place(q.view, owners), b.gpu.place(other.view, owners), b.gpu.place(v.view, owners)};
      const std::vector<float> x = random_rows(rows, k, b.random);
      const Block in(b.gpu, x);
      const Block y0(b.gpu, static_cast<size_t>(rows) * 512), y1(b.gpu, static_cast<size_t>(rows) * 64),
          y2(b.gpu, static_cast<size_t>(rows) * 200);
      const Projection together[] = {{&all[0], y0.at()}, {&all[1], y1.at()}, {&all[2], y2.at()}};
      b.gpu.linear(in.at(), rows, c.activation, together);
      const std::vector<float> got[] = {y0.read(), y1.read(), y2.read()};
      const Block* blocks[] = {&y0, &y1, &y2};
      for (int i = 0; i < 3; ++i) {
        blocks[i]->poison();
        b.gpu.linear(in.at(), rows, c.activation, {together + i, 1});
        const std::vector<float> alone = blocks[i]->read();
        b.checks.expect(same_bits(alone.data(), got[i].data(), alone.size()),
                        std::string(c.name) + ": products together");
      }
    }
}

void check_unlike_gates(Backends& b) {
  constexpr int32_t kOutputs = 80, kWidth = 512;
  const WeightFormat formats[][2] = {{WeightFormat::q8_0, WeightFormat::q4_1},
                                     {WeightFormat::q6_k, WeightFormat::q4_k},
                                     {WeightFormat::bf16, WeightFormat::q4_0}};
  for (const auto& [first, second] : formats) {
    const auto group = [](WeightFormat f) { return in_blocks(f) ? block_shape(f).group : 0; };
    RandomMatrix gate(first, kOutputs, kWidth, group(first), DType::bf16, b.random);
    RandomMatrix up(second, kOutputs, kWidth, group(second), DType::bf16, b.random);
    std::vector<std::shared_ptr<const void>> owners;
    const Matrix placed = b.gpu.place(gate.view, owners), placed_up = b.gpu.place(up.view, owners);
    const std::vector<float> x = steady_rows(40, kWidth, {second, Activation::bf16, 32, DType::bf16, ""}, b.random);
    for (const int32_t rows : {1, 5, 40}) {
      const Block in(b.gpu, rows_of(x, 0, rows, kWidth)), out(b.gpu, static_cast<size_t>(rows) * kOutputs);
      b.gpu.gated(in.at(), rows, Activation::bf16, {&placed, &placed_up, out.at()});
      std::vector<float> want(static_cast<size_t>(rows) * kOutputs);
      b.cpu.gated(x.data(), rows, Activation::bf16, {&gate.view, &up.view, want.data()});
      const double off = distance(out.read(), want);
      b.checks.expect(off < 2e-3, std::string(weight_format_name(first)) + " gates " + weight_format_name(second) +
                                      ": off by " + std::to_string(off * 1e6) + "e-6");
    }
  }
}

void check_experts(Backends& b, const Case& c, int32_t experts, int32_t top, int32_t hidden, int32_t width,
                   int32_t rows, WeightFormat down_format) {
  const bool unlike = down_format != WeightFormat::none;
  RandomMatrix gate_up(c.format, experts * 2 * width, hidden, c.group, c.scales, b.random);
  RandomMatrix down(unlike ? down_format : c.format, experts * hidden, width,
                    unlike ? block_shape(down_format).group : c.group, c.scales, b.random);
  const std::vector<double> factors = give_factors(gate_up.view, b.random),
                            down_factors = give_factors(down.view, b.random);
  RandomMatrix router(WeightFormat::bf16, experts, hidden, 0, DType::bf16, b.random);
  const MatrixStack gates{gate_up.view.row_slice(0, width), experts, 2 * width, 0};
  const MatrixStack ups{gate_up.view.row_slice(width, width), experts, 2 * width, 0};
  const MatrixStack downs{down.view.row_slice(0, hidden), experts, hidden, 0};
  std::vector<std::shared_ptr<const void>> owners;
  const MatrixStack g = b.gpu.place(gates, owners), u = b.gpu.place(ups, owners), d = b.gpu.place(downs, owners);
  const Matrix r = b.gpu.place(router.view, owners);
  const std::vector<float> x = random_rows(rows, hidden, b.random), scale = random_rows(1, experts, b.random);
  const auto run_rows = [&](Ops& ops, bool cpu, const std::vector<float>& from, bool divides = true) {
    const auto count = static_cast<int32_t>(from.size()) / hidden;
    const Block in(ops, from), es(ops, scale);
    const Block scores(ops, static_cast<size_t>(count * experts)), chosen(ops, static_cast<size_t>(count * top));
    const Block share(ops, static_cast<size_t>(count * top)),
        y(ops, static_cast<size_t>(count) * static_cast<size_t>(hidden));
    y.poison();
    auto* ids = reinterpret_cast<int32_t*>(chosen.at());
    ops.route({cpu ? &router.view : &r, in.at(), es.at(), count, top, scores.at(), ids, share.at(), divides});
    ops.experts({cpu ? &gates : &g, cpu ? &ups : &u, cpu ? &downs : &d, in.at(), ids, share.at(), count, top, y.at()},
                c.activation);
    return y.read();
  };
  const auto run = [&](Ops& ops, bool cpu, int32_t first, int32_t count) {
    return run_rows(ops, cpu, rows_of(x, first, count, hidden));
  };
  const std::string name = "experts " + name_of(c, width, hidden) + " " + std::to_string(top) + " of " +
                           std::to_string(experts) +
                           (unlike ? std::string(", then ") + weight_format_name(down_format) : "");
  const std::vector<float> whole = run(b.gpu, false, 0, rows);
  for (const Cut& cut : cuts_of(rows)) {
    const std::vector<float> some = run(b.gpu, false, cut.first, cut.count);
    b.checks.expect(same_bits(some.data(), whole.data() + static_cast<int64_t>(cut.first) * hidden, some.size()),
                    name + ": rows " + std::to_string(cut.first) + " + " + std::to_string(cut.count));
  }
  for (const int32_t count : {3, rows}) {
    const std::vector<float> some = rows_of(x, 0, count, hidden);
    expect_stray(b, name, run_rows(b.gpu, false, with_stray(some, hidden)), run_rows(b.gpu, false, some), hidden);
  }
  const std::vector<float> want = run(b.cpu, true, 0, 3);
  const double off = distance(std::span(whole).first(want.size()), want);
  // Middle rows are rounded to bf16 or bytes: a value on the edge may fall to the other side.
  b.checks.expect(off < 2e-3, name + ": off by " + std::to_string(off * 1e6) + "e-6");
  // Shares of all experts, in both forms of the router.
  for (const int32_t count : {3, rows}) {
    const std::vector<float> undivided = run_rows(b.gpu, false, rows_of(x, 0, count, hidden), false);
    const std::vector<float> three = run_rows(b.cpu, true, rows_of(x, 0, 3, hidden), false);
    const double away = distance(std::span(undivided).first(three.size()), three);
    b.checks.expect(away < 2e-3, name + ", undivided: off by " + std::to_string(away * 1e6) + "e-6");
  }
}

}  // namespace paceline::gpu
