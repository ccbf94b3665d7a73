// Gated DeltaNet and what stands beside it: against the portable ones, and a row's bits whatever the rows of a call,
// what is taken back, and the company.
#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/recurrent_ops.h"
#include "kernels_check.h"

namespace paceline::gpu {
namespace {

using kernels::DeltaArgs;
using kernels::DeltaPlaces;
using kernels::DeltaShape;
using kernels::DeltaSpan;
using kernels::random_rows;
using kernels::StatePlace;

constexpr int32_t kTapeRows = 24;

// A layer's weights, and what a text brings.
struct Text {
  DeltaShape shape;
  int32_t rows;
  std::vector<float> u, z, a, b, taps, rate, bias, weight;

  Text(const DeltaShape& s, int32_t count, std::mt19937& random)
      : shape(s),
        rows(count),
        u(random_rows(count, s.channels(), random)),
        z(random_rows(count, s.values(), random)),
        a(random_rows(count, s.value_heads, random)),
        b(random_rows(count, s.value_heads, random)),
        taps(random_rows(s.kernel, s.channels(), random)),
        rate(random_rows(1, s.value_heads, random)),
        bias(random_rows(1, s.value_heads, random)),
        weight(random_rows(1, s.value_dim, random)) {
    for (float& r : rate) r = -std::exp(r);
  }
};

// So many rows, of which the last ones are drafts; of those some stay.
struct Round {
  int32_t rows = 1, drafts = 0, stay = 0;
};

// States of some sequences in a backend's memory, in units that lie in no order.
class States {
 public:
  States(Ops& ops, const DeltaShape& shape, int32_t seqs)
      : shape_(shape),
        unit_floats_((std::max({shape.head_floats(), shape.recent_floats(), shape.row_floats()}) + 63) / 64 * 64),
        units_(shape.value_heads + 1 + 2 * kTapeRows),
        memory_(ops, std::vector<float>(static_cast<size_t>(seqs) * static_cast<size_t>(units_ * unit_floats_), 0.0f)) {
    for (int32_t i = 0; i <= shape.value_heads; ++i) heads_.push_back({i, 0});
    for (int32_t s = 0; s < seqs; ++s) {
      const int32_t first = s * static_cast<int32_t>(units_);
      std::vector<int32_t>& numbers = numbers_.emplace_back();
      for (int32_t i = 0; i < units_; ++i) numbers.push_back(first + (i * 5 + 3) % static_cast<int32_t>(units_));
      // Five and the number of units may have a divisor in common: then in order.
      std::vector<int32_t> sorted = numbers;
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        for (int32_t i = 0; i < units_; ++i) numbers[static_cast<size_t>(i)] = first + i;
    }
    side_.assign(static_cast<size_t>(seqs), 0);
    kept_.assign(static_cast<size_t>(seqs), 0);
  }

  [[nodiscard]] DeltaPlaces places() const {
    return {reinterpret_cast<std::byte*>(memory_.at()),
            unit_floats_ * static_cast<int64_t>(sizeof(float)),
            heads_.data(),
            heads_.back(),
            {0, 0},
            1};
  }
  [[nodiscard]] DeltaSpan span(size_t seq, int32_t first_row, const Round& round) const {
    const int32_t* tape = numbers_[seq].data() + shape_.value_heads + 1;
    return {first_row,
            round.rows,
            round.rows - round.drafts,
            kept_[seq],
            numbers_[seq].data(),
            tape + side_[seq] * kTapeRows,
            tape + (1 - side_[seq]) * kTapeRows};
  }
  void ran(size_t seq, const Round& round) {
    side_[seq] = 1 - side_[seq];
    kept_[seq] = round.stay;
  }
  // Of a sequence, what stands behind its last certain row.
  [[nodiscard]] std::vector<float> read(size_t seq) const {
    const std::vector<float> all = memory_.read();
    std::vector<float> state;
    for (int32_t i = 0; i <= shape_.value_heads; ++i) {
      const auto at = all.begin() + numbers_[seq][static_cast<size_t>(i)] * unit_floats_;
      state.insert(state.end(), at, at + (i < shape_.value_heads ? shape_.head_floats() : shape_.recent_floats()));
    }
    return state;
  }

 private:
  DeltaShape shape_;
  int64_t unit_floats_;
  int64_t units_;
  Block memory_;
  std::vector<StatePlace> heads_;
  std::vector<std::vector<int32_t>> numbers_;
  std::vector<int32_t> side_, kept_;
};

struct Ran {
  std::vector<float> out;  // of rows that stay
  std::vector<float> state;
};

// A text in rounds, in as many sequences as are wanted, one behind the other in each call; what is taken back is run
// again. All of them have to be the same.
Ran run(Ops& ops, const Text& t, std::span<const Round> rounds, int32_t company, Checks& checks) {
  const DeltaShape& s = t.shape;
  States states(ops, s, company);
  const Block taps(ops, t.taps), rate(ops, t.rate), bias(ops, t.bias), weight(ops, t.weight);
  Ran ran;
  int32_t at = 0;
  for (const Round& round : rounds) {
    const auto rows_in_all = [&](const std::vector<float>& from, int32_t width) {
      std::vector<float> all;
      for (int32_t c = 0; c < company; ++c) append(all, rows_of(from, at, round.rows, width));
      return Block(ops, all);
    };
    const Block u = rows_in_all(t.u, s.channels()), z = rows_in_all(t.z, s.values());
    const Block a = rows_in_all(t.a, s.value_heads), b = rows_in_all(t.b, s.value_heads);
    const auto rows = static_cast<size_t>(company * round.rows);
    const Block y(ops, rows * static_cast<size_t>(s.channels())), o(ops, rows * static_cast<size_t>(s.values()));
    std::vector<DeltaSpan> spans;
    for (int32_t c = 0; c < company; ++c) spans.push_back(states.span(static_cast<size_t>(c), c * round.rows, round));
    DeltaArgs args{s,         states.places(), u.at(),      a.at(), b.at(), z.at(), taps.at(),
                   rate.at(), bias.at(),       weight.at(), 1e-6f,  y.at(), o.at(), company * round.rows,
                   spans};
    ops.recurrent()->delta(args);
    const std::vector<float> out = z.read();
    const size_t one = out.size() / static_cast<size_t>(company);
    for (int32_t c = 0; c < company; ++c) {
      states.ran(static_cast<size_t>(c), round);
      checks.expect(same_bits(out.data() + static_cast<size_t>(c) * one, out.data(), one), "a sequence in company");
    }
    const int32_t stay = round.rows - round.drafts + round.stay;
    ran.out.insert(ran.out.end(), out.begin(), out.begin() + static_cast<int64_t>(stay) * s.values());
    at += stay;
  }
  ran.state = states.read(static_cast<size_t>(company - 1));
  return ran;
}

void check_delta(Backends& b, const DeltaShape& shape, int32_t rows) {
  const Text text(shape, rows, b.random);
  const std::string name = "delta " + std::to_string(shape.value_heads) + " of " + std::to_string(shape.key_dim) +
                           " x " + std::to_string(shape.value_dim);
  const Round whole[] = {{rows, 0, 0}};
  const Ran all = run(b.gpu, text, whole, 1, b.checks), want = run(b.cpu, text, whole, 1, b.checks);
  b.checks.expect(distance(all.out, want.out) < 1e-5, name + ": off by " + std::to_string(distance(all.out, want.out)));
  b.checks.expect(distance(all.state, want.state) < 1e-5, name + ": state");
  // One row at a time, chunks, and rounds of which some drafts stay, none, or all; the last round is certain.
  std::vector<std::vector<Round>> ways(4);
  for (int32_t i = 0; i < rows; ++i) ways[0].push_back({1, 0, 0});
  for (int32_t left = rows; left > 0; left -= 7) ways[1].push_back({std::min(left, 7), 0, 0});
  const Round few[] = {{1, 0, 0}, {8, 7, 3}, {3, 2, 0}, {5, 4, 4}, {20, 19, 17}, {2, 1, 1}, {16, 16, 9}, {4, 4, 0}};
  for (size_t way = 2; way < 4; ++way)
    for (int32_t left = rows, i = 0; left > 0; ++i) {
      Round round = few[i % 8];
      if (round.rows >= left) round = {std::min(left, 2), 0, 0};
      ways[way].push_back(round);
      left -= round.rows - round.drafts + round.stay;
    }
  for (size_t way = 0; way < ways.size(); ++way) {
    const Ran ran = run(b.gpu, text, ways[way], way == 3 ? 5 : 1, b.checks);
    const std::string which = name + ", way " + std::to_string(way);
    b.checks.expect(ran.out.size() == all.out.size() && same_bits(ran.out.data(), all.out.data(), all.out.size()),
                    which + ": rows");
    b.checks.expect(same_bits(ran.state.data(), all.state.data(), all.state.size()), which + ": state");
  }
}

void check_beside(Backends& b) {
  constexpr int32_t kRows = 9, kWidth = 300;
  const std::vector<float> y = random_rows(kRows, kWidth, b.random), gate = random_rows(kRows, kWidth, b.random);
  for (const bool one : {false, true}) {
    std::vector<float> want = y;
    b.cpu.sigmoid_mul({want.data(), gate.data(), kRows, kWidth, one});
    const Block gy(b.gpu, y), gg(b.gpu, gate);
    b.gpu.recurrent()->sigmoid_mul({gy.at(), gg.at(), kRows, kWidth, one});
    b.checks.expect(distance(gy.read(), want) < 1e-6, "a gate");
  }
  constexpr int32_t kPairs = 4;
  std::vector<float> first(size_t{kPairs} * kWidth), second(first.size());
  b.cpu.part_pairs({y.data(), first.data(), second.data(), kPairs, kWidth});
  const Block from(b.gpu, y), one(b.gpu, first.size()), two(b.gpu, first.size());
  b.gpu.recurrent()->part_pairs({from.at(), one.at(), two.at(), kPairs, kWidth});
  b.checks.expect(one.read() == first && two.read() == second, "pairs of rows");
}

}  // namespace

void check_recurrent(Backends& b, bool few) {
  check_beside(b);
  check_delta(b, {2, 4, 16, 16, 4}, few ? 20 : 90);
  if (few) return;
  check_delta(b, {1, 3, 8, 32, 2}, 50);
  check_delta(b, {2, 2, 32, 64, 4}, 70);
  check_delta(b, {2, 6, 64, 128, 3}, 120);
  check_delta(b, {2, 6, 64, 128, 3, true}, 60);
  check_delta(b, {4, 12, 128, 128, 4}, 150);
}

}  // namespace paceline::gpu
