// What a round of the engine costs on the device.
#include <algorithm>
#include <vector>

#include "engine/engine.h"
#include "engine_check.h"

namespace paceline::gpu {
namespace {

class Listening : public Listener {
 public:
  Heard hear(const Event& event) override {
    tokens += static_cast<int64_t>(event.tokens.size());
    if (event.end != nullptr) ended = true;
    return {event.tokens.size(), false};
  }
  int64_t tokens = 0;
  bool ended = false;
};

class Watching : public StepObserver {
 public:
  void observe(const StepReport& report) override { draft_ms = report.draft_ms; }
  double draft_ms = 0;
};

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

void time_rounds(Machine& m, const Subject& subject) {
  const std::unique_ptr<Forward> made = subject.forward(*m.ops);
  Forward& forward = *made;
  const std::unique_ptr<Drafter> drafter = subject.drafter(forward);
  const size_t depths = subject.timed_depths.size();
  std::vector<std::vector<double>> times(depths), drafting(depths);
  Watching watching;
  for (int round = 0; round < 2; ++round)
    for (size_t d = 0; d < depths; ++d) {
      StepCosts costs;
      EngineParts parts{&forward, &m.pool, drafter.get(), &costs, &watching, nullptr};
      EngineSettings settings;
      settings.fixed_depth = subject.timed_depths[d];
      settings.kv_bytes = size_t{16} << 30;
      Engine engine(parts, settings);
      Request request;
      for (int32_t i = 0; i < 512; ++i) request.prompt.push_back(1 + (i * 7919) % (forward.config().vocab - 1));
      request.sampling.temperature = 0;
      request.max_tokens = 100;
      request.context = 4096;
      const auto listening = std::make_shared<Listening>();
      if (const Submission submission = engine.submit(request, listening); submission.refusal != Refusal::none)
        std::printf("refused: %d, needs %zu bytes\n", static_cast<int>(submission.refusal), submission.needs_bytes);
      while (listening->tokens == 0 && engine.step()) {
      }
      for (int step = 0; step < 30 && !listening->ended; ++step) {
        const auto begin = Clock::now();
        if (!engine.step()) break;
        if (step < 8) continue;
        times[d].push_back(ms_since(begin));
        drafting[d].push_back(watching.draft_ms);
      }
      while (engine.step()) {
      }
    }
  double plain = 0;
  for (size_t d = 0; d < depths; ++d) {
    const double ms = median(times[d]);
    if (d == 0) plain = ms;
    std::printf("%-24s round with %d drafts: %.3f ms, %.3f plain steps; %.3f ms of it drafting\n", subject.name.c_str(),
                subject.timed_depths[d], ms, ms / plain, median(drafting[d]));
  }
  std::fflush(stdout);
}

// Engines that stay, since each keeps what it has read: only the first request of each reads the context.
void time_long_rounds(Machine& m, const Subject& subject, int32_t context) {
  const std::unique_ptr<Forward> made = subject.forward(*m.ops);
  Forward& forward = *made;
  const std::unique_ptr<Drafter> drafter = subject.drafter(forward);
  constexpr int32_t kDepths[] = {0, 4};
  std::vector<double> times[2], drafting[2];
  Watching watching;
  StepCosts costs[2];
  std::unique_ptr<Engine> engines[2];
  for (size_t d = 0; d < 2; ++d) {
    EngineParts parts{&forward, &m.pool, drafter.get(), &costs[d], &watching, nullptr};
    EngineSettings settings;
    settings.fixed_depth = kDepths[d];
    settings.chunk_rows = kMostForwardRows;
    settings.kv_bytes = forward.kv_layout().sequence_bytes(context + 4096, kMostForwardRows) * 2;
    engines[d] = std::make_unique<Engine>(parts, settings);
  }
  double first_ms = 0;
  for (int round = 0; round < 4; ++round)
    for (size_t d = 0; d < 2; ++d) {
      Request request;
      for (int32_t i = 0; i < context; ++i)
        request.prompt.push_back(1 + static_cast<int32_t>((int64_t{i} * 7919 + i / 13) % (forward.config().vocab - 1)));
      request.sampling.temperature = 0;
      request.max_tokens = 200;
      request.context = context + 2048;
      const auto listening = std::make_shared<Listening>();
      if (const Submission submission = engines[d]->submit(request, listening); submission.refusal != Refusal::none)
        std::printf("refused: %d, needs %zu bytes\n", static_cast<int>(submission.refusal), submission.needs_bytes);
      const auto prompt_begin = Clock::now();
      while (listening->tokens == 0 && engines[d]->step()) {
      }
      if (round == 0 && d == 0) first_ms = ms_since(prompt_begin);
      for (int step = 0; step < 40 && !listening->ended; ++step) {
        const auto begin = Clock::now();
        if (!engines[d]->step()) break;
        if (step < 8) continue;
        times[d].push_back(ms_since(begin));
        drafting[d].push_back(watching.draft_ms);
      }
      while (engines[d]->step()) {
      }
    }
  const double plain = median(times[0]), round = median(times[1]);
  std::printf(
      "%-24s at %d: prompt %.0f tok/s, step %.3f ms (%.1f tok/s), round with 4 drafts %.3f ms = %.3f plain steps; "
      "%.3f ms of it drafting\n",
      subject.name.c_str(), context, context / first_ms * 1e3, plain, 1e3 / plain, round, round / plain,
      median(drafting[1]));
}

}  // namespace paceline::gpu
