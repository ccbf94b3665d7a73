#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/serve_report.h"

namespace paceline {
namespace {

constexpr double kPanel = 300, kHeight = 360, kLeft = 56, kTop = 66, kBottom = 56, kGap = 64, kKey = 190;
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

// Shares over milliseconds, by powers of ten: waits lie far apart.
class Panel {
 public:
  Panel(double left, std::string title, std::vector<std::vector<double>> series)
      : left_(left), title_(std::move(title)), series_(std::move(series)) {
    double least = 1e9, most = 1e-3;
    for (std::vector<double>& values : series_) {
      std::sort(values.begin(), values.end());
      if (values.empty()) continue;
      least = std::min(least, std::max(values.front(), 1e-3));
      most = std::max(most, values.back());
    }
    low_ = std::floor(std::log10(std::min(least, most)));
    high_ = std::max(low_ + 1, std::ceil(std::log10(most)));
  }

  std::string draw() const {
    std::string out = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left_, kTop - 12, title_);
    for (int i = 0; i <= 4; ++i) {
      const double at = y(i / 4.0);
      out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", left_,
                         left_ + kPanel, at);
      out +=
          fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{} %</text>\n", left_ - 6, at + 4, 25 * i);
    }
    for (double power = low_; power <= high_; ++power) {
      out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n",
                         x(std::pow(10, power)), y(0), y(1));
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g} ms</text>\n",
                         x(std::pow(10, power)), y(0) + 18, std::pow(10, power));
    }
    for (size_t i = 0; i < series_.size(); ++i) out += line(i);
    return out;
  }

 private:
  [[nodiscard]] double x(double ms) const {
    return left_ + kPanel * (std::log10(std::max(ms, 1e-3)) - low_) / (high_ - low_);
  }
  [[nodiscard]] static double y(double share) { return kHeight - kBottom - (kHeight - kTop - kBottom) * share; }

  [[nodiscard]] std::string line(size_t which) const {
    const std::vector<double>& values = series_[which];
    if (values.empty()) return "";
    std::string points;
    constexpr size_t kPoints = 200;
    for (size_t i = 0; i <= kPoints; ++i) {
      const size_t at = i * (values.size() - 1) / kPoints;
      points += fmt::format("{:.1f},{:.1f} ", x(values[at]),
                            y(static_cast<double>(at + 1) / static_cast<double>(values.size())));
    }
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" {}/>\n", points,
                       kColours[which / 2 % std::size(kColours)], which % 2 == 0 ? "stroke-dasharray=\"5 3\"" : "");
  }

  double left_;
  std::string title_;
  std::vector<std::vector<double>> series_;  // plain and auto by turns
  double low_ = 0, high_ = 1;
};

}  // namespace

std::string plot_serving(const ServeReport& report) {
  std::vector<std::vector<double>> first, gaps, whole;
  const double width = kLeft + 3 * (kPanel + kGap) + kKey;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"16\" y=\"24\" font-weight=\"bold\" font-size=\"13\">What clients wait for: {2}</text>\n",
      width, 2 * kHeight, report.server);
  std::vector<std::string> loads;
  for (const ServeCell& cell : report.cells) {
    const auto known = std::find(loads.begin(), loads.end(), cell.name());
    const auto load = static_cast<size_t>(known - loads.begin());
    if (known == loads.end()) loads.push_back(cell.name());
    const size_t at = 2 * load + (cell.speculates ? 1 : 0);
    for (auto* series : {&first, &gaps, &whole}) series->resize(std::max(series->size(), at + 1));
    first[at] = cell.first_ms;
    gaps[at] = cell.gaps_ms;
    whole[at] = cell.whole_ms;
  }
  out += Panel(kLeft, "until the first text", std::move(first)).draw();
  out += Panel(kLeft + kPanel + kGap, "between pieces of text", std::move(gaps)).draw();
  out += Panel(kLeft + 2 * (kPanel + kGap), "until the end", std::move(whole)).draw();
  out += plot_clients(report, kLeft, kHeight + kTop);
  for (size_t i = 0; i < loads.size(); ++i) {
    const double y = kTop + 20 * static_cast<double>(i), x = kLeft + 3 * (kPanel + kGap);
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n", x, y - 6,
        kColours[i % std::size(kColours)], x + 20, y, loads[i]);
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#555\">dashed: plain, solid: auto</text>\n</svg>\n",
                     kLeft + 3 * (kPanel + kGap), kTop + 20 * static_cast<double>(loads.size()) + 8);
  return out;
}

}  // namespace paceline
