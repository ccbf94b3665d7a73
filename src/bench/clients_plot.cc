// What a server gives over how many ask at once: tokens per second, and how long the first text takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/serve_report.h"

namespace paceline {
namespace {

constexpr double kPanel = 420, kHeight = 260, kBelow = 40;
constexpr const char* kPlainColour = "#0072b2";
constexpr const char* kDraftedColour = "#d55e00";

struct Line {
  std::vector<std::pair<double, double>> points;  // clients, value
  const char* colour;
  bool dashed;
};

// Clients by powers of two, values from 0 on.
class Panel {
 public:
  Panel(double left, double top, std::string title, std::vector<Line> lines)
      : left_(left), top_(top), title_(std::move(title)), lines_(std::move(lines)) {
    for (const Line& line : lines_)
      for (const auto& [clients, value] : line.points) {
        most_clients_ = std::max(most_clients_, clients);
        most_ = std::max(most_, value);
      }
  }

  [[nodiscard]] std::string draw() const {
    std::string out = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left_, top_ - 12, title_);
    for (int i = 0; i <= 4; ++i) {
      out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", left_,
                         left_ + kPanel, y(most_ * i / 4));
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>\n", left_ - 6,
                         y(most_ * i / 4) + 4, most_ * i / 4);
    }
    for (double clients = 1; clients <= most_clients_; clients *= 2)
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n", x(clients), y(0) + 18,
                         clients);
    for (const Line& line : lines_) {
      std::string points;
      for (const auto& [clients, value] : line.points) points += fmt::format("{:.1f},{:.1f} ", x(clients), y(value));
      out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" {}/>\n", points,
                         line.colour, line.dashed ? "stroke-dasharray=\"5 3\"" : "");
    }
    return out;
  }

 private:
  [[nodiscard]] double x(double clients) const {
    return left_ + kPanel * std::log2(clients) / std::max(1.0, std::log2(most_clients_));
  }
  [[nodiscard]] double y(double value) const { return top_ + (kHeight - kBelow) * (1 - value / most_); }

  double left_, top_;
  std::string title_;
  std::vector<Line> lines_;
  double most_clients_ = 1, most_ = 1e-9;
};

}  // namespace

std::string plot_clients(const ServeReport& report, double left, double top) {
  Line rates[2] = {{{}, kPlainColour, false}, {{}, kDraftedColour, false}};
  Line middle[2] = {{{}, kPlainColour, false}, {{}, kDraftedColour, false}};
  Line last[2] = {{{}, kPlainColour, true}, {{}, kDraftedColour, true}};
  for (const ServeCell& cell : report.cells) {
    if (cell.at_once == 0) continue;
    const Percentiles first = percentiles_of(cell.first_ms);
    const int way = cell.speculates ? 1 : 0;
    rates[way].points.emplace_back(cell.at_once, cell.tokens_per_s);
    middle[way].points.emplace_back(cell.at_once, first.p50);
    last[way].points.emplace_back(cell.at_once, first.p99);
  }
  return Panel(left, top, "tokens per second, over clients (blue: plain, orange: auto)", {rates[0], rates[1]}).draw() +
         Panel(left + kPanel + 90, top, "ms until the first text, over clients (solid: 50 %, dashed: 99 %)",
               {middle[0], middle[1], last[0], last[1]})
             .draw();
}

}  // namespace paceline
