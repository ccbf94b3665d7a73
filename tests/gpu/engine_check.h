// What the checks of the engine on the CUDA device share.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "check.h"
#include "model/forward.h"
#include "model/model_weights.h"
#include "speculate/drafter.h"
#include "state/kv_formats.h"

namespace paceline::gpu {

using Clock = std::chrono::steady_clock;

inline double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Machine {
  ThreadPool pool{16};
  std::unique_ptr<Ops> ops;

  Machine() {
    auto made = kernels::make_cuda_ops();
    if (!made.ok()) {
      std::printf("%s\n", made.error().message.c_str());
      std::exit(3);
    }
    ops = std::move(*made);
  }
};

// A model to check, with its drafter if it has one.
struct Subject {
  std::string name;
  std::shared_ptr<const ModelWeights> weights;
  // One that drafts for a forward of these weights; none: it has none.
  std::function<std::unique_ptr<Drafter>(Forward&)> drafter;
  Precision precision = Precision::bf16;
  std::optional<KvFormats> kv = {};  // none: what the precision says
  std::vector<int32_t> timed_depths = {0, 1, 4, 7};

  [[nodiscard]] std::unique_ptr<Forward> forward(Ops& ops) const { return weights->make_forward(ops, precision, kv); }
};

inline void expect_fine(Machine& m, Checks& checks, const std::string& what) {
  const Status status = m.ops->wait();
  checks.expect(status.ok(), what + (status.ok() ? "" : ": " + status.error().message));
}

template <class T>
T must(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::printf("%s\n", result.error().message.c_str());
  std::exit(2);
}

// The device's choices against the host's.
void check_choices(Machine& m, Checks& checks, int32_t vocab, int rounds);
// Texts under load against the bare loop.
void check_subject(Machine& m, Checks& checks, const Subject& subject, int32_t requests, int32_t at_once = 16);
// The matrix of drafters and depths, through the bare loop.
void check_matrix(Machine& m, Checks& checks, const Subject& subject, int32_t stride, int32_t tokens);
// Rows alone and in company, over and over: logits and what went into every layer, to the last bit.
void check_rows(Machine& m, Checks& checks, const Subject& subject, int32_t prompt, int32_t repeats);
// Soft tokens of a checkpoint that sees, against the processor's.
void check_pictures(Machine& m, Checks& checks, const std::filesystem::path& folder);
// Median milliseconds of a step of one sequence at so many drafts, greedy, alternating between the depths.
void time_rounds(Machine& m, const Subject& subject);
// The same at a long context, plain and with drafts.
void time_long_rounds(Machine& m, const Subject& subject, int32_t context);
// All memory that a server would deal out, dealt out: no more is taken than was said, and steps still run.
void check_memory(Machine& m, Checks& checks, const Subject& subject);

}  // namespace paceline::gpu
