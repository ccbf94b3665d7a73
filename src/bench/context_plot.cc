// Two curves over context: tokens per second of a plain step, and what keys and values take.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/context_report.h"

namespace paceline {
namespace {

constexpr double kContextsWidth = 860, kContextsHeight = 420, kContextsLeft = 70, kContextsRight = 80,
                 kContextsTop = 70, kContextsBottom = 60;
constexpr const char *kSpeedColour = "#0072b2", *kMemoryColour = "#d55e00";

// Contexts lie as far apart as their logarithms.
class ContextPlot {
 public:
  explicit ContextPlot(const std::vector<ContextResult>& results) : results_(results) {
    for (const ContextResult& at : results) {
      most_speed_ = std::max(most_speed_, at.tok_s);
      most_bytes_ = std::max(most_bytes_, at.memory_bytes);
    }
  }

  std::string draw(const std::string& title) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        kContextsWidth, kContextsHeight);
    text(kContextsLeft - 50, 24, title, "start", "font-weight=\"bold\"");
    for (int i = 0; i <= 4; ++i) {
      const double at = y(i / 4.0);
      out_ += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kContextsLeft,
                          kContextsWidth - kContextsRight, at, at);
      text(kContextsLeft - 8, at + 4, fmt::format("{:.0f}", most_speed_ * i / 4), "end");
      text(kContextsWidth - kContextsRight + 8, at + 4, fmt::format("{:.2f}", most_bytes_ * i / 4e9), "start");
    }
    for (const ContextResult& at : results_)
      text(x(at.context), kContextsHeight - kContextsBottom + 20, fmt::format("{}", at.context), "middle");
    text((kContextsLeft + kContextsWidth - kContextsRight) / 2, kContextsHeight - 14, "tokens that stand", "middle");
    curve("tok/s", kSpeedColour, kContextsLeft - 50, [&](const ContextResult& at) { return at.tok_s / most_speed_; });
    curve("GB of keys and values", kMemoryColour, kContextsWidth - kContextsRight - 100,
          [&](const ContextResult& at) { return at.memory_bytes / most_bytes_; });
    return out_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double x(int32_t context) const {
    const double first = std::log(results_.front().context), last = std::log(results_.back().context);
    const double share = last > first ? (std::log(context) - first) / (last - first) : 0;
    return kContextsLeft + (kContextsWidth - kContextsLeft - kContextsRight) * share;
  }
  [[nodiscard]] static double y(double share) {
    return kContextsHeight - kContextsBottom - (kContextsHeight - kContextsTop - kContextsBottom) * share;
  }
  void text(double at_x, double at_y, const std::string& what, const char* anchor, const std::string& more = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", at_x, at_y, anchor, more,
                        what);
  }
  template <class Share>
  void curve(const char* name, const char* colour, double name_x, const Share& share) {
    std::string points, dots;
    for (const ContextResult& at : results_) {
      const double at_x = x(at.context), at_y = y(share(at));
      points += fmt::format("{:.1f},{:.1f} ", at_x, at_y);
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{}: {:.1f} tok/s, {:.2f} "
          "GB</title></circle>\n",
          at_x, at_y, colour, at.context, at.tok_s, at.memory_bytes / 1e9);
    }
    out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n{}", points, colour,
                        dots);
    text(name_x, kContextsTop - 16, name, "start", fmt::format("fill=\"{}\"", colour));
  }

  const std::vector<ContextResult>& results_;
  double most_speed_ = 1e-9, most_bytes_ = 1;
  std::string out_;
};

}  // namespace

std::string plot_contexts(const ContextReport& report) {
  return ContextPlot(report.result.contexts)
      .draw(fmt::format("{}: {}, {} threads, keys and values {}", report.model, report.kernels, report.threads,
                        report.kv));
}

}  // namespace paceline
