// What a server gives at each depth, for each kind of text.
#include "bench/serve_report.h"
#include "bench/speculation_plot.h"

namespace paceline {

std::string plot_depths(const ServeReport& report) {
  SpeculationReport made;
  made.model = report.server;
  for (const ServeCell& cell : report.cells) {
    SpeculationCell& one = made.cells.emplace_back();
    one.text = cell.kind;
    one.depth = cell.speculates ? cell.depth : 0;
    one.tokens_per_s = cell.tokens_per_s;
    one.ratio = cell.ratio;
    one.tokens_per_verify = cell.tokens_per_verify;
    one.accepted_of_drafted = cell.accepted_of_drafted;
    one.accepted_at.fill(-1);
  }
  return plot_speculation(made);
}

}  // namespace paceline
