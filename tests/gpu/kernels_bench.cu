// How fast the CUDA device runs the family's shapes: the card's own ceilings, each kind of product, and whole steps
// with random weights in device memory, as shares of what bytes and operations allow. A table on stdout; JSON where
// told.
//
//   kernels_bench [--json FILE] [--models 31b,26b-a4b,12b,e4b] [--formats bf16,q8,q4,q8_0,q4_0,q4_k,q6_k,fp8,nvfp4]
//     [--brief yes] [--prompts only] [--layers AT_MOST] [--ceilings no] [--contexts 512,30000,...] [--steps 512,30000,...]
//     [--rows 1,2,5,8]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench_ceilings.h"
#include "bench_clock.h"
#include "bench_model.h"
#include "kernels/cuda/cuda_ops.h"

namespace paceline::gpu {
namespace {

using kernels::Activation;
using kernels::Projection;
using kernels::cuda::CudaOps;

void bench_products(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name) {
  m.reserve(128);
  const auto product = [&](const std::string& what, int32_t rows, const std::function<void(const Layer&)>& f,
                           double bytes) {
    // As many layers as it takes to leave the cache behind.
    const int32_t layers = std::min<int32_t>(static_cast<int32_t>(m.layers().size()), 12);
    std::vector<const Layer*> used;
    for (int32_t i = 0; i < layers; ++i)
      if (const Layer& l = m.layers()[static_cast<size_t>(i)]; !l.global && l.owns) used.push_back(&l);
    const double ms = time_graph_ms(ops.stream(), 9, [&] {
      for (const Layer* l : used) f(*l);
    });
    const auto count = static_cast<double>(used.size());
    report(name, what + ", " + std::to_string(rows) + " rows", ms / count, bytes * count / ms / c.bytes_per_ms, "GB/s",
           bytes * count / ms / 1e6);
  };
  const Layer& l = m.sliding();
  for (const int32_t rows : {1, 8, 16, 32, 64, 128}) {
    product(
        "qkv", rows,
        [&](const Layer& at) {
          const Projection out[3] = {{&at.q, m.q_}, {&at.k, m.attended_}, {&at.v, m.wide_}};
          ops.linear(m.normed_, rows, Activation::bf16, out);
        },
        static_cast<double>(l.q.bytes() + l.k.bytes() + l.v.bytes()));
    product(
        "o", rows,
        [&](const Layer& at) {
          const Projection out{&at.o, m.branch_};
          ops.linear(m.attended_, rows, Activation::bf16, {&out, 1});
        },
        static_cast<double>(l.o.bytes()));
    product(
        "gate up", rows,
        [&](const Layer& at) {
          ops.gated(m.normed_, rows, Activation::bf16, {&at.gate, &at.up, m.wide_});
        },
        static_cast<double>(l.gate.bytes() + l.up.bytes()));
    product(
        "down", rows,
        [&](const Layer& at) {
          const Projection out{&at.down, m.branch_};
          ops.linear(m.wide_, rows, Activation::bf16, {&out, 1});
        },
        static_cast<double>(l.down.bytes()));
  }
  for (const int32_t rows : {1, 8}) {
    const double ms = time_graph_ms(ops.stream(), 9, [&] { m.logits(rows); });
    const auto bytes = static_cast<double>(m.head().bytes());
    report(name, "head, " + std::to_string(rows) + " rows", ms, bytes / ms / c.bytes_per_ms, "GB/s", bytes / ms / 1e6);
  }
  const double rows_ms = time_graph_ms(ops.stream(), 9, [&] {
    for (int i = 0; i < 20; ++i) {
      ops.add_norm({m.x_, m.branch_, m.normed_, 1, m.shape().hidden, 1e-6f, 1});
      ops.rms_norm({m.x_, m.branch_, m.normed_, 1, m.shape().hidden, 1e-6f, 1});
    }
  });
  report(name, "both norms, 1 row", rows_ms / 20, 0, "us", rows_ms / 20 * 1000);
}

// One kind of operation over all layers, per layer.
void bench_parts(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name, int32_t rows, int32_t pos) {
  const auto count = static_cast<double>(m.layers().size());
  m.reserve(rows);
  const auto over_layers = [&](const std::string& what, const std::function<void(const Layer&)>& f) {
    const double ms = time_graph_ms(ops.stream(), 5, [&] {
      for (const Layer& l : m.layers()) f(l);
    });
    report(name, what + ", " + std::to_string(rows) + " rows", ms / count, 0, "us", ms / count * 1000);
  };
  over_layers("heads", [&](const Layer& l) { m.attend(l, rows, pos, true, false); });
  over_layers("attention at " + std::to_string(pos), [&](const Layer& l) { m.attend(l, rows, pos, false, true); });
  over_layers("heads and attention at " + std::to_string(pos),
              [&](const Layer& l) { m.attend(l, rows, pos, true, true); });
  if (rows <= 16) return;
  const auto product = [&](const std::string& what, const std::function<double(const Layer&)>& operations_of,
                           const std::function<void(const Layer&)>& f) {
    double operations = 0;
    for (const Layer& l : m.layers()) operations += operations_of(l);
    const double ms = time_graph_ms(ops.stream(), 3, [&] {
      for (const Layer& l : m.layers()) f(l);
    });
    report(name, what + ", " + std::to_string(rows) + " rows", ms / count, operations / ms / c.operations_per_ms,
           "TFLOP/s", operations / ms / 1e9);
  };
  const auto of = [&](const Matrix& w) { return 2.0 * rows * w.rows * w.cols; };
  product(
      "qkv", [&](const Layer& l) { return of(l.q) + of(l.k) + of(l.v); }, [&](const Layer& l) { m.project(l, rows); });
  product(
      "o", [&](const Layer& l) { return of(l.o); },
      [&](const Layer& l) {
        const Projection out{&l.o, m.branch_};
        ops.linear(m.attended_, rows, Activation::bf16, {&out, 1});
      });
  product(
      "gate up", [&](const Layer& l) { return of(l.gate) + of(l.up); },
      [&](const Layer& l) {
        ops.gated(m.normed_, rows, Activation::bf16, {&l.gate, &l.up, m.wide_});
      });
  product(
      "down", [&](const Layer& l) { return of(l.down); },
      [&](const Layer& l) {
        const Projection out{&l.down, m.branch_};
        ops.linear(m.wide_, rows, Activation::bf16, {&out, 1});
      });
  if (m.shape().experts > 0) {
    over_layers("route", [&](const Layer& l) { m.route(l, rows); });
    product(
        "experts", [&](const Layer& l) { return of(l.e_gate.first) * 3 * m.shape().top; },
        [&](const Layer& l) { m.mix(l, rows); });
  }
  over_layers("norms", [&](const Layer&) {
    ops.add_norm({m.x_, m.branch_, m.normed_, rows, m.shape().hidden, 1e-6f, 1});
    ops.rms_norm({m.x_, m.branch_, m.normed_, rows, m.shape().hidden, 1e-6f, 1});
  });
  if (m.shape().ple > 0) over_layers("per-layer inputs", [&](const Layer& l) { m.per_layer(l, rows, 0); });
}

// Attention of the layers that see everything, at each of these contexts: bytes of keys and values for a step's rows,
// operations for a prompt's.
void bench_contexts(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name,
                    const std::vector<int32_t>& contexts) {
  double layers = 0;
  for (const Layer& l : m.layers()) layers += l.global ? 1 : 0;
  for (const int32_t rows : {1, 8})
    for (const int32_t pos : contexts) {
      // Further on a window sees as much.
      if (pos > 4000) continue;
      m.reserve(rows);
      const double ms = time_graph_ms(ops.stream(), 9, [&] {
        for (const Layer& l : m.layers())
          if (!l.global) m.attend(l, rows, pos, true, true);
      });
      const double each = ms / (static_cast<double>(m.layers().size()) - layers);
      report(name, "window at " + std::to_string(pos) + ", " + std::to_string(rows) + " rows", each, 0, "us",
             each * 1000);
    }
  for (const int32_t rows : {1, 5, 8, 256, 2048})
    for (const int32_t pos : contexts) {
      if (rows > 8 && pos < rows) continue;
      const int32_t first = rows > 8 ? pos - rows : pos;
      m.reserve(rows);
      const double ms = time_graph_ms(ops.stream(), rows > 8 ? 3 : 9, [&] {
        for (const Layer& l : m.layers())
          if (l.global) m.attend(l, rows, first, true, true);
      });
      double bytes = 0, operations = 0;
      for (const Layer& l : m.layers()) {
        if (!l.global) continue;
        const int32_t joined = m.joined_of(l);
        const double each = m.heads_of(l).kv_dtype == DType::i8 ? 1 : 2;
        bytes += each * l.kv_heads * (joined > 0 ? l.dim + joined : 2 * l.dim) * (first + rows);
        operations += 4.0 * rows * (first + rows / 2.0) * m.shape().heads * l.dim;
      }
      const std::string what = "attention at " + std::to_string(pos) + ", " + std::to_string(rows) + " rows";
      if (rows > 8)
        report(name, what, ms / layers, operations / ms / c.operations_per_ms, "TFLOP/s", operations / ms / 1e9);
      else
        report(name, what, ms / layers, bytes / ms / c.bytes_per_ms, "GB/s", bytes / ms / 1e6);
    }
}

bool brief = false, prompts_only = false;
std::vector<int32_t> contexts, steps, step_rows = {1, 2, 5, 8};

// Steps of few rows alone, at these positions.
void bench_steps(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name) {
  for (const int32_t pos : steps)
    for (const int32_t rows : step_rows) {
      const double bytes = m.bytes(m.touched(rows, pos)) + m.kv_bytes(pos);
      const double ms = time_graph_ms(ops.stream(), 31, [&] { m.step(1, rows, pos, true); });
      report(name, "step of " + std::to_string(rows) + " at " + std::to_string(pos), ms, bytes / ms / c.bytes_per_ms,
             "x its bytes", ms * c.bytes_per_ms / bytes);
    }
}

void bench_prompts(CudaOps& ops, Model& m, const Ceilings& c, const std::string& name) {
  for (const int32_t rows : {256, 2048}) {
    const double ms = time_ms(ops.stream(), 3, [&] { m.step(1, rows, 0, false); });
    report(name, "prompt of " + std::to_string(rows), ms, m.operations(rows) / ms / c.operations_per_ms, "TFLOP/s",
           m.operations(rows) / ms / 1e9);
  }
  // After a whole step: the rows that experts are chosen by are there.
  bench_parts(ops, m, c, name, 2048, 0);
}

void bench_model(CudaOps& ops, const Shape& shape, WeightFormat format, const Ceilings& c) {
  const std::string name =
      shape.name + (format == WeightFormat::bf16 ? "" : std::string(" ") + weight_format_name(format));
  int32_t most_context = 4096;
  for (const int32_t pos : contexts) most_context = std::max(most_context, pos);
  for (const int32_t pos : steps) most_context = std::max(most_context, pos + 64);
  Model m(ops, shape, format, most_context);
  if (!steps.empty()) return bench_steps(ops, m, c, name);
  const int32_t pos = 512;
  if (!contexts.empty()) {
    const std::pair<const char*, bool> formats[] = {{" joined", false}, {" joined, 8 bits", true}};
    for (const auto& [pages, codes] : formats) {
      m.set_pages(true, codes);
      bench_contexts(ops, m, c, name + pages, contexts);
    }
    m.set_pages(false, false);
    bench_contexts(ops, m, c, name + " apart", contexts);
    return;
  }
  if (prompts_only) return bench_prompts(ops, m, c, name);
  bench_products(ops, m, c, name);
  for (const int32_t rows : {1, 8}) bench_parts(ops, m, c, name, rows, pos);
  must(ops.wait());
  double plain = 0;
  for (const int32_t rows : {1, 5, 8}) {
    if (brief && rows == 5) continue;
    const double touched = m.touched(rows, pos);
    if (touched > 0) report(name, "experts, " + std::to_string(rows) + " rows", 0, 0, "of a layer", touched);
    const double bytes = m.bytes(touched) + m.kv_bytes(pos);
    const double ms = time_graph_ms(ops.stream(), 9, [&] { m.step(1, rows, pos, true); });
    if (rows == 1) plain = ms;
    report(name, rows == 1 ? "plain step" : "verify of " + std::to_string(rows), ms, bytes / ms / c.bytes_per_ms,
           "x plain", ms / plain);
    if (rows == 1) {
      const double eager = time_ms(ops.stream(), 5, [&] {
        m.step(1, rows, pos, true);
        (void)ops.wait();
      });
      report(name, "plain step without a graph", eager, bytes / eager / c.bytes_per_ms, "x plain", eager / plain);
    }
  }
  if (brief) return;
  for (const int32_t seqs : {16, 32, 64}) {
    m.reserve(seqs);
    const double many = time_graph_ms(ops.stream(), 7, [&] { m.step(seqs, 1, pos, true); });
    report(name, std::to_string(seqs) + " sequences", many, 0, "x one", seqs * plain / many);
  }
  bench_prompts(ops, m, c, name);
  must(ops.wait());
}

std::vector<int32_t> numbers(const char* list) {
  std::vector<int32_t> all;
  for (char* at = nullptr; *list != 0; list = *at == ',' ? at + 1 : at)
    all.push_back(static_cast<int32_t>(std::strtol(list, &at, 10)));
  return all;
}

bool listed(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

constexpr std::pair<const char*, WeightFormat> kFormats[] = {
    {"bf16", WeightFormat::bf16}, {"q8", WeightFormat::q8},     {"q4", WeightFormat::q4},    {"q8_0", WeightFormat::q8_0},
    {"q4_0", WeightFormat::q4_0}, {"q4_k", WeightFormat::q4_k}, {"q6_k", WeightFormat::q6_k},
    {"fp8", WeightFormat::f8},    {"nvfp4", WeightFormat::nvfp4_split}};

int run(int argc, char** argv) {
  // Where no formats are named: bf16, and of one model those of groups.
  std::string file, models = "31b,26b-a4b,12b,e4b", formats;
  int32_t layers = 1000;
  bool ceilings = true;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--brief") == 0) brief = std::strcmp(argv[i + 1], "yes") == 0;
    if (std::strcmp(argv[i], "--prompts") == 0) prompts_only = std::strcmp(argv[i + 1], "only") == 0;
    if (std::strcmp(argv[i], "--contexts") == 0) contexts = numbers(argv[i + 1]);
    if (std::strcmp(argv[i], "--steps") == 0) steps = numbers(argv[i + 1]);
    if (std::strcmp(argv[i], "--rows") == 0) step_rows = numbers(argv[i + 1]);
    if (std::strcmp(argv[i], "--layers") == 0) layers = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--ceilings") == 0) ceilings = std::strcmp(argv[i + 1], "no") != 0;
    if (std::strcmp(argv[i], "--json") == 0) file = argv[i + 1];
    if (std::strcmp(argv[i], "--models") == 0) models = argv[i + 1];
    if (std::strcmp(argv[i], "--formats") == 0) formats = argv[i + 1];
  }
  auto made = CudaOps::make();
  if (!made.ok()) {
    std::printf("%s\n", made.error().message.c_str());
    return 3;
  }
  CudaOps& ops = **made;
  time_work_of(ops);
  ops.launches().set_graphs(false);
  // An H200's, where they are not measured.
  const Ceilings c = ceilings ? measure_ceilings(ops.stream()) : Ceilings{4.5e9, 8.04e11};
  for (Shape shape : kShapes) {
    if (!listed(models, shape.name)) continue;
    shape.layers = std::min(shape.layers, layers);
    shape.shared = std::min(shape.shared, layers / 2);
    const std::string wanted =
        !formats.empty() ? formats : std::strcmp(shape.name, "31b") == 0 ? "bf16,q8,q4" : "bf16";
    for (const auto& [format_name, format] : kFormats)
      if (listed(wanted, format_name)) bench_model(ops, shape, format, c);
  }
  if (!file.empty()) write_json(file);
  return 0;
}

}  // namespace
}  // namespace paceline::gpu

int main(int argc, char** argv) { return paceline::gpu::run(argc, argv); }
