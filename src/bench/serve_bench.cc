#include "bench/serve_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file_limit.h"
#include "base/median.h"
#include "base/resident_memory.h"
#include "bench/child_server.h"
#include "bench/load_pictures.h"
#include "bench/load_run.h"

namespace paceline {
namespace {

constexpr int32_t kPrefixTimes = 7;
// Requests of a run at least, and for each that runs at once.
constexpr int32_t kShortestRun = 48, kForEach = 12;

class ServeBench {
 public:
  explicit ServeBench(const ServeBenchSettings& settings) : settings_(settings) {}

  Result<ServeReport> run() {
    raise_file_limit();  // each open stream is a file
    TRY(find_server());
    if (settings_.prefix_words > 0) measure_prefixes();
    if (!report_.prefixes.problem.empty()) return Error{report_.prefixes.problem};
    if (settings_.pictures > 0) measure_pictures();
    if (!report_.pictures.problem.empty()) return Error{report_.pictures.problem};
    TRY(measure());
    return std::move(report_);
  }

 private:
  Status find_server() {
    if (!settings_.url.empty()) {
      TRY_ASSIGN(plan_.server, read_endpoint(settings_.url));
      report_.server = settings_.url;
    } else {
      TRY_ASSIGN(child_, ChildServer::start(settings_.server_arguments));
      plan_.server = child_->endpoint();
      report_.server = "a server of our own";
    }
    plan_.api_key = settings_.api_key;
    return Done{};
  }

  void measure_prefixes() {
    plan_.mix = settings_.mix;
    plan_.speculates = settings_.drafted;
    report_.prefixes = run_prefixes(plan_, settings_.prefix_words, kPrefixTimes);
  }

  void measure_pictures() {
    plan_.mix = settings_.mix;
    plan_.speculates = settings_.drafted;
    report_.pictures = run_pictures(plan_, settings_.pictures, settings_.picture_tokens, settings_.rounds);
  }

  // Every load with every kind of text and every length of prompts.
  [[nodiscard]] std::vector<ServeCell> cases() const {
    std::vector<ServeCell> made;
    const std::vector<std::string> kinds = settings_.kinds.empty() ? std::vector<std::string>{""} : settings_.kinds;
    const std::vector<int32_t> words = settings_.prompt_words.empty() ? std::vector{0} : settings_.prompt_words;
    for (const int32_t load : settings_.per_second > 0 ? std::vector{0} : settings_.at_once)
      for (const std::string& kind : kinds)
        for (const int32_t length : words) {
          ServeCell& cell = made.emplace_back();
          cell.at_once = load;
          cell.per_second = settings_.per_second;
          cell.kind = kind;
          cell.prompt_words = length;
        }
    return made;
  }

  // The same case in every way; plain first.
  [[nodiscard]] std::vector<ServeCell> ways_of(ServeCell cell) const {
    std::vector<ServeCell> ways;
    if (settings_.plain) ways.push_back(cell);
    cell.speculates = true;
    for (const auto& depth : settings_.depths) {
      cell.depth = depth;
      if (settings_.drafted) ways.push_back(cell);
    }
    return ways;
  }

  Status measure() {
    const std::vector<ServeCell> all = cases();
    const auto turns = static_cast<int64_t>(all.size() * ways_of({}).size()) * (settings_.rounds + 1);
    int64_t turn = 0;
    for (const ServeCell& one : all) {
      const size_t first = report_.cells.size();
      for (ServeCell& way : ways_of(one)) report_.cells.push_back(std::move(way));
      const size_t ways = report_.cells.size() - first;
      // One round before the first that counts: the server learns what its rounds cost.
      for (int32_t round = -1; round < settings_.rounds; ++round) {
        for (size_t i = 0; i < ways; ++i) {
          // By turns, and another one first each time.
          const size_t turned = settings_.plain_first ? 0 : static_cast<size_t>(round + 1);
          ServeCell& cell = report_.cells[first + (i + turned) % ways];
          if (settings_.hear_run) settings_.hear_run(cell);
          LoadRun run = one_run(cell, round);
          if (settings_.stopped && settings_.stopped()) return Error{"cancelled"};
          if (round >= 0) cell.rounds.push_back(std::move(run));
          if (settings_.progress) settings_.progress(++turn, turns);
          note_memory();
        }
      }
      for (size_t i = first; i < report_.cells.size(); ++i) report_.cells[i].sum_up();
      if (settings_.plain) note_ratios(first);
      if (settings_.hear_load) settings_.hear_load(report_);
    }
    return Done{};
  }

  static int32_t as_many_as_suit(int32_t at_once) {
    return at_once == 0 ? kShortestRun : std::max(std::min(kShortestRun, kForEach * at_once), 2 * at_once);
  }

  LoadRun one_run(const ServeCell& cell, int32_t round) {
    plan_.stopped = settings_.stopped;
    plan_.at_once = cell.at_once;
    plan_.per_second = cell.per_second;
    plan_.speculates = cell.speculates;
    plan_.requests = settings_.requests > 0 ? settings_.requests : as_many_as_suit(cell.at_once);
    plan_.mix = settings_.mix;
    plan_.mix.kind = cell.kind;
    plan_.mix.depth = cell.depth;
    if (cell.prompt_words > 0) plan_.mix.prompt_words = {cell.prompt_words};
    // The same requests for both ways, other ones each round.
    plan_.mix.seed += static_cast<uint64_t>(round + 1) * 1000003;
    // And whoever comes second finds nothing of the first one's.
    plan_.mix.cache_salt = fmt::format("{}{} {} {}", settings_.mix.cache_salt, cell.name(), cell.way(), round);
    return run_load(plan_);
  }

  void note_memory() {
    if (child_ == nullptr) return;
    const size_t now = resident_bytes(child_->pid());
    if (report_.resident_before == 0) report_.resident_before = now;
    report_.resident_after = now;
  }

  // Of the case that begins there, with its plain way.
  void note_ratios(size_t first) {
    const ServeCell& plain = report_.cells[first];
    for (size_t at = first; at < report_.cells.size(); ++at) {
      ServeCell& cell = report_.cells[at];
      std::vector<double> ratios;
      for (size_t i = 0; i < plain.rounds.size(); ++i)
        ratios.push_back(cell.rounds[i].tokens_per_s() / plain.rounds[i].tokens_per_s());
      cell.ratio = median(ratios);
      if (cell.speculates && !cell.depth) report_.ratios.push_back({plain.name(), cell.ratio});
    }
  }

  const ServeBenchSettings& settings_;
  std::unique_ptr<ChildServer> child_;
  LoadPlanOfClients plan_;
  ServeReport report_;
};

}  // namespace

Result<ServeReport> bench_serving(const ServeBenchSettings& settings) { return ServeBench(settings).run(); }

}  // namespace paceline
