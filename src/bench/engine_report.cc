#include "bench/engine_report.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace paceline {

std::string engine_table(const EngineReport& report) {
  std::string out = fmt::format(
      "{}, drafts by {}: {} kernels, {} threads; medians of {} rounds; machine {:.0f} % busy before\n\n"
      "{:>8} {:>12} {:>12} {:>8} {:>14}\n",
      report.model, report.drafter, report.kernels, report.threads, report.rounds, 100 * report.busy_before, "at once",
      "plain tok/s", "auto tok/s", "÷ plain", "tokens/verify");
  for (const EngineCell& cell : report.cells)
    out += fmt::format("{:>8} {:>12.1f} {:>12.1f} {:>8.2f} {:>14.2f}\n", cell.at_once, cell.plain_tok_s,
                       cell.auto_tok_s, cell.ratio, cell.tokens_per_verify);
  return out;
}

boost::json::object engine_json(const EngineReport& report) {
  boost::json::array cells;
  for (const EngineCell& cell : report.cells)
    cells.push_back({{"at_once", cell.at_once},
                     {"plain_tokens_per_s", cell.plain_tok_s},
                     {"auto_tokens_per_s", cell.auto_tok_s},
                     {"ratio_to_plain", cell.ratio},
                     {"ratios", boost::json::value_from(cell.ratios)},
                     {"tokens_per_verify", cell.tokens_per_verify}});
  return {{"model", report.model},
          {"drafter", report.drafter},
          {"kernels", report.kernels},
          {"threads", report.threads},
          {"rounds", report.rounds},
          {"busy_before", report.busy_before},
          {"cells", cells}};
}

}  // namespace paceline
