// Operations that are several in one: norms of the same rows, a product with a gate, the end of a layer with experts.
#include <algorithm>
#include <numeric>

#include "kernels_check.h"

namespace paceline::gpu {
namespace {

using kernels::CpuOps;
using kernels::NormOutput;
using kernels::random_rows;
using kernels::RandomMatrix;

// Each way of running some of the rows gives the bits that they have among all: `run` puts [piece][count, width]
// behind each other.
template <class Run>
void check_cuts(Backends& b, const std::string& name, int32_t rows, const std::vector<int32_t>& widths,
                const Run& run) {
  const std::vector<float> whole = run(0, rows);
  for (const int32_t count : {1, 2, 7, 8, 9, 16, 17, 30})
    for (const int32_t first : {0, 3, rows - count}) {
      if (first < 0 || first + count > rows) continue;
      const std::vector<float> got = run(first, count);
      size_t at = 0, whole_at = 0;
      bool same = true;
      for (const int32_t width : widths) {
        const auto floats = static_cast<size_t>(count) * static_cast<size_t>(width);
        same =
            same && same_bits(got.data() + at, whole.data() + whole_at + static_cast<int64_t>(first) * width, floats);
        at += floats;
        whole_at += static_cast<size_t>(rows) * static_cast<size_t>(width);
      }
      b.checks.expect(same, name + ": rows " + std::to_string(first) + " + " + std::to_string(count));
    }
}

void check_norms(Backends& b, int32_t width, int32_t rows) {
  const std::vector<float> x = random_rows(rows, width, b.random), branch = random_rows(rows, width, b.random);
  const std::vector<float> w[4] = {random_rows(1, width, b.random), random_rows(1, width, b.random),
                                   random_rows(1, width, b.random), random_rows(1, width, b.random)};
  const auto run = [&](Ops& ops, bool joined, int32_t first, int32_t count) {
    const auto floats = static_cast<size_t>(count) * static_cast<size_t>(width);
    const Block gx(ops, rows_of(x, first, count, width)), gb(ops, rows_of(branch, first, count, width));
    const Block weights[4] = {{ops, w[0]}, {ops, w[1]}, {ops, w[2]}, {ops, w[3]}};
    const Block y[3] = {{ops, floats}, {ops, floats}, {ops, floats}};
    const NormOutput out[3] = {{weights[1].at(), y[0].at(), 0.3f}, {weights[2].at(), y[1].at()}, {nullptr, y[2].at()}};
    ops.add_norm({gx.at(), gb.at(), weights[0].at(), count, width, 1e-6f, 0.9f});
    if (joined)
      ops.rms_norms({gx.at(), count, width, 1e-6f, out});
    else
      for (const NormOutput& o : out) ops.rms_norm({gx.at(), o.weight, o.y, count, width, 1e-6f, o.scale});
    std::vector<float> all = gx.read();
    for (const Block& one : y) append(all, one.read());
    return all;
  };
  const std::string name = "three norms of " + std::to_string(width);
  check_cuts(b, name, rows, {width, width, width, width},
             [&](int32_t first, int32_t count) { return run(b.gpu, true, first, count); });
  const std::vector<float> got = run(b.gpu, true, 0, rows), apart = run(b.gpu, false, 0, rows);
  b.checks.expect(same_bits(got.data(), apart.data(), got.size()), name + ": together or apart");
  b.checks.expect(distance(got, run(b.cpu, true, 0, rows)) < 1e-6, name);
}

void check_gated_by(Backends& b, int32_t n, int32_t k, int32_t rows, kernels::GateFunction function) {
  RandomMatrix w(WeightFormat::bf16, n, k, 0, DType::bf16, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = b.gpu.place(w.view, owners);
  const int32_t stride = n * 3;
  const std::vector<float> x = random_rows(rows, k, b.random), times = random_rows(rows, stride, b.random);
  const auto run = [&](Ops& ops, const Matrix& matrix, int32_t first, int32_t count) {
    const Block in(ops, rows_of(x, first, count, k)), by(ops, rows_of(times, first, count, stride));
    const Block y(ops, static_cast<size_t>(count) * static_cast<size_t>(n));
    ops.gated_by(in.at(), Activation::bf16, matrix,
                 {y.at(), by.at(static_cast<size_t>(n)), count, n, stride, function});
    return y.read();
  };
  const std::string name = "gated by rows [" + std::to_string(n) + ", " + std::to_string(k) + "]";
  check_cuts(b, name, rows, {n}, [&](int32_t first, int32_t count) { return run(b.gpu, placed, first, count); });
  const std::vector<float> got = run(b.gpu, placed, 0, rows), want = run(b.cpu, w.view, 0, rows);
  b.checks.expect(distance(got, want) < 3e-5, name);
}

// Quantised products behind norms and gated products: the bits are those that the same rows give when they come from
// elsewhere, however often, and with a bf16 product of them in between.
void check_bytes(Backends& b, WeightFormat format, int32_t group, DType scales, int32_t width, int32_t wide_width) {
  constexpr int32_t kOutputs = 80, kMost = 20;
  RandomMatrix gate(format, wide_width, width, group, scales, b.random);
  RandomMatrix up(format, wide_width, width, group, scales, b.random);
  RandomMatrix down(format, kOutputs, wide_width, group, scales, b.random);
  RandomMatrix plain(format, kOutputs, width, group, scales, b.random);
  RandomMatrix other(WeightFormat::bf16, kOutputs, width, 0, DType::bf16, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix g = b.gpu.place(gate.view, owners), u = b.gpu.place(up.view, owners);
  const Matrix d = b.gpu.place(down.view, owners), p = b.gpu.place(plain.view, owners);
  const Matrix o = b.gpu.place(other.view, owners);
  const std::vector<float> x = random_rows(kMost, width, b.random), w = random_rows(1, width, b.random);
  const Block weight(b.gpu, w);
  const std::string name = "q" + std::to_string(format == WeightFormat::q8 ? 8 : 4) + " by " + std::to_string(group) +
                           ", rows of " + std::to_string(width) + " and " + std::to_string(wide_width);
  const auto product = [&](const Matrix& m, const float* in, int32_t rows) {
    const Block y(b.gpu, static_cast<size_t>(rows) * kOutputs);
    const kernels::Projection to{&m, y.at()};
    b.gpu.linear(in, rows, Activation::bf16, {&to, 1});
    return y.read();
  };
  std::vector<float> whole;
  for (const int32_t rows : {kMost, 1, 3, 8, 9, 16}) {
    const Block in(b.gpu, rows_of(x, 0, rows, width));
    const Block normed(b.gpu, static_cast<size_t>(rows) * static_cast<size_t>(width));
    const Block wide(b.gpu, static_cast<size_t>(rows) * static_cast<size_t>(wide_width));
    for (int32_t turn = 0; turn < 6; ++turn) {
      b.gpu.rms_norm({in.at(), weight.at(), normed.at(), rows, width, 1e-6f, 1.0f});
      const std::vector<float> mixed = turn % 3 == 2 ? product(o, normed.at(), rows) : std::vector<float>();
      std::vector<float> all = product(p, normed.at(), rows);
      b.gpu.gated(normed.at(), rows, Activation::bf16, {&g, &u, wide.at()});
      append(all, product(d, wide.at(), rows));
      const Block normed_copy(b.gpu, normed.read()), wide_copy(b.gpu, wide.read());
      std::vector<float> want = product(p, normed_copy.at(), rows);
      append(want, product(d, wide_copy.at(), rows));
      const std::string here = name + ": " + std::to_string(rows) + " rows, turn " + std::to_string(turn);
      b.checks.expect(same_bits(all.data(), want.data(), want.size()), here);
      if (!mixed.empty()) b.checks.expect(mixed == product(o, normed_copy.at(), rows), here + ", bf16 in between");
      if (whole.empty()) whole = all;
      const auto half = static_cast<size_t>(rows) * kOutputs;
      b.checks.expect(same_bits(all.data(), whole.data(), half) &&
                          same_bits(all.data() + half, whole.data() + size_t{kMost} * kOutputs, half),
                      here + ", alone");
    }
  }
}

// One input, and more outputs than there are buffers for rows made ready: none may get the input's.
void check_many_outputs(Backends& b) {
  constexpr int32_t kWide = 1024, kRows = 16;
  RandomMatrix w(WeightFormat::bf16, kWide, kWide, 0, DType::bf16, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = b.gpu.place(w.view, owners);
  const Block in(b.gpu, random_rows(kRows, kWide, b.random)), by(b.gpu, random_rows(kRows, kWide, b.random));
  std::vector<Block> outputs;
  std::vector<float> first;
  for (int32_t i = 0; i < 70; ++i) {
    const Block& y = outputs.emplace_back(b.gpu, size_t{kRows} * kWide);
    b.gpu.gated_by(in.at(), Activation::bf16, placed, {y.at(), by.at(), kRows, kWide, kWide});
    const std::vector<float> got = y.read();
    if (i == 0) first = got;
    b.checks.expect(same_bits(got.data(), first.data(), first.size()), "one input, output " + std::to_string(i));
  }
}

// A product of rows side by side, made ready with them or not, and with padding.
void check_beside(Backends& b) {
  constexpr int32_t kWidth = 40, kOutputs = 64, kRows = 5;
  RandomMatrix w(WeightFormat::bf16, kOutputs, 2 * kWidth, 0, DType::bf16, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = b.gpu.place(w.view, owners);
  const auto product = [&](const float* x) {
    const Block y(b.gpu, size_t{kRows} * kOutputs);
    const kernels::Projection to{&placed, y.at()};
    b.gpu.linear(x, kRows, Activation::bf16, {&to, 1});
    return y.read();
  };
  const Block joined(b.gpu, size_t{2} * kRows * kWidth);
  for (int32_t turn = 0; turn < 5; ++turn) {
    const std::vector<float> left = random_rows(kRows, kWidth, b.random), right = random_rows(kRows, kWidth, b.random);
    std::vector<float> want(left.size() * 2);
    b.cpu.side_by_side(left.data(), right.data(), kRows, kWidth, want.data());
    const Block gl(b.gpu, left), gr(b.gpu, right), copy(b.gpu, want);
    b.gpu.side_by_side(gl.at(), gr.at(), kRows, kWidth, joined.at());
    // In some turns nobody asks for more than the floats.
    if (turn % 2 == 0) b.checks.expect(product(joined.at()) == product(copy.at()), "a product of rows side by side");
    b.checks.expect(joined.read() == want, "rows side by side");
  }
}

// In full precision both backends find the same tokens: x is not rounded on the way.
void check_clusters(Backends& b) {
  constexpr int32_t kCentroids = 40, kSize = 24, kHidden = 96, kRows = 30, kTop = 8;
  RandomMatrix rows(WeightFormat::bf16, kCentroids * kSize, kHidden, 0, DType::bf16, b.random);
  const MatrixStack raw{rows.view.row_slice(0, kSize), kCentroids, kSize, 0};
  std::vector<TokenId> tokens(size_t{kCentroids} * kSize);
  std::iota(tokens.begin(), tokens.end(), 0);
  std::shuffle(tokens.begin(), tokens.end(), b.random);
  const std::vector<float> x = random_rows(kRows, kHidden, b.random), scores = random_rows(kRows, kCentroids, b.random);
  const auto run = [&](Ops& ops) {
    std::vector<std::shared_ptr<const void>> owners;
    const MatrixStack clusters = ops.place(raw, owners);
    const TokenId* ids = ops.place(std::span<const TokenId>(tokens), owners);
    const Block in(ops, x), centroid_scores(ops, scores), best(ops, size_t{kRows});
    ops.best_of_clusters(
        {centroid_scores.at(), &clusters, ids, in.at(), kRows, kTop, reinterpret_cast<TokenId*>(best.at())},
        Activation::f32);
    return best.read();
  };
  const std::vector<float> got = run(b.gpu), want = run(b.cpu);
  b.checks.expect(same_bits(got.data(), want.data(), want.size()), "best of clusters");
}

// plain: no norm behind either part nor their sum, and silu in the gates.
void check_mix(Backends& b, int32_t experts, int32_t top, int32_t hidden, int32_t width, int32_t rows,
               bool plain = false) {
  RandomMatrix gate_up(WeightFormat::bf16, experts * 2 * width, hidden, 0, DType::bf16, b.random);
  RandomMatrix down(WeightFormat::bf16, experts * hidden, width, 0, DType::bf16, b.random);
  RandomMatrix router(WeightFormat::bf16, experts, hidden, 0, DType::bf16, b.random);
  const int32_t dense_width = 3 * width;
  RandomMatrix dense_gate(WeightFormat::bf16, dense_width, hidden, 0, DType::bf16, b.random);
  RandomMatrix dense_up(WeightFormat::bf16, dense_width, hidden, 0, DType::bf16, b.random);
  RandomMatrix dense_down(WeightFormat::bf16, hidden, dense_width, 0, DType::bf16, b.random);
  const Matrix raw_dense[3] = {dense_gate.view, dense_up.view, dense_down.view};
  const MatrixStack raw[3] = {{gate_up.view.row_slice(0, width), experts, 2 * width, 0},
                              {gate_up.view.row_slice(width, width), experts, 2 * width, 0},
                              {down.view.row_slice(0, hidden), experts, hidden, 0}};
  std::vector<std::shared_ptr<const void>> owners;
  const MatrixStack placed[3] = {b.gpu.place(raw[0], owners), b.gpu.place(raw[1], owners), b.gpu.place(raw[2], owners)};
  const Matrix placed_router = b.gpu.place(router.view, owners);
  const Matrix placed_dense[3] = {b.gpu.place(raw_dense[0], owners), b.gpu.place(raw_dense[1], owners),
                                  b.gpu.place(raw_dense[2], owners)};
  const std::vector<float> x = random_rows(rows, hidden, b.random), dense = random_rows(rows, hidden, b.random);
  const std::vector<float> in = random_rows(rows, hidden, b.random), scale = random_rows(1, experts, b.random);
  const std::vector<float> w = random_rows(4, hidden, b.random);
  const auto run = [&](bool on_gpu, int32_t first, int32_t count) {
    Ops& ops = on_gpu ? b.gpu : b.cpu;
    const MatrixStack* stacks = on_gpu ? placed : raw;
    const Matrix* matrices = on_gpu ? placed_dense : raw_dense;
    const auto h = static_cast<size_t>(hidden), c = static_cast<size_t>(count), t = static_cast<size_t>(top);
    const Block gx(ops, rows_of(x, first, count, hidden)), gn(ops, rows_of(dense, first, count, hidden));
    const Block gi(ops, rows_of(in, first, count, hidden)), gs(ops, scale), gw(ops, w), y(ops, c * h), next(ops, c * h);
    const Block scores(ops, c * static_cast<size_t>(experts)), chosen(ops, c * t), share(ops, c * t);
    auto* ids = reinterpret_cast<int32_t*>(chosen.at());
    const Block wide(ops, c * static_cast<size_t>(dense_width)), gd(ops, c * h);
    ops.route({on_gpu ? &placed_router : &router.view, gi.at(), gs.at(), count, top, scores.at(), ids, share.at()});
    kernels::MixtureArgs mix;
    mix.gate = &matrices[0];
    mix.up = &matrices[1];
    mix.down = &matrices[2];
    mix.x = gn.at();
    mix.wide = wide.at();
    mix.experts = {
        &stacks[0], &stacks[1], &stacks[2], gi.at(), ids,
        share.at(), count,      top,        y.at(),  plain ? kernels::GateFunction::silu : kernels::GateFunction::gelu};
    mix.dense_weight = plain ? nullptr : gw.at();
    mix.expert_weight = plain ? nullptr : gw.at(h);
    mix.add = {gx.at(), gd.at(), plain ? nullptr : gw.at(2 * h), count, hidden, 1e-6f, 0.8f};
    mix.dense = gd.at();
    ops.mixture(mix, Activation::bf16);
    ops.rms_norm({gx.at(), gw.at(3 * h), next.at(), count, hidden, 1e-6f, 1.0f});
    std::vector<float> all = gx.read();
    append(all, next.read());
    return all;
  };
  const std::string name = "mixture of " + std::to_string(top) + " of " + std::to_string(experts) + ", " +
                           std::to_string(hidden) + " by " + std::to_string(width) + (plain ? ", without norms" : "");
  check_cuts(b, name, rows, {hidden, hidden}, [&](int32_t first, int32_t count) { return run(true, first, count); });
  b.checks.expect(distance(run(true, 0, 3), run(false, 0, 3)) < 2e-3, name);
}

}  // namespace

void check_joined(Ops& gpu, CpuOps& cpu, Checks& checks, bool few) {
  Backends b{gpu, cpu, checks, std::mt19937(11)};
  check_norms(b, 100, 20);
  check_gated_by(b, 48, 128, 20, kernels::GateFunction::gelu);
  check_gated_by(b, 48, 128, 20, kernels::GateFunction::silu);
  check_many_outputs(b);
  check_clusters(b);
  check_beside(b);
  check_mix(b, 8, 2, 64, 48, 20);
  check_mix(b, 8, 2, 64, 48, 20, true);
  check_bytes(b, WeightFormat::q4, 64, DType::bf16, 320, 256);
  if (few) return;
  for (const WeightFormat format : {WeightFormat::q8, WeightFormat::q4}) {
    check_bytes(b, format, 32, DType::bf16, 96, 384);
    check_bytes(b, format, 32, DType::f32, 2816, 640);
    check_bytes(b, format, 64, DType::bf16, 5376, 1536);
    check_bytes(b, format, 64, DType::bf16, 192, 1600);
    check_bytes(b, format, 128, DType::bf16, 3840, 1024);
    check_bytes(b, format, 128, DType::f32, 6016, 256);
  }
  for (const int32_t width : {256, 1024, 2816, 3840, 5376, 6000}) check_norms(b, width, 21);
  check_gated_by(b, 256, 2560, 40, kernels::GateFunction::gelu);
  check_gated_by(b, 256, 2560, 100, kernels::GateFunction::silu);
  check_gated_by(b, 256, 2560, 300, kernels::GateFunction::gelu);
  check_mix(b, 128, 8, 640, 192, 40);
  check_mix(b, 16, 8, 2816, 64, 20);
  check_mix(b, 16, 8, 2816, 64, 20, true);
  check_mix(b, 24, 12, 256, 48, 20);
}

}  // namespace paceline::gpu
