#include "bench/speculation_report.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace paceline {
namespace {

// "82 64 51 40 %": of the drafts at each position.
std::string positions_text(const SpeculationCell& cell) {
  std::string text;
  for (const double share : cell.accepted_at) {
    if (share >= 0) text += fmt::format("{:.0f} ", 100 * share);
  }
  return text.empty() ? "–" : text + "%";
}

}  // namespace

std::string report_table(const SpeculationReport& report) {
  std::string out = fmt::format(
      "{}, drafts by {}: {} kernels, {} threads; medians of {} rounds, texts of at most {} tokens, temperature {}; "
      "machine {:.0f} % busy before\n\n{:<11} {:>5} {:>7} {:>9} {:>8} {:>14} {:>9}  {}\n",
      report.model, report.drafter, report.kernels, report.threads, report.rounds, report.max_tokens,
      report.temperature, 100 * report.busy_before, "text", "depth", "tokens", "tok/s", "÷ plain", "tokens/verify",
      "drafting", "accepted by position");
  std::string text;
  for (const SpeculationCell& cell : report.cells) {
    if (!text.empty() && cell.text != text) out += "\n";
    text = cell.text;
    out += fmt::format("{:<11} {:>5} {:>7} {:>9.1f} {:>8.2f} {:>14.2f} {:>7.0f} %  {}\n", cell.text,
                       depth_name(cell.depth), cell.tokens, cell.tokens_per_s, cell.ratio, cell.tokens_per_verify,
                       100 * cell.draft_share, positions_text(cell));
  }
  return out;
}

boost::json::object report_json(const SpeculationReport& report) {
  boost::json::array cells;
  for (const SpeculationCell& cell : report.cells) {
    boost::json::array positions;
    for (const double share : cell.accepted_at) {
      if (share >= 0) positions.push_back(share);
    }
    boost::json::object object{{"text", cell.text},
                               {"depth", cell.depth ? boost::json::value(*cell.depth) : boost::json::value("auto")},
                               {"tokens", cell.tokens},
                               {"tokens_per_s", cell.tokens_per_s},
                               {"ratio_to_plain", cell.ratio},
                               {"tokens_per_verify", cell.tokens_per_verify},
                               {"accepted_of_drafted", cell.accepted_of_drafted},
                               {"accepted_by_position", positions},
                               {"draft_share", cell.draft_share}};
    cells.push_back(std::move(object));
  }
  return {{"model", report.model},
          {"drafter", report.drafter},
          {"kernels", report.kernels},
          {"threads", report.threads},
          {"rounds", report.rounds},
          {"max_tokens", report.max_tokens},
          {"temperature", report.temperature},
          {"busy_before", report.busy_before},
          {"cells", cells}};
}

}  // namespace paceline
