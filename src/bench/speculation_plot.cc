#include "bench/speculation_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace paceline {
namespace {

constexpr double kChartWidth = 860, kChartHeight = 460, kChartLeft = 60, kChartRight = 170, kChartTop = 66,
                 kChartBottom = 60;
// Told apart also by those who see fewer colours (after Okabe and Ito); "all" is black.
constexpr const char* kChartColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

// A folder's last part.
std::string short_name(const std::string& name) {
  return name.starts_with('/') ? std::filesystem::path(name).filename().string() : name;
}

class Plot {
 public:
  explicit Plot(const std::vector<SpeculationCell>& cells) : cells_(cells) {
    for (const SpeculationCell& cell : cells) {
      if (std::find(texts_.begin(), texts_.end(), cell.text) == texts_.end()) texts_.push_back(cell.text);
      if (std::find(depths_.begin(), depths_.end(), cell.depth) == depths_.end()) depths_.push_back(cell.depth);
      most_ = std::max(most_, cell.ratio);
    }
    top_ = std::ceil(most_ * 2 + 0.2) / 2;
  }

  std::string draw(const std::string& title) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        kChartWidth, kChartHeight);
    text(kChartLeft - 44, 24, title, "start", "font-weight=\"bold\"");
    axes();
    for (size_t i = 0; i < texts_.size(); ++i) series(i);
    return out_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double x(size_t depth) const {
    const double step =
        (kChartWidth - kChartLeft - kChartRight) / static_cast<double>(std::max<size_t>(depths_.size(), 2) - 1);
    return kChartLeft + step * static_cast<double>(depth);
  }
  [[nodiscard]] double y(double ratio) const {
    return kChartHeight - kChartBottom - (kChartHeight - kChartTop - kChartBottom) * ratio / top_;
  }

  void text(double at_x, double at_y, const std::string& what, const char* anchor, const char* more = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", at_x, at_y, anchor, more,
                        escaped(what));
  }

  void axes() {
    for (double ratio = 0; ratio <= top_ + 1e-9; ratio += 0.5) {
      const bool plain = ratio == 1;
      out_ += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" {}/>\n", kChartLeft,
                          kChartWidth - kChartRight, y(ratio), y(ratio), plain ? "#555" : "#ddd",
                          plain ? "stroke-dasharray=\"4 3\"" : "");
      text(kChartLeft - 8, y(ratio) + 4, fmt::format("{:.1f}", ratio), "end");
    }
    for (size_t i = 0; i < depths_.size(); ++i)
      text(x(i), kChartHeight - kChartBottom + 20, depth_name(depths_[i]), "middle");
    text((kChartLeft + kChartWidth - kChartRight) / 2, kChartHeight - 14, "drafts per verify", "middle");
    text(kChartLeft - 44, kChartTop - 14, "tokens per second ÷ plain", "start");
  }

  void series(size_t index) {
    const std::string& name = texts_[index];
    const bool all = name == "all";
    const char* colour = all ? "#000" : kChartColours[index % std::size(kChartColours)];
    std::string points, dots;
    for (const SpeculationCell& cell : cells_) {
      if (cell.text != name) continue;
      const auto depth = std::find(depths_.begin(), depths_.end(), cell.depth) - depths_.begin();
      const double at_x = x(static_cast<size_t>(depth)), at_y = y(cell.ratio);
      // The policy's choice is no depth of its own: a mark, not a point of the line.
      if (cell.depth) points += fmt::format("{:.1f},{:.1f} ", at_x, at_y);
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}, depth {}: {:.2f} × plain, {:.0f} tok/s, "
          "{:.2f} tokens per verify</title></circle>\n",
          at_x, at_y, cell.depth ? 3 : 5, colour, escaped(name), depth_name(cell.depth), cell.ratio, cell.tokens_per_s,
          cell.tokens_per_verify);
    }
    out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n{}", points, colour,
                        all ? 3 : 1.8, dots);
    const double key_y = kChartTop + 20 * static_cast<double>(index);
    out_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n",
                        kChartWidth - kChartRight + 24, key_y - 6, colour);
    text(kChartWidth - kChartRight + 46, key_y, name, "start");
  }

  const std::vector<SpeculationCell>& cells_;
  std::vector<std::string> texts_;
  std::vector<BenchDepth> depths_;
  double most_ = 1, top_ = 1;
  std::string out_;
};

}  // namespace

std::string plot_speculation(const SpeculationReport& report) {
  return Plot(report.cells)
      .draw(fmt::format("{}, drafts by {}: {}, {} threads", short_name(report.model), short_name(report.drafter),
                        report.kernels, report.threads));
}

}  // namespace paceline
