#include "cli/bench_serve.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "cli/child_server.h"
#include "cli/console.h"
#include "cli/median.h"
#include "cli/progress.h"
#include "cli/serve_report.h"
#include "server/server.h"

namespace paceline {
namespace {

// Of the server at --url.
constexpr const char* kKeyVariable = "PACELINE_API_KEY";
constexpr int32_t kPrefixTimes = 7;
constexpr int32_t kShortestRun = 48;

class ServeBench {
 public:
  explicit ServeBench(const ServeBenchOptions& options) : options_(options) {}

  int run() {
    raise_file_limit();  // each open stream is a file
    if (const Status found = find_server(); !found.ok()) return fail(kExitFailure, found.error().message);
    if (options_.prefix_words > 0) measure_prefixes();
    if (!report_.prefixes.problem.empty()) return fail(kExitFailure, report_.prefixes.problem);
    if (options_.pictures > 0) measure_pictures();
    if (!report_.pictures.problem.empty()) return fail(kExitFailure, report_.pictures.problem);
    measure();
    return write();
  }

 private:
  Status find_server() {
    if (!options_.url.empty()) {
      TRY_ASSIGN(plan_.server, read_endpoint(options_.url));
      report_.server = options_.url;
    } else {
      std::vector<std::string> arguments{"--draft", options_.draft, "--log-level", "error"};
      if (!options_.model.empty()) arguments.insert(arguments.end(), {"-m", options_.model});
      TRY_ASSIGN(child_, ChildServer::start(std::move(arguments)));
      plan_.server = child_->endpoint();
      report_.server = "a server of our own";
    }
    if (const char* key = std::getenv(kKeyVariable)) plan_.api_key = key;
    return Done{};
  }

  void measure_prefixes() {
    plan_.mix = options_.mix;
    plan_.speculates = options_.ways != "plain";
    report_.prefixes = run_prefixes(plan_, options_.prefix_words, kPrefixTimes);
  }

  void measure_pictures() {
    plan_.mix = options_.mix;
    plan_.speculates = options_.ways != "plain";
    report_.pictures = run_pictures(plan_, options_.pictures, options_.picture_tokens, options_.rounds);
  }

  void measure() {
    std::vector<int32_t> loads = options_.at_once;
    if (options_.per_second > 0) loads = {0};
    std::vector<bool> ways;
    if (options_.ways != "auto") ways.push_back(false);
    if (options_.ways != "plain") ways.push_back(true);
    ProgressBar bar("measuring", stderr_is_terminal());
    const auto turns = static_cast<int64_t>(loads.size() * ways.size()) * (options_.rounds + 1);
    int64_t turn = 0;
    for (const int32_t load : loads) {
      const size_t first = report_.cells.size();
      for (const bool speculates : ways) {
        ServeCell& cell = report_.cells.emplace_back();
        cell.at_once = load;
        cell.per_second = options_.per_second;
        cell.speculates = speculates;
      }
      // One round before the first that counts: the server learns what its rounds cost.
      for (int32_t round = -1; round < options_.rounds; ++round) {
        for (size_t i = 0; i < ways.size(); ++i) {
          // By turns, and another one first each time.
          ServeCell& cell = report_.cells[first + (i + static_cast<size_t>(round + 1)) % ways.size()];
          LoadRun run = one_run(cell, round);
          if (round >= 0) cell.rounds.push_back(std::move(run));
          bar.update(++turn, turns);
          note_memory();
        }
      }
      if (ways.size() == 2) note_ratio(report_.cells[first], report_.cells[first + 1]);
    }
    for (ServeCell& cell : report_.cells) cell.sum_up();
  }

  LoadRun one_run(const ServeCell& cell, int32_t round) {
    plan_.at_once = cell.at_once;
    plan_.per_second = cell.per_second;
    plan_.speculates = cell.speculates;
    plan_.requests = options_.requests > 0 ? options_.requests : std::max(kShortestRun, 2 * cell.at_once);
    plan_.mix = options_.mix;
    // The same requests for both ways, other ones each round.
    plan_.mix.seed += static_cast<uint64_t>(round + 1) * 1000003;
    return run_load(plan_);
  }

  void note_memory() {
    if (child_ == nullptr) return;
    const size_t now = resident_bytes(child_->pid());
    if (report_.resident_before == 0) report_.resident_before = now;
    report_.resident_after = now;
  }

  void note_ratio(const ServeCell& plain, const ServeCell& drafted) {
    std::vector<double> ratios;
    for (size_t i = 0; i < plain.rounds.size(); ++i)
      ratios.push_back(drafted.rounds[i].tokens_per_s() / plain.rounds[i].tokens_per_s());
    report_.ratios.push_back({plain.name(), median(ratios)});
  }

  int write() {
    const std::string json = boost::json::serialize(serve_json(report_)) + "\n";
    if (const auto error = write_out(options_.json ? json : serve_table(report_))) return fail_to_write(error);
    int64_t failed = 0;
    for (const ServeCell& cell : report_.cells) failed += cell.failed;
    if (!options_.out.empty()) {
      for (const auto& [path, text] :
           {std::pair(options_.out + ".json", json),
            std::pair(options_.out + ".svg", plot_serving(report_, "What clients wait for: " + report_.server))}) {
        std::ofstream file(path, std::ios::binary);
        if (!(file << text).flush().good()) return fail(kExitFailure, fmt::format("{}: cannot be written", path));
        remark(fmt::format("wrote {}", path));
      }
    }
    return failed == 0 ? kExitDone : fail(kExitFailure, fmt::format("{} requests failed", failed));
  }

  const ServeBenchOptions& options_;
  std::unique_ptr<ChildServer> child_;
  LoadPlanOfClients plan_;
  ServeReport report_;
};

}  // namespace

void add_serve_bench_options(CLI::App& command, ServeBenchOptions& options) {
  constexpr const char* kGroup = "With --serve";
  const auto add = [&](const char* name, auto& value, const char* text) {
    return command.add_option(name, value, text)->group(kGroup)->capture_default_str();
  };
  add("--url", options.url,
      "The server to load, http://ADDRESS:PORT, with the key in $PACELINE_API_KEY if it wants one; default: one of our "
      "own, which ends with us")
      ->type_name("URL");
  add("--rate", options.per_second, "Requests per second, coming by chance (an open loop); 0: --at-once (a closed one)")
      ->check(CLI::Range(0.0, 1e6).description(""));
  add("--requests", options.requests, "Requests of each run; 0: twice as many as run at once, and at least 48")
      ->check(CLI::Range(0, 10'000'000).description(""));
  add("--ways", options.ways, "plain, auto, or both in turn")->check(CLI::IsMember({"plain", "auto", "both"}));
  add("--prompt-words", options.mix.prompt_words,
      "Words of a prompt, one of these each; default: short questions of several kinds")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->delimiter(',')
      ->type_name("LIST");
  add("--output-tokens", options.mix.output_tokens, "Most tokens of an output, one of these each")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->delimiter(',')
      ->type_name("LIST");
  command.add_flag("--ignore-eos", options.mix.ignores_eos, "Outputs as long as they may be")->group(kGroup);
  add("--shared", options.mix.shared, "Share of requests that begin alike")
      ->check(CLI::Range(0.0, 1.0).description(""));
  add("--shared-words", options.mix.shared_words, "How many words they have in common")
      ->check(CLI::Range(1, 1'000'000).description(""));
  add("--cancel", options.mix.cancelled, "Share of requests whose client goes away in the middle")
      ->check(CLI::Range(0.0, 1.0).description(""));
  add("--prefix-words", options.prefix_words, "Measure, too, what a known beginning of so many words saves")
      ->check(CLI::Range(0, 1'000'000).description(""));
  add("--pictures", options.pictures, "Measure, too, how long a stream stands still beside so many pictures at once")
      ->check(CLI::Range(0, 1024).description(""));
  add("--picture-tokens", options.picture_tokens, "Tokens that each may take")
      ->check(CLI::IsMember({70, 140, 280, 560, 1120}).description(""))
      ->type_name("70|140|280|560|1120");
}

int run_serve_bench(const ServeBenchOptions& options) { return ServeBench(options).run(); }

}  // namespace paceline
