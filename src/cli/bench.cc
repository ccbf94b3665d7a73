// `paceline bench`: how fast a model's forward is, against what the machine's memory allows.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <memory>

#include "cli/bench_model.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "kernels/cpu_ops.h"
#include "model/synthetic.h"

namespace paceline {
namespace {

// Above this, figures say as much about the neighbours as about us.
constexpr double kBusyWarning = 0.05;

struct BenchOptions {
  std::string synthetic;
  std::string format = "q8";
  int32_t group = 64;
  int threads = 0;
  bool json = false;
  std::string precision = "bf16";
  BenchSettings settings;
};

void print_table(const BenchOptions& options, const BenchResult& result, const char* table, int threads,
                 double gigabytes) {
  fmt::print("{} {}{}: {:.2f} GB of weights, {} kernels, {} threads, context {}\n", options.synthetic, options.format,
             options.format == "bf16" ? "" : fmt::format(" (groups of {})", options.group), gigabytes, table, threads,
             options.settings.context);
  fmt::print("read bandwidth {:.1f} GB/s; machine {:.0f} % busy before the run\n\n", result.bandwidth_gbs,
             100 * result.busy_before);
  fmt::print("{:>6} {:>10} {:>9} {:>10} {:>8} {:>12}\n", "width", "ms", "GB/s", "share", "÷ 1", "bytes ÷ 1");
  for (const WidthResult& width : result.widths)
    fmt::print("{:>6} {:>10.3f} {:>9.1f} {:>8.1f} % {:>7.2f} {:>11.2f}\n", width.width, width.ms,
               width.bytes / width.ms / 1e6, 100 * width.share, width.ratio, width.bytes_ratio);
  fmt::print("\ndecode {:.1f} tok/s; prompt of {} {:.0f} tok/s ({:.1f} × decode)\n", result.decode_tok_s,
             options.settings.prompt, result.prompt_tok_s, result.prompt_ratio);
}

void print_json(const BenchOptions& options, const BenchResult& result, const char* table, int threads,
                double gigabytes) {
  boost::json::array widths;
  for (const WidthResult& width : result.widths)
    widths.push_back({{"width", width.width},
                      {"ms", width.ms},
                      {"weight_bytes", width.bytes},
                      {"bandwidth_share", width.share},
                      {"ratio_to_first", width.ratio},
                      {"bytes_ratio_to_first", width.bytes_ratio}});
  const boost::json::object out{{"model", options.synthetic},
                                {"format", options.format},
                                {"group", options.group},
                                {"kernels", table},
                                {"threads", threads},
                                {"context", options.settings.context},
                                {"weight_gigabytes", gigabytes},
                                {"bandwidth_gb_s", result.bandwidth_gbs},
                                {"busy_before", result.busy_before},
                                {"widths", widths},
                                {"decode_tokens_per_s", result.decode_tok_s},
                                {"prompt_tokens", options.settings.prompt},
                                {"prompt_tokens_per_s", result.prompt_tok_s},
                                {"prompt_ratio", result.prompt_ratio}};
  fmt::print("{}\n", boost::json::serialize(out));
}

int run_bench(BenchOptions options) {
  const auto config = synthetic_config(options.synthetic);
  if (!config.ok()) return fail(kExitUsage, config.error().message);
  const auto table = kernels::default_cpu_table();
  if (!table.ok()) return fail(kExitUsage, table.error().message);
  SyntheticFormat format;
  format.format =
      options.format == "bf16" ? WeightFormat::bf16 : (options.format == "q8" ? WeightFormat::q8 : WeightFormat::q4);
  format.group = options.group;
  options.settings.precision = options.precision == "f32" ? Precision::f32 : Precision::bf16;

  ThreadPool pool(options.threads, true);
  pin_this_thread(0);
  kernels::CpuOps ops(**table, pool);
  const bool show = stderr_is_terminal();
  if (show)
    remark(
        fmt::format("making {} of random weights", bytes_text(static_cast<double>(synthetic_bytes(*config, format)))));
  Forward forward(make_synthetic(*config, format, pool), ops, options.settings.precision);
  const double busy = measure_busy();
  if (busy > kBusyWarning)
    remark(fmt::format("the machine is {:.0f} % busy with something else: figures will be too low", 100 * busy));
  if (show)
    options.settings.on_round = [&](int32_t done) {
      fmt::print(stderr, "\rround {} of {}{}", done, options.settings.rounds,
                 done == options.settings.rounds ? "\n" : "");
    };
  const BenchResult result = bench_forward(forward, pool, options.settings);
  const double gigabytes = static_cast<double>(forward.weights().total_bytes()) / 1e9;
  (options.json ? print_json : print_table)(options, result, (*table)->name, pool.threads(), gigabytes);
  return kExitDone;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure how fast a model shape runs here, against the memory's bandwidth");
  std::string names;
  for (const auto name : synthetic_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  command->add_option("--synthetic", options->synthetic, "Shape to fill with random weights: " + names)->required();
  command->add_option("--format", options->format, "Weights: bf16, q8 or q4")
      ->check(CLI::IsMember({"bf16", "q8", "q4"}))
      ->capture_default_str();
  command->add_option("--group", options->group, "Weights per scale in q8 and q4")
      ->check(CLI::IsMember({32, 64, 128}))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--precision", options->precision, "Activations of unquantised matrices: bf16 or f32")
      ->check(CLI::IsMember({"bf16", "f32"}))
      ->capture_default_str();
  command->add_option("--context", options->settings.context, "Tokens that stand before each forward")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--prompt", options->settings.prompt, "Tokens of the prompt that is timed")
      ->check(CLI::Range(kMaxForwardRows, 100000))
      ->capture_default_str();
  command->add_option("--chunk", options->settings.chunk, "Rows of a prompt chunk")
      ->check(CLI::Range(1, kMaxForwardRows))
      ->capture_default_str();
  command->add_option("--rounds", options->settings.rounds, "Rounds; each measures everything once")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object instead of the table");
  command->footer(
      "Every round measures the read bandwidth, each width and a prompt in turn; figures are medians over rounds,\n"
      "ratios are medians of the ratios within a round.\n\n"
      "  paceline bench --synthetic dense-220m --format q8\n  paceline bench --synthetic moe-710m --format q4 --json");
  command->callback([options, &action] { action = [options] { return run_bench(*options); }; });
}

}  // namespace paceline
