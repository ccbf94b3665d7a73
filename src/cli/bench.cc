// `paceline bench`: how fast a model's forward is, against what the machine's memory allows; what speculation makes of
// it; many requests at once; and a server under load.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "bench/busy.h"
#include "bench/context_report.h"
#include "bench/drafters.h"
#include "bench/engine_report.h"
#include "bench/forward_report.h"
#include "bench/serve_bench.h"
#include "bench/speculation_plot.h"
#include "bench/speculation_report.h"
#include "bench/target.h"
#include "bench/texts.h"
#include "cli/bench_options.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "session/machine.h"
#include "speculate/scripted/scripted_drafter.h"

namespace paceline {
namespace {

// Above this, figures say as much about the neighbours as about us.
constexpr double kBusyWarning = 0.05;
// Of the server that is measured.
constexpr const char* kKeyVariable = "PACELINE_API_KEY";

double told_busy() {
  const double busy = measure_busy();
  if (busy > kBusyWarning)
    remark(fmt::format("the machine is {:.0f} % busy with something else: figures will be too low", 100 * busy));
  return busy;
}

std::string line_of(const boost::json::object& object) { return boost::json::serialize(object) + "\n"; }

int print(const std::string& text) {
  if (const auto error = write_out(text)) return fail_to_write(error);
  return kExitDone;
}

// What was found, as JSON and as a picture.
int write_files(const std::string& name, const std::string& json, const std::string& picture) {
  if (name.empty()) return kExitDone;
  for (const auto& [path, text] : {std::pair(name + ".json", json), std::pair(name + ".svg", picture)}) {
    std::ofstream file(path, std::ios::binary);
    if (!(file << text).flush().good()) return fail(kExitFailure, fmt::format("{}: cannot be written", path));
    remark(fmt::format("wrote {}", path));
  }
  return kExitDone;
}

Result<std::vector<BenchDepth>> read_depths(const std::vector<std::string>& names) {
  std::vector<BenchDepth> depths;
  for (const std::string& name : names) {
    int32_t depth = 0;
    if (name == "auto") {
      depths.emplace_back(std::nullopt);
    } else if (read_number(name, depth) && depth >= 0 && depth <= kMaxDraftTokens) {
      if (depth > 0) depths.emplace_back(depth);  // plain is always measured
    } else {
      return Error{fmt::format("--depths wants numbers from 0 to {} or auto, not {}", kMaxDraftTokens, name)};
    }
  }
  return depths;
}

int bench_server(const BenchOptions& options) {
  ServeBenchSettings settings = options.serving;
  settings.server_arguments = server_arguments(options);
  if (const char* key = std::getenv(kKeyVariable)) settings.api_key = key;
  settings.at_once = options.at_once;
  settings.mix.temperature = options.temperature;
  settings.plain = options.ways != "auto";
  settings.drafted = options.ways != "plain";
  settings.plain_first = is_scripted(options.draft);
  if (options.rounds > 0) settings.rounds = options.rounds;
  if (!settings.kinds.empty()) {
    auto depths = read_depths(options.depths);
    if (!depths.ok()) return fail(kExitUsage, depths.error().message);
    settings.depths = std::move(*depths);
  }
  ProgressBar bar("measuring", stderr_is_terminal());
  settings.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  const auto report = bench_serving(settings);
  bar.clear();
  if (!report.ok()) return fail(kExitFailure, report.error().message);

  const std::string json = line_of(serve_json(*report));
  if (const int code = print(options.json ? json : serve_table(*report)); code != kExitDone) return code;
  const std::string name = options.out_given ? options.out : "serving";
  if (const int code = write_files(name, json, settings.kinds.empty() ? plot_serving(*report) : plot_depths(*report));
      code != kExitDone)
    return code;
  const int64_t failed = report->failed();
  return failed == 0 ? kExitDone : fail(kExitFailure, fmt::format("{} requests failed", failed));
}

// Measurements of a model that this process runs.
class ModelBench {
 public:
  ModelBench(const BenchOptions& options, const BenchTarget& target, Forward& forward, Machine& machine)
      : options_(options), target_(target), forward_(forward), machine_(machine) {}

  int run() {
    if (!options_.engine && !options_.speculation) return measure_forward();
    auto depths = read_depths(options_.depths);
    if (!depths.ok()) return fail(kExitUsage, depths.error().message);
    SampleSettings sampling;
    sampling.temperature = options_.temperature;
    sampling.seed = 1;
    const auto texts = bench_texts(target_, sampling, options_.tokens);
    if (!texts.ok()) return fail(kExitFailure, texts.error().message);
    auto drafter = BenchDrafter::make(options_.draft, options_.source, target_, forward_, machine_);
    if (!drafter.ok()) return fail(kExitFailure, drafter.error().message);
    return options_.engine ? measure_engine(*texts, *drafter) : measure_speculation(*texts, *drafter, *depths);
  }

 private:
  int measure_contexts() {
    ContextBenchSettings settings;
    settings.contexts = options_.contexts;
    std::sort(settings.contexts.begin(), settings.contexts.end());
    settings.chunk = options_.forward.chunk;
    if (options_.widths_given) settings.widths = options_.forward.widths;
    if (options_.rounds > 0) settings.rounds = options_.rounds;
    const double busy = told_busy();
    settings.progress = progress();
    const auto result = bench_contexts(forward_, machine_.pool(), settings);
    bar_.clear();
    if (!result.ok()) return fail(kExitFailure, result.error().message);
    const ContextReport report{.model = target_.name,
                               .kernels = machine_.kernels_name(),
                               .kv = forward_.precision() == Precision::f32 ? "f32" : "bf16",
                               .threads = machine_.threads(),
                               .weight_gigabytes = static_cast<double>(target_.weights->total_bytes()) / 1e9,
                               .busy_before = busy,
                               .result = *result};
    const std::string json = line_of(context_json(report));
    if (const int code = print(options_.json ? json : context_table(report)); code != kExitDone) return code;
    return write_files(options_.out, json, plot_contexts(report));
  }

  int measure_forward() {
    if (options_.contexts.size() > 1) return measure_contexts();
    ForwardBenchSettings settings = options_.forward;
    settings.context = options_.contexts.front();
    if (options_.rounds > 0) settings.rounds = options_.rounds;
    const double busy = told_busy();
    settings.progress = progress();
    const auto result = bench_forward(forward_, machine_.pool(), settings);
    bar_.clear();
    if (!result.ok()) return fail(kExitFailure, result.error().message);
    const ForwardReport report{.model = target_.name,
                               .kernels = machine_.kernels_name(),
                               .threads = machine_.threads(),
                               .context = settings.context,
                               .prompt = settings.prompt,
                               .weight_gigabytes = static_cast<double>(target_.weights->total_bytes()) / 1e9,
                               .busy_before = busy,
                               .result = *result};
    return print(options_.json ? line_of(forward_json(report)) : forward_table(report));
  }

  int measure_engine(const std::vector<BenchText>& texts, const BenchDrafter& drafter) {
    if (drafter.wants_texts()) return fail(kExitUsage, "--engine measures drafters that know no text beforehand");
    const double busy = told_busy();
    EngineBenchSettings settings;
    settings.at_once = options_.at_once;
    if (options_.rounds > 0) settings.rounds = options_.rounds;
    settings.drafter = &drafter.drafter();
    settings.costs = drafter.time_rounds(forward_);
    settings.progress = progress();
    const auto cells = bench_engine(forward_, machine_.pool(), texts, settings);
    bar_.clear();
    if (!cells.ok()) return fail(kExitFailure, cells.error().message);
    const EngineReport report{.model = target_.name,
                              .drafter = drafter.name(),
                              .kernels = machine_.kernels_name(),
                              .threads = machine_.threads(),
                              .rounds = settings.rounds,
                              .busy_before = busy,
                              .cells = *cells};
    return print(options_.json ? line_of(engine_json(report)) : engine_table(report));
  }

  int measure_speculation(const std::vector<BenchText>& texts, BenchDrafter& drafter,
                          const std::vector<BenchDepth>& depths) {
    const double busy = told_busy();
    SpeculationBenchSettings settings;
    settings.depths = depths;
    if (options_.rounds > 0) settings.rounds = options_.rounds;
    settings.drafter = &drafter;
    settings.costs = drafter.time_rounds(forward_);
    settings.progress = progress();
    const auto cells = bench_speculation(forward_, machine_.pool(), texts, settings);
    bar_.clear();
    if (!cells.ok()) return fail(kExitFailure, cells.error().message);
    const SpeculationReport report{.model = target_.name,
                                   .drafter = drafter.name(),
                                   .kernels = machine_.kernels_name(),
                                   .threads = machine_.threads(),
                                   .rounds = settings.rounds,
                                   .max_tokens = options_.tokens,
                                   .temperature = options_.temperature,
                                   .busy_before = busy,
                                   .cells = *cells};
    const std::string json = line_of(report_json(report));
    if (const int code = print(options_.json ? json : report_table(report)); code != kExitDone) return code;
    return write_files(options_.out_given ? options_.out : "speculation", json, plot_speculation(report));
  }

  std::function<void(int64_t, int64_t)> progress() {
    return [this](int64_t done, int64_t total) { bar_.update(done, total); };
  }

  const BenchOptions& options_;
  const BenchTarget& target_;
  Forward& forward_;
  Machine& machine_;
  ProgressBar bar_{"measuring", stderr_is_terminal()};
};

int run_bench(const BenchOptions& options) {
  if (options.serve) return bench_server(options);
  auto machine = Machine::make({.threads = options.run.threads, .pinned = true, .device = options.run.device});
  if (!machine.ok()) return fail(kExitFailure, machine.error().message);
  TargetNews news;
  ProgressBar bar("arranging", stderr_is_terminal());
  news.arranging = [&](int64_t done, int64_t total) { bar.update(done, total); };
  if (stderr_is_terminal()) news.tell = [](const std::string& text) { remark(text); };
  const auto target = load_bench_target(options.source, **machine, news);
  bar.clear();
  if (!target.ok())
    return fail(options.source.random.shape.empty() ? kExitFailure : kExitUsage, target.error().message);
  const KvFormats kv = kv_formats(options.run);
  const Status kept = check_formats(kv, target->weights->state(), (*machine)->ops().limits());
  if (!kept.ok()) return fail(kExitFailure, kept.error().message);
  const auto forward = target->weights->make_forward((*machine)->ops(), options.run.precision, kv);
  if (const Status placed = (*machine)->ops().wait(); !placed.ok()) return fail(kExitFailure, placed.error().message);
  return ModelBench(options, *target, *forward, **machine).run();
}

}  // namespace

void add_bench_command(const Command& program, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  const Command command = program.add_subcommand(
      "bench", "Measure how fast a model runs here, against the memory's bandwidth; and speculation");
  add_bench_options(command, *options);
  command->callback([options, &action] { action = [options] { return run_bench(*options); }; });
}

}  // namespace paceline
