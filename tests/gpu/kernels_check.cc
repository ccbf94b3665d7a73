// Every operation of the CUDA device against the portable kernels within rounding, and a row's bits alone, in company,
// at any place and in any chunking.
#include <algorithm>
#include <functional>
#include <numeric>

#include "check.h"

namespace paceline::gpu {
namespace {

using kernels::Activation;
using kernels::CpuOps;
using kernels::HeadShape;
using kernels::kPageTokens;
using kernels::Projection;
using kernels::random_rows;
using kernels::RandomMatrix;
using kernels::SeqSpan;

struct Case {
  WeightFormat format;
  Activation activation;
  int32_t group;
  DType scales;
  const char* name;
};

const Case kCases[] = {
    {WeightFormat::bf16, Activation::bf16, 0, DType::bf16, "bf16"},
    {WeightFormat::bf16, Activation::f32, 0, DType::bf16, "bf16 with f32 rows"},
    {WeightFormat::f32, Activation::f32, 0, DType::bf16, "f32"},
    {WeightFormat::f16, Activation::f32, 0, DType::bf16, "f16"},
    {WeightFormat::q8, Activation::bf16, 32, DType::bf16, "q8 by 32"},
    {WeightFormat::q8, Activation::bf16, 64, DType::bf16, "q8 by 64"},
    {WeightFormat::q8, Activation::bf16, 128, DType::f32, "q8 by 128, f32 scales"},
    {WeightFormat::q4, Activation::bf16, 32, DType::bf16, "q4 by 32"},
    {WeightFormat::q4, Activation::bf16, 64, DType::f32, "q4 by 64, f32 scales"},
    {WeightFormat::q4, Activation::bf16, 64, DType::bf16, "q4 by 64"},
    {WeightFormat::q4, Activation::bf16, 128, DType::bf16, "q4 by 128"},
};

// In how many ways the same rows are run: where they begin and how many at once.
struct Cut {
  int32_t first, count;
};

std::vector<Cut> cuts_of(int32_t rows) {
  std::vector<Cut> cuts;
  for (const int32_t count : {1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 64, 100, 128, 129, 150})
    for (const int32_t first : {0, 3, 11, rows - count})
      if (first >= 0 && first + count <= rows) cuts.push_back({first, count});
  return cuts;
}

std::string name_of(const Case& c, int32_t n, int32_t k) {
  return std::string(c.name) + " [" + std::to_string(n) + ", " + std::to_string(k) + "]";
}

void check_matmul(Backends& b, const Case& c, int32_t n, int32_t k, int32_t rows, bool oracle) {
  RandomMatrix w(c.format, n, k, c.group, c.scales, b.random);
  RandomMatrix up(c.format, n, k, c.group, c.scales, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = b.gpu.place(w.view, owners), placed_up = b.gpu.place(up.view, owners);
  const std::vector<float> x = random_rows(rows, k, b.random);
  const auto run = [&](int32_t first, int32_t count, bool gated) {
    const Block in(b.gpu, rows_of(x, first, count, k)), out(b.gpu, static_cast<size_t>(count) * static_cast<size_t>(n));
    out.poison();
    if (gated) {
      b.gpu.gated(in.at(), count, c.activation, placed, placed_up, out.at());
    } else {
      const Projection to{&placed, out.at()};
      b.gpu.linear(in.at(), count, c.activation, {&to, 1});
    }
    return out.read();
  };
  for (const bool gated : {false, true}) {
    const std::string name = name_of(c, n, k) + (gated ? " gated" : "");
    const std::vector<float> whole = run(0, rows, gated);
    for (const Cut& cut : cuts_of(rows)) {
      const std::vector<float> some = run(cut.first, cut.count, gated);
      b.checks.expect(same_bits(some.data(), whole.data() + static_cast<int64_t>(cut.first) * n, some.size()),
                      name + ": rows " + std::to_string(cut.first) + " + " + std::to_string(cut.count) + " of " +
                          std::to_string(rows) + " have other bits");
    }
    if (!oracle) continue;
    const int32_t few = std::min(rows, 3);
    std::vector<float> want(static_cast<size_t>(few) * static_cast<size_t>(n));
    if (gated) {
      b.cpu.gated(x.data(), few, c.activation, w.view, up.view, want.data());
    } else {
      const Projection to{&w.view, want.data()};
      b.cpu.linear(x.data(), few, c.activation, {&to, 1});
    }
    const double off = distance(std::span(whole).first(want.size()), want);
    b.checks.expect(off < 3e-5, name + ": off by " + std::to_string(off * 1e6) + "e-6");
  }
}

// Several products in one call are those of one call each.
void check_projections(Backends& b) {
  const int32_t k = 384, rows = 6;
  for (const Case& c : kCases) {
    RandomMatrix q(c.format, 512, k, c.group, c.scales, b.random), v(c.format, 200, k, c.group, c.scales, b.random);
    RandomMatrix other(WeightFormat::bf16, 64, k, 0, DType::bf16, b.random);
    std::vector<std::shared_ptr<const void>> owners;
    const Matrix all[] = {b.gpu.place(q.view, owners), b.gpu.place(other.view, owners), b.gpu.place(v.view, owners)};
    const std::vector<float> x = random_rows(rows, k, b.random);
    const Block in(b.gpu, x);
    const Block y0(b.gpu, rows * 512), y1(b.gpu, rows * 64), y2(b.gpu, rows * 200);
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

void check_rows(Backends& b) {
  for (const int32_t width : {16, 64, 100, 256, 1024, 2560, 2816, 3840, 5376}) {
    const int32_t rows = 21;
    const std::vector<float> x = random_rows(rows, width, b.random), branch = random_rows(rows, width, b.random);
    const std::vector<float> w = random_rows(1, width, b.random), w2 = random_rows(1, width, b.random);
    const Block weight(b.gpu, w), weight2(b.gpu, w2);
    std::vector<float> want = x, want_y(x.size());
    b.cpu.add_norm({want.data(), branch.data(), w.data(), rows, width, 1e-6f, 0.7f});
    b.cpu.rms_norm({want.data(), w2.data(), want_y.data(), rows, width, 1e-6f, 1.5f});
    const auto run = [&](int32_t first, int32_t count, bool apart) {
      const Block gx(b.gpu, rows_of(x, first, count, width)), gb(b.gpu, rows_of(branch, first, count, width));
      const Block gy(b.gpu, static_cast<size_t>(count) * static_cast<size_t>(width));
      b.gpu.add_norm({gx.at(), gb.at(), weight.at(), count, width, 1e-6f, 0.7f});
      if (apart) (void)b.gpu.wait();
      b.gpu.rms_norm({gx.at(), weight2.at(), gy.at(), count, width, 1e-6f, 1.5f});
      std::vector<float> both = gx.read();
      const std::vector<float> y = gy.read();
      both.insert(both.end(), y.begin(), y.end());
      return both;
    };
    const std::vector<float> whole = run(0, rows, false);
    const std::string name = "norms of " + std::to_string(width);
    b.checks.expect(distance(std::span(whole).first(x.size()), want) < 1e-6, name + ": x");
    b.checks.expect(distance(std::span(whole).last(x.size()), want_y) < 1e-6, name + ": y");
    b.checks.expect(run(0, rows, true) == whole, name + ": in one kernel or two");
    const std::vector<float> one = run(7, 1, false);
    b.checks.expect(same_bits(one.data(), whole.data() + int64_t{7} * width, static_cast<size_t>(width)),
                    name + ": alone");
    b.checks.expect(same_bits(one.data() + width, whole.data() + static_cast<int64_t>(rows + 7) * width,
                              static_cast<size_t>(width)),
                    name + ": alone, y");
  }
}

void check_elementwise(Backends& b) {
  const int32_t rows = 5, width = 300, stride = 1200;
  const std::vector<float> y = random_rows(rows, width, b.random), x = random_rows(rows, stride, b.random);
  std::vector<float> want = y;
  b.cpu.gelu_mul({want.data(), x.data() + 300, rows, width, stride});
  const Block gy(b.gpu, y), gx(b.gpu, x);
  b.gpu.gelu_mul({gy.at(), gx.at(300), rows, width, stride});
  b.checks.expect(distance(gy.read(), want) < 1e-6, "gelu_mul");
  b.cpu.add_scaled(want.data(), x.data(), 0.3f, rows * width);
  b.gpu.add_scaled(gy.at(), gx.at(), 0.3f, rows * width);
  b.checks.expect(distance(gy.read(), want) < 1e-6, "add_scaled");
  for (float& v : want) v *= 20;
  const Block capped(b.gpu, want);
  b.cpu.softcap(want.data(), 30.0f, rows * width);
  b.gpu.softcap(capped.at(), 30.0f, rows * width);
  b.checks.expect(distance(capped.read(), want) < 1e-6, "softcap");

  std::vector<float> scores = random_rows(7, 70001, b.random);
  scores[5] = NAN;
  scores[70001 + 44] = scores[70001 + 60000] = 99;  // of equal ones the first
  std::fill(scores.begin() + 2 * 70001, scores.begin() + 3 * 70001, NAN);
  std::vector<TokenId> best(7);
  b.cpu.argmax(scores.data(), 7, 70001, best.data());
  const Block gs(b.gpu, scores), gbest(b.gpu, 7);
  b.gpu.argmax(gs.at(), 7, 70001, reinterpret_cast<TokenId*>(gbest.at()));
  b.checks.expect(std::memcmp(gbest.read().data(), best.data(), 28) == 0, "argmax");

  const int32_t places[] = {3, 0, 3, 1};
  const Block picked(b.gpu, 4 * width);
  std::vector<float> want_picked(4 * width);
  b.cpu.gather(y.data(), places, width, want_picked.data());
  const Block from(b.gpu, y);
  b.gpu.gather(from.at(), places, width, picked.at());
  b.checks.expect(picked.read() == want_picked, "gather");

  const int32_t positions[] = {0, 5, 100000, 262143};
  std::vector<float> frequencies(128), cos(4 * 128), sin(4 * 128);
  for (size_t i = 0; i < 128; ++i)
    frequencies[i] = static_cast<float>(1.0 / std::pow(10000.0, 2.0 * static_cast<double>(i) / 256));
  b.cpu.rope({positions, frequencies, cos.data(), sin.data()});
  const Block gcos(b.gpu, 4 * 128), gsin(b.gpu, 4 * 128);
  b.gpu.rope({positions, frequencies, gcos.at(), gsin.at()});
  b.checks.expect(distance(gcos.read(), cos) < 1e-6 && distance(gsin.read(), sin) < 1e-6, "rope");

  for (const Case& c : kCases) {
    if (c.format == WeightFormat::f16) continue;
    RandomMatrix table(c.format, 77, 384, c.group, c.scales, b.random);
    std::vector<std::shared_ptr<const void>> owners;
    const Matrix placed = b.gpu.place_table(table.view, owners);
    const TokenId tokens[] = {0, 76, 15, 16, 33};
    std::vector<float> rows_wanted(5 * 384);
    b.cpu.embed(table.view, tokens, 5, 3.5f, rows_wanted.data());
    const Block got(b.gpu, 5 * 384);
    const Block ids(b.gpu, 5);
    b.gpu.upload(ids.at(), tokens, sizeof tokens);
    b.gpu.embed(placed, reinterpret_cast<const TokenId*>(ids.at()), 5, 3.5f, got.at());
    b.checks.expect(distance(got.read(), rows_wanted) < 1e-6, std::string("embed ") + c.name);
  }
}

struct AttentionCase {
  int32_t heads, kv_heads, dim, window, length;
};

// Pages of one sequence on both backends.
struct Pages {
  std::vector<std::shared_ptr<void>> memory;
  std::vector<void*> keys, values;
  int32_t slots = 0;
  size_t floats;

  Pages(Ops& ops, const AttentionCase& c, DType dtype, int32_t ring) : slots(ring) {
    const int32_t count = ring > 0 ? ring : c.length / kPageTokens + 1;
    floats = static_cast<size_t>(c.kv_heads) * static_cast<size_t>(c.dim) * kPageTokens * dtype_bytes(dtype) / 4;
    for (int32_t i = 0; i < count; ++i) {
      for (std::vector<void*>* to : {&keys, &values}) {
        memory.push_back(ops.memory(floats * 4));
        to->push_back(memory.back().get());
      }
    }
  }
  [[nodiscard]] kernels::KvPages view() const { return {keys.data(), values.data(), slots}; }
};

void check_attention(Backends& b, const AttentionCase& c, DType dtype) {
  const HeadShape shape{c.heads, c.kv_heads, c.dim, dtype};
  const int32_t width = c.heads * c.dim, kv_width = c.kv_heads * c.dim, half = c.dim / 2;
  const std::vector<float> q = random_rows(c.length, width, b.random), k = random_rows(c.length, kv_width, b.random);
  const std::vector<float> v = random_rows(c.length, kv_width, b.random);
  std::vector<float> q_weight = random_rows(1, c.dim, b.random), k_weight = random_rows(1, c.dim, b.random);
  for (float& w : q_weight) w *= 0.2f;
  std::vector<int32_t> positions(static_cast<size_t>(c.length));
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<float> frequencies(static_cast<size_t>(half));
  for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] = std::pow(0.7f, static_cast<float>(i));
  std::vector<float> cos(static_cast<size_t>(c.length) * static_cast<size_t>(half)), sin(cos.size());
  b.cpu.rope({positions, frequencies, cos.data(), sin.data()});
  const int32_t ring = c.window == 0 ? 0 : (c.window + 320) / kPageTokens + 2;

  // Runs the rows in chunks; the rows of the last one have other sequences beside them where `beside` says so.
  const auto run = [&](Ops& ops, const std::vector<int32_t>& chunks, bool beside) {
    Pages pages(ops, c, dtype, ring), other(ops, c, dtype, ring);
    const Block wq(ops, q_weight), wk(ops, k_weight);
    std::vector<float> out;
    int32_t at = 0;
    for (const int32_t chunk : chunks) {
      const int32_t guests = beside ? std::min(3, at + 1) : 0, rows = chunk + guests;
      std::vector<SeqSpan> spans;
      const auto joined = [&](const std::vector<float>& all, int32_t w) {
        std::vector<float> some = rows_of(all, 0, guests, w);
        const std::vector<float> own = rows_of(all, at, chunk, w);
        some.insert(some.end(), own.begin(), own.end());
        return some;
      };
      if (guests > 0) spans.push_back({0, guests, 0, other.view()});
      spans.push_back({guests, chunk, at, pages.view()});
      const Block gq(ops, joined(q, width)), gk(ops, joined(k, kv_width)), gv(ops, joined(v, kv_width));
      const Block gcos(ops, joined(cos, half)), gsin(ops, joined(sin, half));
      const Block gout(ops, static_cast<size_t>(rows) * static_cast<size_t>(width));
      gout.poison();
      kernels::HeadsArgs heads;
      heads.shape = shape;
      heads.q = gq.at();
      heads.k = gk.at();
      heads.v = gv.at();
      heads.q_weight = wq.at();
      heads.k_weight = wk.at();
      heads.cos = gcos.at();
      heads.sin = gsin.at();
      heads.eps = 1e-6f;
      heads.seqs = spans;
      ops.attend(heads, {shape, gq.at(), gout.at(), c.window, true, spans, nullptr});
      const std::vector<float> got = gout.read();
      out.insert(out.end(), got.begin() + static_cast<int64_t>(guests) * width, got.end());
      // A drafter's rows: they see what lies below their position.
      if (at + chunk == c.length) {
        const Block dq(ops, rows_of(q, 0, 1, width)), dout(ops, static_cast<size_t>(width));
        const SeqSpan reader{0, 1, c.length, pages.view()};
        ops.attention({shape, dq.at(), dout.at(), c.window > 0 ? c.window - 1 : 0, false, {&reader, 1}, nullptr});
        const std::vector<float> reads = dout.read();
        // A layer that reads another's keys: the same rows once more, with queries alone, have the same outputs.
        const int32_t again = std::min(chunk, 5), first = c.length - again;
        const Block aq(ops, rows_of(q, first, again, width)), acos(ops, rows_of(cos, first, again, half));
        const Block asin(ops, rows_of(sin, first, again, half));
        const Block aout(ops, static_cast<size_t>(again) * static_cast<size_t>(width));
        const SeqSpan last{0, again, first, pages.view()};
        heads.q = aq.at();
        heads.k = heads.v = nullptr;
        heads.cos = acos.at();
        heads.sin = asin.at();
        heads.seqs = {&last, 1};
        ops.attend(heads, {shape, aq.at(), aout.at(), c.window, true, heads.seqs, nullptr});
        const std::vector<float> repeated = aout.read();
        b.checks.expect(same_bits(repeated.data(), out.data() + out.size() - repeated.size(), repeated.size()),
                        "attention over another layer's keys");
        out.insert(out.end(), reads.begin(), reads.end());
      }
      at += chunk;
    }
    return out;
  };
  const std::string name = "attention " + std::to_string(c.heads) + "/" + std::to_string(c.kv_heads) + " x " +
                           std::to_string(c.dim) + " window " + std::to_string(c.window) + " length " +
                           std::to_string(c.length) + (dtype == DType::f32 ? " f32" : "");
  const auto chunked = [&](int32_t size, int32_t tail) {
    std::vector<int32_t> chunks;
    int32_t left = c.length - tail;
    for (; left > 0; left -= size) chunks.push_back(std::min(size, left));
    for (int32_t i = 0; i < tail; ++i) chunks.push_back(1);
    return chunks;
  };
  const std::vector<float> whole = run(b.gpu, chunked(256, 0), false);
  const std::vector<std::vector<int32_t>> ways = {chunked(256, 9), chunked(100, 3), chunked(8, 0), chunked(5, 1),
                                                  chunked(16, 0)};
  for (size_t i = 0; i < ways.size(); ++i) {
    const std::vector<float> got = run(b.gpu, ways[i], i % 2 == 1);
    b.checks.expect(same_bits(got.data(), whole.data(), whole.size()),
                    name + ": other bits in chunks, way " + std::to_string(i));
  }
  if (c.length > 700) return;
  const std::vector<float> want = run(b.cpu, chunked(256, 0), false);
  const double off = distance(whole, want);
  b.checks.expect(off < (dtype == DType::f32 ? 2e-6 : 4e-3), name + ": off by " + std::to_string(off * 1e6) + "e-6");
}

void check_experts(Backends& b, const Case& c, int32_t experts, int32_t top, int32_t hidden, int32_t width,
                   int32_t rows) {
  RandomMatrix gate_up(c.format, experts * 2 * width, hidden, c.group, c.scales, b.random);
  RandomMatrix down(c.format, experts * hidden, width, c.group, c.scales, b.random);
  RandomMatrix router(WeightFormat::bf16, experts, hidden, 0, DType::bf16, b.random);
  const MatrixStack gates{gate_up.view.row_slice(0, width), experts, 2 * width, 0};
  const MatrixStack ups{gate_up.view.row_slice(width, width), experts, 2 * width, 0};
  const MatrixStack downs{down.view.row_slice(0, hidden), experts, hidden, 0};
  std::vector<std::shared_ptr<const void>> owners;
  const MatrixStack g = b.gpu.place(gates, owners), u = b.gpu.place(ups, owners), d = b.gpu.place(downs, owners);
  const Matrix r = b.gpu.place(router.view, owners);
  const std::vector<float> x = random_rows(rows, hidden, b.random), scale = random_rows(1, experts, b.random);
  const auto run = [&](Ops& ops, bool cpu, int32_t first, int32_t count) {
    const Block in(ops, rows_of(x, first, count, hidden)), es(ops, scale);
    const Block scores(ops, static_cast<size_t>(count * experts)), chosen(ops, static_cast<size_t>(count * top));
    const Block share(ops, static_cast<size_t>(count * top)),
        y(ops, static_cast<size_t>(count) * static_cast<size_t>(hidden));
    y.poison();
    auto* ids = reinterpret_cast<int32_t*>(chosen.at());
    ops.route({cpu ? &router.view : &r, in.at(), es.at(), count, top, scores.at(), ids, share.at()});
    ops.experts({cpu ? &gates : &g, cpu ? &ups : &u, cpu ? &downs : &d, in.at(), ids, share.at(), count, top, y.at()},
                c.activation);
    return y.read();
  };
  const std::string name =
      "experts " + name_of(c, width, hidden) + " " + std::to_string(top) + " of " + std::to_string(experts);
  const std::vector<float> whole = run(b.gpu, false, 0, rows);
  for (const Cut& cut : cuts_of(rows)) {
    const std::vector<float> some = run(b.gpu, false, cut.first, cut.count);
    b.checks.expect(same_bits(some.data(), whole.data() + static_cast<int64_t>(cut.first) * hidden, some.size()),
                    name + ": rows " + std::to_string(cut.first) + " + " + std::to_string(cut.count));
  }
  const std::vector<float> want = run(b.cpu, true, 0, 3);
  const double off = distance(std::span(whole).first(want.size()), want);
  // Middle rows are rounded to bf16 or bytes: a value on the edge may fall to the other side.
  b.checks.expect(off < 2e-3, name + ": off by " + std::to_string(off * 1e6) + "e-6");
}

void check_memory(Backends& b) {
  // More than there is: said, and the device goes on.
  auto again = kernels::make_cuda_ops();
  b.checks.expect(again.ok(), "a second Ops on the device");
  if (!again.ok()) return;
  b.checks.expect((*again)->memory(size_t{1} << 50) == nullptr, "memory that is not there");
  const Status status = (*again)->wait();
  b.checks.expect(!status.ok() && status.error().message.find("memory left") != std::string::npos, "and says so");
  const Block fine(b.gpu, random_rows(1, 10, b.random));
  b.checks.expect(fine.read().size() == 10, "the first Ops goes on");
}

// Matrices that lay at the same place one after the other, and one that is there twice.
void check_placing(Backends& b) {
  constexpr int32_t kRows = 64;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<uint16_t> values(size_t{kRows} * 256, 0x3f80);  // ones
  const auto place = [&](int32_t cols) {
    Matrix m;
    m.format = WeightFormat::bf16;
    m.rows = kRows;
    m.cols = cols;
    m.values = values.data();
    return b.gpu.place(m, owners);
  };
  const Block x(b.gpu, std::vector<float>(256, 1.0f)), y(b.gpu, size_t{kRows});
  const auto product = [&](const Matrix& m) {
    const kernels::Projection out{&m, y.at()};
    b.gpu.linear(x.at(), 1, Activation::bf16, {&out, 1});
    return y.read()[kRows - 1];
  };
  const Matrix first = place(256), again = place(256), shorter = place(128);
  b.checks.expect(again.values == first.values, "a matrix placed twice is there once");
  values.assign(values.size(), 0x4000);  // twos
  const Matrix other = place(256);
  b.checks.expect(product(first) == 256 && product(shorter) == 128 && product(other) == 512,
                  "matrices that lay at the same place");
}

// What is left of it under a checker that slows everything down a thousandfold; of that all, or what is named.
int run_few(Backends& b, const std::string& named) {
  const std::pair<const char*, std::function<void()>> parts[] = {
      {"products",
       [&] {
         for (const Case& c : kCases) check_matmul(b, c, 80, 384, 18, true);
       }},
      {"larger", [&] { check_matmul(b, kCases[0], 704, 1664, 40, false); }},
      {"attention",
       [&] {
         check_attention(b, {4, 2, 32, 24, 70}, DType::bf16);
       }},
      {"heads",
       [&] {
         check_attention(b, {4, 2, 256, 100, 80}, DType::bf16);
       }},
      {"experts", [&] { check_experts(b, kCases[0], 8, 2, 64, 48, 20); }},
      {"rows", [&] { check_elementwise(b), check_placing(b); }},
      {"joined", [&] { check_joined(b.gpu, b.cpu, b.checks, true); }},
      {"chains", [&] { check_chains(b, true); }},
  };
  for (const auto& [name, part] : parts) {
    if (!named.empty() && named != name) continue;
    part();
    std::printf("%s done\n", name);
    std::fflush(stdout);
  }
  return b.checks.finish("kernels, a few");
}

int run_all(const std::string& which, const std::string& named) {
  const bool quick = which == "quick";
  ThreadPool pool(0);
  CpuOps cpu(**kernels::find_cpu_table("portable"), pool);
  auto gpu = kernels::make_cuda_ops();
  if (!gpu.ok()) {
    std::printf("%s\n", gpu.error().message.c_str());
    return 3;
  }
  Checks checks;
  Backends b{**gpu, cpu, checks, std::mt19937(5)};
  if (which == "few") return run_few(b, named);
  check_rows(b);
  check_elementwise(b);
  check_placing(b);
  std::printf("rows done\n");
  check_projections(b);
  for (const Case& c : kCases) {
    check_matmul(b, c, 100, 128, quick ? 20 : 150, true);
    check_matmul(b, c, 704, 1664, quick ? 20 : 150, true);
    if (c.group <= 32) check_matmul(b, c, 48, 96, quick ? 20 : 150, true);
    if (quick) continue;
    check_matmul(b, c, 5376, 1024, 150, false);
    check_matmul(b, c, 192, 21504, 150, false);
  }
  // So many units that parts stay in one block, and gated matrices of odd width.
  check_matmul(b, kCases[0], 140000, 320, quick ? 5 : 20, false);
  check_matmul(b, kCases[9], 140000, 1920, quick ? 5 : 20, false);
  check_matmul(b, kCases[0], 2112, 2816, quick ? 20 : 150, true);
  // Blocks of 192 and of 160 rows.
  check_matmul(b, kCases[0], 2816, 640, 1150, false);
  check_matmul(b, kCases[0], 2560, 640, 960, false);
  std::printf("products done\n");
  for (const AttentionCase& c : {AttentionCase{4, 2, 32, 24, 130},
                                 {4, 1, 16, 0, 200},
                                 {8, 1, 64, 40, 300},
                                 {8, 2, 256, 512, 640},
                                 {16, 2, 512, 0, 600},
                                 {16, 1, 512, 0, 300},
                                 {4, 4, 128, 100, 333}}) {
    check_attention(b, c, DType::bf16);
    if (c.dim < 256) check_attention(b, c, DType::f32);
  }
  if (!quick) {
    check_attention(b, {32, 16, 256, 1024, 1500}, DType::bf16);
    check_attention(b, {32, 4, 512, 0, 1100}, DType::bf16);
  }
  check_pages(b.gpu, b.checks);
  std::printf("attention done\n");
  for (const Case& c : kCases) {
    if (c.format == WeightFormat::f16 || c.format == WeightFormat::f32) continue;
    check_experts(b, c, 16, 4, 256, 128, quick ? 20 : 150);
  }
  if (!quick) check_experts(b, kCases[0], 128, 8, 640, 192, 150);
  check_experts(b, kCases[0], 8, 2, 64, 48, quick ? 20 : 150);
  std::printf("experts done\n");
  check_joined(b.gpu, b.cpu, b.checks, false);
  check_chains(b, false);
  check_memory(b);
  return checks.finish("kernels");
}

}  // namespace
}  // namespace paceline::gpu

// All, or `quick`, or `few` and perhaps which of them.
int main(int argc, char** argv) { return paceline::gpu::run_all(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""); }
