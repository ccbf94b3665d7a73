#include "bench/serve_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/median.h"
#include "base/units_text.h"

namespace paceline {
namespace {

std::string three(const Percentiles& of) { return fmt::format("{:.1f}/{:.1f}/{:.1f}", of.p50, of.p90, of.p99); }

boost::json::object json_of(const Percentiles& of) {
  return {{"p50", of.p50}, {"p90", of.p90}, {"p99", of.p99}, {"max", of.most}};
}

boost::json::object json_of(const ServeCell& cell) {
  boost::json::object made{{"load", cell.name()},
                           {"drafts", cell.way()},
                           {"at_once", cell.at_once},
                           {"text", cell.kind},
                           {"prompt_words", cell.prompt_words},
                           {"requests", cell.requests},
                           {"failed", cell.failed},
                           {"cancelled", cell.cancelled},
                           {"most_open", cell.most_open},
                           {"tokens_per_s", cell.tokens_per_s},
                           {"tokens_per_s_least", cell.least_per_s},
                           {"tokens_per_s_most", cell.most_per_s},
                           {"decode_tokens_per_s", cell.decode_per_s},
                           {"ratio_to_plain", cell.ratio}};
  made["first_text_ms"] = json_of(percentiles_of(cell.first_ms));
  made["between_pieces_ms"] = json_of(percentiles_of(cell.gaps_ms));
  made["whole_ms"] = json_of(percentiles_of(cell.whole_ms));
  made["accepted_of_drafted"] = cell.accepted_of_drafted;
  made["tokens_per_verify"] = cell.tokens_per_verify;
  made["kv_peak"] = cell.kv_peak;
  made["device_idle"] = cell.idle;
  return made;
}

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

Percentiles percentiles_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.9), at(0.99), values.back()};
}

std::string ServeCell::name() const {
  std::string name = at_once > 0 ? fmt::format("{} at once", at_once) : fmt::format("{:g} per second", per_second);
  if (!kind.empty()) name += ", " + kind;
  if (prompt_words > 0) name += fmt::format(", {} words", prompt_words);
  return name;
}

std::string ServeCell::way() const {
  if (!speculates) return "plain";
  return depth ? std::to_string(*depth) : "auto";
}

void ServeCell::sum_up() {
  std::vector<double> rates, decodes;
  double busy_s = 0, idle_s = 0;
  int64_t rounds_of_verify = 0, drafted = 0, accepted = 0, emitted = 0;
  for (const LoadRun& run : rounds) {
    rates.push_back(run.tokens_per_s());
    decodes.push_back(run.decode_per_s());
    kv_peak = std::max(kv_peak, run.kv_peak);
    busy_s += run.busy_s;
    idle_s += run.idle_s;
    most_open = std::max(most_open, run.most_open);
    for (const LoadOutcome& outcome : run.outcomes) {
      ++requests;
      cancelled += outcome.cancelled ? 1 : 0;
      if (!outcome.problem.empty()) {
        if (failed++ == 0) first_problem = outcome.problem;
        continue;
      }
      if (outcome.pieces > 0) first_ms.push_back(outcome.first_ms);
      gaps_ms.insert(gaps_ms.end(), outcome.gaps_ms.begin(), outcome.gaps_ms.end());
      if (outcome.cancelled) continue;
      whole_ms.push_back(outcome.whole_ms);
      rounds_of_verify += outcome.rounds;
      drafted += outcome.drafted;
      accepted += outcome.accepted;
      emitted += outcome.completion_tokens;
    }
  }
  tokens_per_s = median(rates);
  decode_per_s = median(decodes);
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  if (!rates.empty()) least_per_s = *least, most_per_s = *most;
  tokens_per_verify = share_of(emitted, rounds_of_verify);
  accepted_of_drafted = share_of(accepted, drafted);
  idle = busy_s > 0 ? idle_s / busy_s : 0;
}

int64_t ServeReport::failed() const {
  int64_t sum = 0;
  for (const ServeCell& cell : cells) sum += cell.failed;
  return sum;
}

std::string serve_table(const ServeReport& report) {
  std::string out = fmt::format("{}\n\n{:<16} {:<6} {:>8} {:>6} {:>9} {:>22} {:>20} {:>24} {:>8} {:>8} {:>6} {:>6}\n",
                                report.server, "load", "drafts", "requests", "failed", "tok/s", "first text ms",
                                "between pieces ms", "whole ms", "accepted", "t/verify", "KV", "idle");
  for (const ServeCell& cell : report.cells) {
    out += fmt::format(
        "{:<16} {:<6} {:>8} {:>6} {:>9.1f} {:>22} {:>20} {:>24} {:>6.0f} % {:>8.2f} {:>4.0f} % {:>4.1f} %\n",
        cell.name(), cell.way(), cell.requests, cell.failed, cell.tokens_per_s, three(percentiles_of(cell.first_ms)),
        three(percentiles_of(cell.gaps_ms)), three(percentiles_of(cell.whole_ms)), 100 * cell.accepted_of_drafted,
        cell.tokens_per_verify, 100 * cell.kv_peak, 100 * cell.idle);
    if (!cell.first_problem.empty()) out += fmt::format("  first failure: {}\n", cell.first_problem);
  }
  out += "\nmilliseconds are the 50th/90th/99th percentile\n";
  for (const ServeReport::Ratio& one : report.ratios)
    out += fmt::format("{}: auto ÷ plain {:.2f}\n", one.load, one.ratio);
  if (!report.prefixes.hit_ms.empty()) {
    const double hit = median(report.prefixes.hit_ms), miss = median(report.prefixes.miss_ms);
    out += fmt::format(
        "known beginning: {} of {} prompt tokens; first text after {:.1f} ms, unknown {:.1f} ms: {:.1f} %\n",
        report.prefixes.cached_tokens, report.prefixes.prompt_tokens, hit, miss, 100 * hit / miss);
  }
  if (const PictureRun& run = report.pictures; !run.pictures_ms.empty()) {
    out += fmt::format(
        "longest gap of a stream: alone {:.1f} ms, beside {} prompts of {} tokens {:.1f} ms, beside {} with a picture, "
        "of "
        "{} tokens, {:.1f} ms; these were answered after {:.0f} ms\n",
        median(run.alone_ms), run.pictures, run.word_tokens, median(run.words_ms), run.pictures, run.picture_tokens,
        median(run.pictures_ms), median(run.whole_ms));
  }
  if (report.resident_before > 0)
    out += fmt::format("server's resident memory: {} after the first run, {} after the last\n",
                       bytes_text(static_cast<double>(report.resident_before)),
                       bytes_text(static_cast<double>(report.resident_after)));
  return out;
}

boost::json::object serve_json(const ServeReport& report) {
  boost::json::array cells;
  for (const ServeCell& cell : report.cells) cells.push_back(json_of(cell));
  boost::json::object ratios;
  for (const ServeReport::Ratio& one : report.ratios) ratios[one.load] = one.ratio;
  boost::json::object out{{"server", report.server}, {"cells", cells}, {"auto_to_plain", ratios}};
  if (!report.prefixes.hit_ms.empty())
    out["prefix"] = {{"prompt_tokens", report.prefixes.prompt_tokens},
                     {"cached_tokens", report.prefixes.cached_tokens},
                     {"hit_ms", median(report.prefixes.hit_ms)},
                     {"miss_ms", median(report.prefixes.miss_ms)}};
  if (const PictureRun& run = report.pictures; !run.pictures_ms.empty())
    out["pictures"] = {{"count", run.pictures},
                       {"prompt_tokens", run.picture_tokens},
                       {"longest_gap_alone_ms", median(run.alone_ms)},
                       {"longest_gap_beside_words_ms", median(run.words_ms)},
                       {"longest_gap_beside_pictures_ms", median(run.pictures_ms)},
                       {"answered_ms", median(run.whole_ms)}};
  out["resident_bytes"] = {report.resident_before, report.resident_after};
  return out;
}

}  // namespace paceline
