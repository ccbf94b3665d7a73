// Attention against the portable one, and a row's bits in any chunking and company.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels_check.h"

namespace paceline::gpu {

using kernels::HeadShape;
using kernels::kPageTokens;
using kernels::random_rows;
using kernels::RandomMatrix;
using kernels::SeqSpan;

namespace {

// Pages of one sequence on both backends.
struct Pages {
  std::shared_ptr<void> memory;
  std::vector<int32_t> numbers;
  int32_t slots = 0;
  size_t page_bytes;

  Pages(Ops& ops, const AttentionCase& c, DType dtype, int32_t ring) : slots(ring) {
    numbers.resize(static_cast<size_t>(ring > 0 ? ring : c.length / kPageTokens + 1));
    std::iota(numbers.begin(), numbers.end(), 0);
    page_bytes =
        static_cast<size_t>(c.kv_heads) * static_cast<size_t>(c.dim + c.joined) * kPageTokens * dtype_bytes(dtype);
    if (dtype == DType::i8) page_bytes = kernels::kv_page_bytes({c.heads, c.kv_heads, c.dim, dtype, c.joined}).keys;
    memory = ops.memory(2 * page_bytes * numbers.size());
  }
  [[nodiscard]] kernels::KvPages view() const {
    return kernels::pages_in_a_row(memory.get(), page_bytes, numbers.data(), slots);
  }
};

// What makes heads ready, of blocks on the same backend.
struct HeadBlocks {
  const Block &q, &k, &v, &q_weight, &k_weight, &cos, &sin;
};
kernels::HeadsArgs heads_of(const HeadShape& shape, const HeadBlocks& from, std::span<const SeqSpan> spans) {
  kernels::HeadsArgs heads;
  heads.shape = shape;
  heads.q = from.q.at();
  heads.k = from.k.at();
  heads.v = from.v.at();
  heads.q_weight = from.q_weight.at();
  heads.k_weight = from.k_weight.at();
  heads.cos = from.cos.at();
  heads.sin = from.sin.at();
  heads.eps = 1e-6f;
  heads.seqs = spans;
  return heads;
}

}  // namespace

void check_attention(Backends& b, const AttentionCase& c, DType dtype) {
  HeadShape shape{c.heads, c.kv_heads, c.dim, dtype, c.joined};
  const int32_t width = c.heads * c.dim, kv_width = c.kv_heads * c.dim, half = (c.rotary == 0 ? c.dim : c.rotary) / 2;
  const std::vector<float> q = random_rows(c.length, width, b.random);
  std::vector<float> k = random_rows(c.length, kv_width, b.random);
  std::vector<float> v = c.joined > 0 ? k : random_rows(c.length, kv_width, b.random);
  std::vector<float> q_weight = random_rows(1, c.dim, b.random), k_weight = random_rows(1, c.dim, b.random);
  for (float& w : q_weight) w *= 0.2f;
  std::vector<int32_t> positions(static_cast<size_t>(c.length));
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<float> frequencies(static_cast<size_t>(half));
  for (size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = c.joined > 0 && 2 * i >= static_cast<size_t>(c.joined) ? 0 : std::pow(0.7f, static_cast<float>(i));
  std::vector<float> cos(static_cast<size_t>(c.length) * static_cast<size_t>(half)), sin(cos.size());
  b.cpu.rope({positions, frequencies, cos.data(), sin.data()});
  const int32_t ring = c.window == 0 ? 0 : (c.window + 320) / kPageTokens + 2;

  // Runs the rows in chunks; the rows of the last one have other sequences beside them where `beside` says so.
  const auto run = [&](Ops& ops, const std::vector<int32_t>& chunks, bool beside) {
    Pages pages(ops, c, shape.kv_dtype, ring), other(ops, c, shape.kv_dtype, ring);
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
      kernels::HeadsArgs heads = heads_of(shape, {gq, gk, gv, wq, wk, gcos, gsin}, spans);
      heads.rotary = c.rotary;
      heads.norms_values = c.norms_values;
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
  const std::string name =
      "attention " + std::to_string(c.heads) + "/" + std::to_string(c.kv_heads) + " x " + std::to_string(c.dim) +
      " window " + std::to_string(c.window) + " length " + std::to_string(c.length) +
      (dtype == DType::f32  ? " f32"
       : dtype == DType::i8 ? " codes"
                            : "") +
      (c.rotary > 0 ? " rotated " + std::to_string(c.rotary) : "") + (c.joined > 0 ? " joined" : "");
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
  // A token that is not finite is nothing to rows before it, though they share its page, and to those that see it
  // there is no number any more.
  const int32_t odd_one = c.length - std::min(c.length, 11);
  const auto check_odd = [&](std::vector<float>& in, float wrong, const std::string& what, size_t number = 3) {
    float& place = in[static_cast<size_t>(odd_one) * static_cast<size_t>(kv_width) + number];
    const float kept = std::exchange(place, wrong);
    if (c.joined > 0) v = k;
    for (const auto& way : {chunked(256, 0), chunked(8, 0), chunked(256, 1)}) {
      const std::vector<float> got = run(b.gpu, way, false);
      const auto before = static_cast<size_t>(odd_one) * static_cast<size_t>(width);
      b.checks.expect(same_bits(got.data(), whole.data(), before), name + ": rows before one whose " + what);
      b.checks.expect(std::isnan(got[before]), name + ": a row whose " + what + " is a number");
    }
    place = kept;
    if (c.joined > 0) v = k;
  };
  check_odd(k, INFINITY, "key is not finite");
  if (c.joined > 0) check_odd(k, INFINITY, "key is not finite where it is not turned", 100);
  if (c.joined == 0) check_odd(v, NAN, "value is not finite");
  if (c.joined == 0) check_odd(v, -INFINITY, "value is infinite");
  if (c.joined > 0) {
    // As near to the same numbers in float32 as keys and values apart are; codes, with 13 dB less between signal and
    // noise, as near as that allows. But for the drafter's row, whose query no
    // heads() has made ready.
    const auto without_reader = [&](std::vector<float> rows) {
      rows.resize(rows.size() - static_cast<size_t>(width));
      return rows;
    };
    shape.joined = 0;
    shape.kv_dtype = DType::bf16;
    const std::vector<float> apart = without_reader(run(b.gpu, chunked(256, 0), false));
    shape.kv_dtype = DType::f32;
    const std::vector<float> want = without_reader(run(b.gpu, chunked(256, 0), false));
    const double off = distance(without_reader(whole), want),
                 bound = (dtype == DType::i8 ? 7.0 : 1.2) * distance(apart, want);
    b.checks.expect(off < bound, name + ": off by " + std::to_string(off * 1e6) + "e-6, bound " +
                                     std::to_string(bound * 1e6) + "e-6");
    return;
  }
  if (int64_t{c.length} * c.length * width > 700 * 700 * 4096) return;
  const std::vector<float> want = run(b.cpu, chunked(256, 0), false);
  const double off = distance(whole, want);
  b.checks.expect(off < (dtype == DType::f32 ? 2e-6 : 4e-3), name + ": off by " + std::to_string(off * 1e6) + "e-6");
}

void check_company(Backends& b, const AttentionCase& c, int32_t sequences, int32_t prompt_rows) {
  const HeadShape shape{c.heads, c.kv_heads, c.dim, DType::bf16, 0};
  const int32_t width = c.heads * c.dim, kv_width = c.kv_heads * c.dim, half = c.dim / 2;
  // Sequence s has at position p what lies at p + s.
  const int32_t all = c.length + sequences;
  const std::vector<float> q = random_rows(all, width, b.random), k = random_rows(all, kv_width, b.random);
  const std::vector<float> v = random_rows(all, kv_width, b.random), angles = random_rows(2 * all, half, b.random);
  const std::vector<float> other_q = random_rows(all, width, b.random);
  const Block q_weight(b.gpu, random_rows(1, c.dim, b.random)), k_weight(b.gpu, random_rows(1, c.dim, b.random));
  constexpr int32_t kOutputs = 48;
  const RandomMatrix raw(WeightFormat::q8, kOutputs, width, 64, DType::bf16, b.random);
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix matrix = b.gpu.place(raw.view, owners);
  const int32_t ring = c.window == 0 ? 0 : (c.window + 320) / kPageTokens + 2;
  struct Rows {
    int32_t sequence, pos, count;
  };
  const auto run = [&](const std::vector<std::unique_ptr<Pages>>& pages, const std::vector<Rows>& step) {
    std::vector<SeqSpan> spans;
    int32_t rows = 0;
    for (const Rows& r : step) {
      spans.push_back({rows, r.count, r.pos, pages[static_cast<size_t>(r.sequence)]->view()});
      rows += r.count;
    }
    const auto gathered = [&](const std::vector<float>& from, int32_t w, int32_t first = 0) {
      std::vector<float> to;
      for (const Rows& r : step) {
        const std::vector<float> some = rows_of(from, first + r.pos + r.sequence, r.count, w);
        to.insert(to.end(), some.begin(), some.end());
      }
      return to;
    };
    const Block cos(b.gpu, gathered(angles, half)), sin(b.gpu, gathered(angles, half, all));
    const Block out(b.gpu, static_cast<size_t>(rows) * static_cast<size_t>(width));
    const Block product(b.gpu, static_cast<size_t>(rows) * kOutputs);
    // Once with other queries: what attention makes ready for the product behind it the second time, since that one
    // asks for it, must be of these, and none of it left from before.
    for (const std::vector<float>* queries : {&other_q, &q}) {
      const Block gq(b.gpu, gathered(*queries, width)), gk(b.gpu, gathered(k, kv_width)),
          gv(b.gpu, gathered(v, kv_width));
      out.poison();
      kernels::HeadsArgs heads = heads_of(shape, {gq, gk, gv, q_weight, k_weight, cos, sin}, spans);
      heads.norms_values = c.norms_values;
      b.gpu.attend(heads, {shape, gq.at(), out.at(), c.window, true, spans, nullptr});
      const kernels::Projection behind{&matrix, product.at()};
      b.gpu.linear(out.at(), rows, Activation::bf16, {&behind, 1});
    }
    // A row's outputs, then its products.
    const std::vector<float> attended = out.read(), products = product.read();
    std::vector<float> both;
    for (int32_t r = 0; r < rows; ++r) {
      both.insert(both.end(), attended.begin() + int64_t{r} * width, attended.begin() + int64_t{r + 1} * width);
      both.insert(both.end(), products.begin() + int64_t{r} * kOutputs, products.begin() + int64_t{r + 1} * kOutputs);
    }
    return both;
  };
  // What each has read before, what it has in the step, and one row more, which sees what the step has written.
  std::vector<Rows> before, step, behind;
  std::vector<std::unique_ptr<Pages>> alone, together;
  for (int32_t s = 0; s < sequences; ++s) {
    const int32_t count = s == sequences / 2 ? prompt_rows : s % 7 == 3 ? 5 : 1, most = c.length - count - 1;
    const int32_t known = s == 0 ? most : s * 41 % most + 1;
    before.push_back({s, 0, known});
    step.push_back({s, known, count});
    behind.push_back({s, known + count, 1});
    alone.push_back(std::make_unique<Pages>(b.gpu, c, DType::bf16, ring));
    together.push_back(std::make_unique<Pages>(b.gpu, c, DType::bf16, ring));
  }
  const std::string name = std::to_string(sequences) + " sequences beside " + std::to_string(prompt_rows) + " rows, " +
                           std::to_string(c.heads) + "/" + std::to_string(c.kv_heads) + " x " + std::to_string(c.dim) +
                           " window " + std::to_string(c.window);
  const auto compare = [&](const std::vector<Rows>& rows, const std::string& what) {
    const std::vector<float> got = run(together, rows);
    size_t at = 0;
    for (const Rows& r : rows) {
      const std::vector<float> want = run(alone, {r});
      b.checks.expect(same_bits(got.data() + at, want.data(), want.size()),
                      name + ": " + what + " of sequence " + std::to_string(r.sequence));
      at += want.size();
    }
  };
  for (const Rows& r : before)
    for (int32_t at = 0; at < r.count; at += 256) {
      const Rows some{r.sequence, at, std::min(256, r.count - at)};
      (void)run(together, {some}), (void)run(alone, {some});
    }
  compare(step, "rows");
  compare(behind, "the row behind them");
  // Without the long one among them.
  std::erase_if(behind, [&](const Rows& r) { return r.sequence == sequences / 2; });
  for (Rows& r : behind) ++r.pos;
  compare(behind, "one row more");
}

}  // namespace paceline::gpu
