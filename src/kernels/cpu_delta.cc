// Gated DeltaNet on the processor. Bound by the bytes of the states: every one is read and written once for all rows of
// a call. Heads do not know each other, so threads take them as they come; a column's sums run over keys in ascending
// order, row after row, whoever computes them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

constexpr float kUnitEps = 1e-6f;
// A row of tape.
struct TapeRow {
  TapeRow(const DeltaShape& shape, float* at)
      : input(at), key(input + shape.channels()), error(key + shape.keys()), decay(error + shape.values()) {}
  float *input, *key, *error, *decay;
};

TapeRow tape_row(const DeltaArgs& args, const int32_t* numbers, int32_t row) {
  return {args.shape, args.places.at(numbers + int64_t{row} * args.places.row_units, args.places.row)};
}

// Inputs of a sequence from the oldest that a convolution reaches: the newest that are remembered, those on the tape,
// those of this call.
std::vector<const float*> inputs_of(const DeltaArgs& args, const DeltaSpan& span) {
  const int64_t channels = args.shape.channels();
  std::vector<const float*> inputs;
  const float* recent = args.places.at(span.state, args.places.recent);
  for (int32_t j = 0; j + 1 < args.shape.kernel; ++j) inputs.push_back(recent + j * channels);
  for (int32_t i = 0; i < span.replayed; ++i) inputs.push_back(tape_row(args, span.kept, i).input);
  for (int32_t i = 0; i < span.count; ++i) inputs.push_back(args.u + (span.first_row + i) * channels);
  return inputs;
}

// One head through all rows of a sequence.
struct HeadRows {
  const CpuTable& table;
  const DeltaArgs& args;
  const DeltaSpan& span;
  const float *decay, *beta;  // [rows, value_heads]
  int32_t head;

  [[nodiscard]] float* state() const { return args.places.at(span.state, args.places.heads[head]); }
  [[nodiscard]] int64_t value() const { return int64_t{head} * args.shape.value_dim; }
  [[nodiscard]] DeltaStep step(int32_t row, float* on, float* error) const {
    const DeltaShape& shape = args.shape;
    const int64_t at = span.first_row + row, key_head = shape.key_head_of(head);
    const float* y = args.y + at * shape.channels();
    const int64_t gate = at * shape.value_heads + head;
    const float* q = y + key_head * shape.key_dim;
    return {on,
            shape.value_dim,
            shape.key_dim,
            shape.value_dim,
            q,
            q + shape.keys(),
            y + 2 * shape.keys() + value(),
            error,
            args.o + at * shape.values() + value(),
            decay[gate],
            beta[gate],
            nullptr};
  }

  void replay(float* on) const {
    const DeltaShape& shape = args.shape;
    const int64_t key_head = shape.key_head_of(head);
    for (int32_t i = 0; i < span.replayed; ++i) {
      const TapeRow row = tape_row(args, span.kept, i);
      DeltaStep step{on, shape.value_dim, shape.key_dim, shape.value_dim};
      step.k = row.key + key_head * shape.key_dim;
      step.d = row.error + value();
      step.decay = row.decay[head];
      table.delta_replay(step);
    }
  }

  // spare: [key_dim + 1, value_dim], where rows run that may be taken back, and errors. ahead: the state whose turn is
  // next; may be none.
  void run(float* spare, const float* ahead) const {
    float* own = state();
    replay(own);
    float* error = spare + args.shape.head_floats();
    for (int32_t row = 0; row < span.certain; ++row) {
      DeltaStep certain = step(row, own, error);
      if (row + 1 == span.certain) certain.ahead = ahead;
      table.delta_step(certain);
    }
    if (span.certain < span.count)
      std::memcpy(spare, own, static_cast<size_t>(args.shape.head_floats()) * sizeof(float));
    for (int32_t row = span.certain; row < span.count; ++row)
      table.delta_step(step(row, spare, tape_row(args, span.keeps, row - span.certain).error + value()));
    gate();
  }

  void gate() const {
    const int32_t dim = args.shape.value_dim;
    for (int64_t row = span.first_row; row < span.first_row + span.count; ++row) {
      const int64_t at = row * args.shape.values() + value();
      table.rms_norm(args.o + at, args.weight, args.o + at, dim, args.eps, 1.0f);
      table.silu_mul(args.z + at, args.o + at, dim);
    }
  }
};

}  // namespace

void CpuOps::delta(const DeltaArgs& args) {
  const auto gates = static_cast<size_t>(args.rows) * static_cast<size_t>(args.shape.value_heads);
  auto* decay = static_cast<float*>(delta_gates_.at_least(2 * gates * sizeof(float)));
  float* beta = decay + gates;
  convolve(args);
  prepare_steps(args, decay, beta);
  run_heads(args, decay, beta);
}

// Channels do not know each other either: a thread takes some of them through all rows.
void CpuOps::convolve(const DeltaArgs& args) {
  const DeltaShape& shape = args.shape;
  const int64_t channels = shape.channels();
  std::vector<std::vector<const float*>> inputs;
  for (const DeltaSpan& span : args.seqs) inputs.push_back(inputs_of(args, span));
  const int64_t piece = std::max<int64_t>(64, kElementsPerPiece / args.rows);
  pool_.run(channels, piece, [&](int64_t begin, int64_t end) {
    const auto bytes = static_cast<size_t>(end - begin) * sizeof(float);
    for (size_t s = 0; s < args.seqs.size(); ++s) {
      const DeltaSpan& span = args.seqs[s];
      const float* const* first = inputs[s].data() + span.replayed;
      for (int32_t i = 0; i < span.count; ++i)
        table_.convolve(
            {first + i, args.taps, channels, shape.kernel, static_cast<int32_t>(begin), static_cast<int32_t>(end)},
            args.y + (span.first_row + i) * channels);
      for (int32_t i = span.certain; i < span.count; ++i)
        std::memcpy(tape_row(args, span.keeps, i - span.certain).input + begin,
                    args.u + (span.first_row + i) * channels + begin, bytes);
      float* recent = args.places.at(span.state, args.places.recent);
      for (int32_t j = 0; j + 1 < shape.kernel; ++j)
        std::memmove(recent + j * channels + begin, first[span.certain + j] + begin, bytes);
    }
  });
}

// Queries and keys to unit length, gates; and what the tape keeps of them.
void CpuOps::prepare_steps(const DeltaArgs& args, float* decay, float* beta) {
  const DeltaShape& shape = args.shape;
  const auto width = static_cast<float>(shape.key_dim);
  const float scale = 1.0f / std::sqrt(width);
  const auto row_gates = [&](int64_t row) {
    for (int64_t i = row * shape.value_heads; i < (row + 1) * shape.value_heads; ++i) {
      const int64_t h = i - row * shape.value_heads;
      const double x = static_cast<double>(args.a[i] + args.bias[h]);
      const double soft = x > 30 ? x : std::log1p(std::exp(x));
      decay[i] = static_cast<float>(std::exp(static_cast<double>(args.rate[h]) * soft));
      beta[i] = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(args.b[i]))));
    }
  };
  pool_.run(args.rows, std::max<int64_t>(1, kElementsPerPiece / shape.channels()), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      row_gates(row);
      // A mean in place of a sum is a factor.
      for (int32_t h = 0; h < 2 * shape.key_heads; ++h) {
        float* x = args.y + row * shape.channels() + h * shape.key_dim;
        table_.rms_norm(x, nullptr, x, shape.key_dim, kUnitEps / width, h < shape.key_heads ? scale * scale : scale);
      }
    }
  });
  for (const DeltaSpan& span : args.seqs)
    for (int64_t i = span.certain; i < span.count; ++i) {
      const TapeRow row = tape_row(args, span.keeps, static_cast<int32_t>(i) - span.certain);
      const int64_t at = span.first_row + i;
      std::copy_n(args.y + at * shape.channels() + shape.keys(), shape.keys(), row.key);
      std::copy_n(decay + at * shape.value_heads, shape.value_heads, row.decay);
    }
}

void CpuOps::run_heads(const DeltaArgs& args, const float* decay, const float* beta) {
  const DeltaShape& shape = args.shape;
  const auto spare = static_cast<size_t>(shape.head_floats() + shape.value_dim);
  auto* spares =
      static_cast<float*>(delta_heads_.at_least(spare * static_cast<size_t>(pool_.threads()) * sizeof(float)));
  const auto head_at = [&](int64_t i) {
    const DeltaSpan& span = args.seqs[static_cast<size_t>(i / shape.value_heads)];
    return HeadRows{table_, args, span, decay, beta, static_cast<int32_t>(i % shape.value_heads)};
  };
  const int64_t heads = int64_t{shape.value_heads} * static_cast<int64_t>(args.seqs.size());
  pool_.run(heads, 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) {
      // Behind a piece of work mostly comes the next one.
      const float* ahead = i + 1 < heads ? head_at(i + 1).state() : nullptr;
      head_at(i).run(spares + spare * static_cast<size_t>(worker), ahead);
    }
  });
}

void CpuOps::sigmoid_mul(const SigmoidArgs& args) {
  pool_.run(args.rows, std::max<int64_t>(1, kElementsPerPiece / args.width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* y = args.y + row * args.width;
      if (!args.one_per_row) {
        table_.sigmoid_mul(y, args.gate + row * args.width, args.width);
        continue;
      }
      float share = 1;
      table_.sigmoid_mul(&share, args.gate + row, 1);
      for (int32_t i = 0; i < args.width; ++i) y[i] *= share;
    }
  });
}

void CpuOps::part_pairs(const PartArgs& args) {
  const auto bytes = static_cast<size_t>(args.width) * sizeof(float);
  pool_.run(args.rows, std::max<int64_t>(1, kElementsPerPiece / args.width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::memcpy(args.first + row * args.width, args.x + 2 * row * args.width, bytes);
      std::memcpy(args.second + row * args.width, args.x + (2 * row + 1) * args.width, bytes);
    }
  });
}

}  // namespace paceline::kernels
