#include "cli/bench_engine.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "cli/median.h"
#include "speculate/adaptive.h"

namespace paceline {
namespace {

struct Run {
  double ms = 0;
  int64_t tokens = 0;
  SpeculationCounters counters;
  bool same = true;
};

class Collector : public Listener {
 public:
  Heard hear(const Event& event) override {
    for (const NewToken& token : event.tokens) tokens.push_back(token.id);
    if (event.end != nullptr) {
      ended = true;
      counters = event.end->counters;
    }
    return {event.tokens.size(), false};
  }
  std::vector<TokenId> tokens;
  SpeculationCounters counters;
  bool ended = false;
};

Request request_of(const DecodeRequest& bare) {
  Request request;
  request.prompt = bare.prompt;
  request.sampling = bare.sampling;
  request.stop_ids = bare.stop_ids;
  request.max_tokens = bare.max_tokens;
  request.context = bare.context;
  return request;
}

// One way of running requests, and what it has learnt.
class Way {
 public:
  Way(Forward& forward, ThreadPool& pool, const EngineBenchSettings& settings, bool drafts)
      : forward_(forward),
        costs_(*settings.costs),
        policy_(costs_),
        single_(drafts ? settings.single : nullptr),
        engine_({&forward, &pool, drafts ? settings.batch : nullptr, &costs_}, engine_settings()) {}

  Run bare(const std::vector<DecodeRequest>& requests, std::vector<std::vector<TokenId>>& outputs) {
    Run run;
    const bool first = outputs.empty();
    const auto begin = EngineClock::now();
    for (size_t i = 0; i < requests.size(); ++i) {
      const Speculation speculation{single_, single_ != nullptr ? &policy_ : nullptr};
      DecodeOutcome outcome = decode(forward_, requests[i], {}, speculation);
      run.tokens += static_cast<int64_t>(outcome.tokens.size());
      run.counters += outcome.counters;
      if (first) outputs.push_back(outcome.tokens);
      run.same = run.same && outcome.tokens == outputs[i];
    }
    run.ms = std::chrono::duration<double, std::milli>(EngineClock::now() - begin).count();
    return run;
  }

  // As many requests as are given, and at least as many as run at once.
  Run engine(const std::vector<DecodeRequest>& requests, const std::vector<std::vector<TokenId>>& outputs,
             int32_t at_once) {
    const size_t count = std::max(requests.size(), 2 * static_cast<size_t>(at_once));
    std::vector<std::shared_ptr<Collector>> collectors;
    Run run;
    size_t ended = 0;
    const auto begin = EngineClock::now();
    std::vector<size_t> open;
    while (ended < count) {
      while (collectors.size() < count && open.size() < static_cast<size_t>(at_once)) {
        open.push_back(collectors.size());
        collectors.push_back(std::make_shared<Collector>());
        engine_.submit(request_of(requests[open.back() % requests.size()]), collectors.back());
      }
      engine_.step();
      ended += std::erase_if(open, [&](size_t i) { return collectors[i]->ended; });
    }
    run.ms = std::chrono::duration<double, std::milli>(EngineClock::now() - begin).count();
    for (size_t i = 0; i < count; ++i) {
      run.tokens += static_cast<int64_t>(collectors[i]->tokens.size());
      run.counters += collectors[i]->counters;
      run.same = run.same && collectors[i]->tokens == outputs[i % requests.size()];
    }
    return run;
  }

 private:
  // Every prompt is run: what is compared is work.
  static EngineSettings engine_settings() {
    EngineSettings settings;
    settings.kv_bytes = std::numeric_limits<size_t>::max() / 2;
    settings.keeps_prefixes = false;
    return settings;
  }

  Forward& forward_;
  StepCosts costs_;
  AdaptiveDepth policy_;
  Proposer* single_;
  Engine engine_;
};

double rate(const Run& run) { return static_cast<double>(run.tokens) * 1e3 / run.ms; }

struct EngineSeries {
  std::vector<double> plain, drafted, ratios, plain_of_bare, auto_of_bare;
  double tokens_per_verify = 0;
};

EngineCell cell_of(int32_t at_once, const EngineSeries& series) {
  EngineCell cell;
  cell.at_once = at_once;
  cell.plain_tok_s = median(series.plain);
  cell.auto_tok_s = median(series.drafted);
  cell.ratio = median(series.ratios);
  cell.ratios = series.ratios;
  if (!series.plain_of_bare.empty()) cell.plain_of_bare = median(series.plain_of_bare);
  if (!series.auto_of_bare.empty()) cell.auto_of_bare = median(series.auto_of_bare);
  cell.tokens_per_verify = series.tokens_per_verify;
  return cell;
}

}  // namespace

Result<std::vector<EngineCell>> bench_engine(Forward& forward, ThreadPool& pool, const std::vector<BenchText>& texts,
                                             const EngineBenchSettings& settings) {
  std::vector<DecodeRequest> requests;
  for (const BenchText& text : texts) requests.insert(requests.end(), text.requests.begin(), text.requests.end());
  Way plain(forward, pool, settings, false), drafted(forward, pool, settings, true);
  std::vector<std::vector<TokenId>> outputs;
  plain.bare(requests, outputs);
  for (const int32_t at_once : settings.at_once) drafted.engine(requests, outputs, at_once);  // learns, untimed

  std::vector<EngineSeries> series(settings.at_once.size());
  const auto total = static_cast<int64_t>(settings.rounds) * static_cast<int64_t>(settings.at_once.size());
  for (int64_t turn = 0; turn < total; ++turn) {
    const auto which = static_cast<size_t>(turn % static_cast<int64_t>(settings.at_once.size()));
    const int32_t at_once = settings.at_once[which];
    EngineSeries& here = series[which];
    // The bare loop stands between the others, so that neither always follows the same.
    Run bare_plain, bare_auto;
    const Run a = plain.engine(requests, outputs, at_once);
    if (at_once == 1) bare_plain = plain.bare(requests, outputs);
    const Run b = drafted.engine(requests, outputs, at_once);
    if (at_once == 1) bare_auto = drafted.bare(requests, outputs);
    if (!a.same || !b.same || !bare_plain.same || !bare_auto.same)
      return Error{fmt::format("{} at once: a text differs from the plain run's", at_once)};
    here.plain.push_back(rate(a));
    here.drafted.push_back(rate(b));
    here.ratios.push_back(rate(b) / rate(a));
    here.tokens_per_verify = b.counters.tokens_per_round();
    if (at_once == 1) here.plain_of_bare.push_back(rate(a) / rate(bare_plain));
    if (at_once == 1) here.auto_of_bare.push_back(rate(b) / rate(bare_auto));
    if (settings.progress) settings.progress(turn + 1, total);
  }
  std::vector<EngineCell> cells;
  for (size_t i = 0; i < series.size(); ++i) cells.push_back(cell_of(settings.at_once[i], series[i]));
  return cells;
}

std::string engine_table(const std::vector<EngineCell>& cells) {
  std::string out = fmt::format("{:>8} {:>12} {:>12} {:>8} {:>14} {:>21}\n", "at once", "plain tok/s", "auto tok/s",
                                "÷ plain", "tokens/verify", "÷ bare, plain / auto");
  for (const EngineCell& cell : cells) {
    const std::string bare =
        cell.plain_of_bare > 0 ? fmt::format("{:.3f} / {:.3f}", cell.plain_of_bare, cell.auto_of_bare) : "";
    out += fmt::format("{:>8} {:>12.1f} {:>12.1f} {:>8.2f} {:>14.2f} {:>21}\n", cell.at_once, cell.plain_tok_s,
                       cell.auto_tok_s, cell.ratio, cell.tokens_per_verify, bare);
  }
  return out;
}

boost::json::array engine_json(const std::vector<EngineCell>& cells) {
  boost::json::array rows;
  for (const EngineCell& cell : cells)
    rows.push_back({{"at_once", cell.at_once},
                    {"plain_tokens_per_s", cell.plain_tok_s},
                    {"auto_tokens_per_s", cell.auto_tok_s},
                    {"ratio_to_plain", cell.ratio},
                    {"ratios", boost::json::value_from(cell.ratios)},
                    {"plain_of_bare", cell.plain_of_bare},
                    {"auto_of_bare", cell.auto_of_bare},
                    {"tokens_per_verify", cell.tokens_per_verify}});
  return rows;
}

}  // namespace paceline
