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

}  // namespace paceline::gpu
