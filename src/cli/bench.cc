// `paceline bench`: how fast a model's forward is, against what the machine's memory allows; and what speculation makes
// of it.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <fstream>
#include <memory>

#include "cli/bench_drafter.h"
#include "cli/bench_engine.h"
#include "cli/bench_forward.h"
#include "cli/bench_serve.h"
#include "cli/bench_speculation.h"
#include "cli/bench_target.h"
#include "cli/bench_texts.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generate_options.h"
#include "cli/progress.h"
#include "cli/speculation_plot.h"
#include "cli/speculation_report.h"
#include "session/machine.h"
#include "speculate/calibrate.h"

namespace paceline {
namespace {

// Above this, figures say as much about the neighbours as about us.
constexpr double kBusyWarning = 0.05;

struct BenchOptions {
  BenchSource source;
  int threads = 0;
  Device device = Device::automatic;
  bool json = false;
  std::string precision = "bf16";
  BenchSettings forward;
  bool speculation = false, engine = false, serve = false;
  ServeBenchOptions serving;
  std::vector<int32_t> at_once{1, 4, 16, 64};
  std::string draft = "auto";
  std::vector<std::string> depths{"1", "2", "3", "4", "5", "6", "7", "8", "auto"};
  int32_t rounds = 0;  // 0: what suits the measurement
  int32_t tokens = 128;
  float temperature = 0;
  std::string out;  // default: speculation or serving
  bool out_given = false;
};

double gigabytes(const BenchTarget& target) { return static_cast<double>(target.weights->total_bytes()) / 1e9; }

void print_table(const BenchOptions& options, const BenchTarget& target, const BenchResult& result,
                 const Machine& machine) {
  fmt::print("{}: {:.2f} GB of weights, {} kernels, {} threads, context {}\n", target.name, gigabytes(target),
             machine.kernels_name(), machine.threads(), options.forward.context);
  fmt::print("read bandwidth {:.1f} GB/s; machine {:.0f} % busy before the run\n\n", result.bandwidth_gbs,
             100 * result.busy_before);
  fmt::print("{:>6} {:>10} {:>9} {:>10} {:>8} {:>12}\n", "width", "ms", "GB/s", "share", "÷ 1", "bytes ÷ 1");
  for (const WidthResult& width : result.widths)
    fmt::print("{:>6} {:>10.3f} {:>9.1f} {:>8.1f} % {:>7.2f} {:>11.2f}\n", width.width, width.ms,
               width.bytes / width.ms / 1e6, 100 * width.share, width.ratio, width.bytes_ratio);
  fmt::print("\ndecode {:.1f} tok/s; prompt of {} {:.0f} tok/s ({:.1f} × decode)\n", result.decode_tok_s,
             options.forward.prompt, result.prompt_tok_s, result.prompt_ratio);
}

void print_json(const BenchOptions& options, const BenchTarget& target, const BenchResult& result,
                const Machine& machine) {
  boost::json::array widths;
  for (const WidthResult& width : result.widths)
    widths.push_back({{"width", width.width},
                      {"ms", width.ms},
                      {"weight_bytes", width.bytes},
                      {"bandwidth_share", width.share},
                      {"ratio_to_first", width.ratio},
                      {"bytes_ratio_to_first", width.bytes_ratio}});
  const boost::json::object out{{"model", target.name},
                                {"kernels", machine.kernels_name()},
                                {"threads", machine.threads()},
                                {"context", options.forward.context},
                                {"weight_gigabytes", gigabytes(target)},
                                {"bandwidth_gb_s", result.bandwidth_gbs},
                                {"busy_before", result.busy_before},
                                {"widths", widths},
                                {"decode_tokens_per_s", result.decode_tok_s},
                                {"prompt_tokens", options.forward.prompt},
                                {"prompt_tokens_per_s", result.prompt_tok_s},
                                {"prompt_ratio", result.prompt_ratio}};
  fmt::print("{}\n", boost::json::serialize(out));
}

double told_busy() {
  const double busy = measure_busy();
  if (busy > kBusyWarning)
    remark(fmt::format("the machine is {:.0f} % busy with something else: figures will be too low", 100 * busy));
  return busy;
}

int run_forward_bench(BenchOptions& options, const BenchTarget& target, Forward& forward, Machine& machine) {
  if (options.rounds > 0) options.forward.rounds = options.rounds;
  options.forward.busy_before = told_busy();
  ProgressBar bar("measuring", stderr_is_terminal());
  options.forward.on_round = [&](int32_t done) { bar.update(done, options.forward.rounds); };
  const BenchResult result = bench_forward(forward, machine.pool(), options.forward);
  bar.clear();
  (options.json ? print_json : print_table)(options, target, result, machine);
  return kExitDone;
}

Result<std::vector<BenchDepth>> read_depths(const std::vector<std::string>& names) {
  std::vector<BenchDepth> depths;
  for (const std::string& name : names) {
    int32_t depth = 0;
    if (name == "auto") {
      depths.emplace_back(std::nullopt);
    } else if (CLI::detail::lexical_cast(name, depth) && depth >= 0 && depth <= kMaxDraftTokens) {
      if (depth > 0) depths.emplace_back(depth);  // plain is always measured
    } else {
      return Error{fmt::format("--depths wants numbers from 0 to {} or auto, not {}", kMaxDraftTokens, name)};
    }
  }
  return depths;
}

Result<std::vector<BenchText>> texts_for(const BenchOptions& options, const BenchTarget& target) {
  SampleSettings sampling;
  sampling.temperature = options.temperature;
  sampling.seed = 1;
  if (target.text) return bench_texts(*target.text, sampling, options.tokens);
  return random_bench_text(target.weights->facts(), sampling, options.tokens);
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  return (file << text).flush().good();
}

int run_speculation_bench(const BenchOptions& options, const BenchTarget& target, Forward& forward, Machine& machine) {
  auto depths = read_depths(options.depths);
  if (!depths.ok()) return fail(kExitUsage, depths.error().message);
  auto texts = texts_for(options, target);
  if (!texts.ok()) return fail(kExitFailure, texts.error().message);
  auto drafter = BenchDrafter::make(options.draft, options.source, target, forward, machine);
  if (!drafter.ok()) return fail(kExitFailure, drafter.error().message);
  const double busy = told_busy();
  constexpr double kCalibrationMs = 500;
  StepCosts costs;
  calibrate(forward, drafter->steady(), costs, kCalibrationMs);

  ProgressBar bar("measuring", stderr_is_terminal());
  SpeculationBenchSettings settings;
  settings.depths = std::move(*depths);
  if (options.rounds > 0) settings.rounds = options.rounds;
  settings.proposer = [&](const DecodeRequest& request, const std::vector<TokenId>& output) -> Proposer& {
    return drafter->for_request(request, output);
  };
  settings.costs = &costs;
  settings.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  auto cells = bench_speculation(forward, *texts, settings);
  bar.clear();
  if (!cells.ok()) return fail(kExitFailure, cells.error().message);

  const SpeculationReport report{target.name,      drafter->name(), machine.kernels_name(), machine.threads(),
                                 settings.rounds,  options.tokens,  options.temperature,    busy,
                                 std::move(*cells)};
  const std::string json = boost::json::serialize(report_json(report)) + "\n";
  if (const auto error = write_out(options.json ? json : report_table(report))) return fail_to_write(error);
  if (options.out.empty()) return kExitDone;
  const auto short_name = [](const std::string& name) {
    return name.starts_with('/') ? std::filesystem::path(name).filename().string() : name;
  };
  const std::string title = fmt::format("{}, drafts by {}: {}, {} threads", short_name(report.model),
                                        short_name(report.drafter), report.kernels, report.threads);
  for (const auto& [path, text] : {std::pair(options.out + ".json", json),
                                   std::pair(options.out + ".svg", plot_speculation(report.cells, title))}) {
    if (!write_file(path, text)) return fail(kExitFailure, fmt::format("{}: cannot be written", path));
    remark(fmt::format("wrote {}", path));
  }
  return kExitDone;
}

int run_engine_bench(const BenchOptions& options, const BenchTarget& target, Forward& forward, Machine& machine) {
  auto texts = texts_for(options, target);
  if (!texts.ok()) return fail(kExitFailure, texts.error().message);
  auto drafter = BenchDrafter::make(options.draft, options.source, target, forward, machine);
  if (!drafter.ok()) return fail(kExitFailure, drafter.error().message);
  if (drafter->batch() == nullptr) return fail(kExitUsage, "--engine measures drafters that know no text beforehand");
  const double busy = told_busy();
  constexpr double kCalibrationMs = 500;
  StepCosts costs;
  calibrate(forward, drafter->steady(), costs, kCalibrationMs);
  ProgressBar bar("measuring", stderr_is_terminal());
  EngineBenchSettings settings;
  settings.at_once = options.at_once;
  if (options.rounds > 0) settings.rounds = options.rounds;
  settings.single = drafter->steady();
  settings.batch = drafter->batch();
  settings.costs = &costs;
  settings.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  const auto cells = bench_engine(forward, machine.pool(), *texts, settings);
  bar.clear();
  if (!cells.ok()) return fail(kExitFailure, cells.error().message);
  if (!options.json) {
    fmt::print("{}, drafts by {}: {} kernels, {} threads; medians of {} rounds; machine {:.0f} % busy before\n\n{}",
               target.name, drafter->name(), machine.kernels_name(), machine.threads(), settings.rounds, 100 * busy,
               engine_table(*cells));
    return kExitDone;
  }
  fmt::print("{}\n", boost::json::serialize(boost::json::object{{"model", target.name},
                                                                {"drafter", drafter->name()},
                                                                {"kernels", machine.kernels_name()},
                                                                {"threads", machine.threads()},
                                                                {"rounds", settings.rounds},
                                                                {"busy_before", busy},
                                                                {"cells", engine_json(*cells)}}));
  return kExitDone;
}

int run_bench(BenchOptions options) {
  if (options.serve) {
    ServeBenchOptions& serving = options.serving;
    serving.model = options.source.model;
    serving.draft = options.draft;
    serving.at_once = options.at_once;
    serving.mix.temperature = options.temperature;
    serving.json = options.json;
    if (options.rounds > 0) serving.rounds = options.rounds;
    if (options.out_given) serving.out = options.out;
    return run_serve_bench(serving);
  }
  if (!options.out_given) options.out = "speculation";
  auto machine = Machine::make({.threads = options.threads, .pinned = true, .device = options.device});
  if (!machine.ok()) return fail(kExitUsage, machine.error().message);
  auto target = load_bench_target(options.source, (*machine)->pool(), (*machine)->ops());
  if (!target.ok()) return fail(options.source.synthetic.empty() ? kExitFailure : kExitUsage, target.error().message);
  const Precision precision = options.precision == "f32" ? Precision::f32 : Precision::bf16;
  options.forward.precision = precision;
  const std::unique_ptr<Forward> made = target->weights->make_forward((*machine)->ops(), precision);
  Forward& forward = *made;
  if (const Status placed = (*machine)->ops().wait(); !placed.ok()) return fail(kExitFailure, placed.error().message);
  const int exit_code = options.engine        ? run_engine_bench(options, *target, forward, **machine)
                        : options.speculation ? run_speculation_bench(options, *target, forward, **machine)
                                              : run_forward_bench(options, *target, forward, **machine);
  // What was measured behind a fault was not the model.
  const Status& status = forward.status();
  return status.ok() ? exit_code : fail(kExitFailure, status.error().message);
}

void add_speculation_options(CLI::App& command, BenchOptions& options) {
  constexpr const char* kGroup = "With --speculation, --engine and --serve";
  command.add_flag("--speculation", options.speculation,
                   "Measure speculative decoding: prose, code, arithmetic, JSON and copying at every depth, in turn "
                   "with plain decoding");
  command
      .add_flag("--engine", options.engine,
                "Measure many requests at once, plain and with drafts in turn, and one at a time against the bare loop")
      ->excludes("--speculation");
  command
      .add_flag("--serve", options.serve,
                "Measure a server as its clients see it: waiting times, tokens per second, plain and with drafts")
      ->excludes("--speculation")
      ->excludes("--engine");
  command.add_option("--at-once", options.at_once, "With --engine and --serve: requests that run at once")
      ->check(CLI::Range(1, 100000).description(""))
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("1,4,16,64");
  command
      .add_option("--draft", options.draft,
                  "Who drafts: auto, ngram, a folder; random (costs what the model's drafter costs, never right), "
                  "perfect (free, always right)")
      ->group(kGroup)
      ->type_name("auto|ngram|random|perfect|DIR")
      ->capture_default_str();
  command
      .add_option("--depths", options.depths, "Drafts per verify to measure: numbers, auto; plain is always measured")
      ->group(kGroup)
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("0,1,2,3,4,5,6,7,8,auto");
  command.add_option("--tokens", options.tokens, "At most so many tokens a text")
      ->group(kGroup)
      ->check(CLI::Range(2, 100000).description(""))
      ->capture_default_str();
  command.add_option("--temp,--temperature", options.temperature, "Randomness of the texts; 0: none")
      ->group(kGroup)
      ->check(CLI::Range(0.0, 10.0).description(""))
      ->capture_default_str();
  command.add_option("--out", options.out, "Write NAME.json and NAME.svg; '': neither")
      ->group(kGroup)
      ->type_name("NAME")
      ->default_str("speculation, or serving")
      ->each([&options](const std::string&) { options.out_given = true; });
  add_serve_bench_options(command, options.serving);
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure how fast a model runs here, against the memory's bandwidth; and speculation");
  std::string names;
  for (const auto name : synthetic_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  command->add_option("--synthetic", options->source.synthetic, "Shape to fill with random weights: " + names);
  command
      ->add_option("-m,--model", options->source.model,
                   "Checkpoint to measure, as for generate; default: the model that came with the program")
      ->type_name("DIR")
      ->check(model_is_named())
      ->excludes("--synthetic");
  command->add_option("--format", options->source.format, "Random weights: bf16, q8 or q4")
      ->check(CLI::IsMember({"bf16", "q8", "q4"}))
      ->capture_default_str();
  command->add_option("--group", options->source.group, "Weights per scale in q8 and q4")
      ->check(CLI::IsMember({32, 64, 128}))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  add_device_option(*command, options->device);
  command->add_option("--precision", options->precision, "Activations of unquantised matrices: bf16 or f32")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
  command->add_option("--context", options->forward.context, "Tokens that stand before each forward")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--prompt", options->forward.prompt, "Tokens of the prompt that is timed")
      ->check(CLI::Range(kMaxForwardRows, 100000))
      ->capture_default_str();
  command->add_option("--widths", options->forward.widths, "Rows per forward to time; the first is the measure")
      ->check(CLI::Range(1, kMaxForwardRows).description(""))
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("1,2,4,8,16");
  command->add_option("--chunk", options->forward.chunk, "Rows of a prompt chunk")
      ->check(CLI::Range(1, kMaxForwardRows))
      ->capture_default_str();
  command
      ->add_option("--rounds", options->rounds,
                   "Rounds; each measures everything once; default: 9, with --speculation 5")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--json", options->json, "One JSON object instead of the table");
  add_speculation_options(*command, *options);
  command->footer(
      "Every round measures the read bandwidth, each width and a prompt in turn; figures are medians over rounds,\n"
      "ratios are medians of the ratios within a round.\n\n"
      "  paceline bench --synthetic dense-220m --format q8\n  paceline bench --synthetic moe-710m --format q4 --json\n"
      "  paceline bench --speculation\n  paceline bench --speculation --synthetic dense-220m --draft random --depths "
      "auto\n  paceline bench --engine\n  paceline bench --serve --at-once 1,16 --prefix-words 1500\n"
      "  paceline bench --serve --url http://127.0.0.1:8000 --rate 20 --requests 500 --shared 0.5 --cancel 0.1");
  command->callback([options, &action] { action = [options] { return run_bench(*options); }; });
}

}  // namespace paceline
