#include "bench/forward_report.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace paceline {

std::string forward_table(const ForwardReport& report) {
  const ForwardBenchResult& result = report.result;
  std::string out = fmt::format(
      "{}: {:.2f} GB of weights, {} kernels, {} threads, context {}\n"
      "read bandwidth {:.1f} GB/s; machine {:.0f} % busy before the run\n\n"
      "{:>6} {:>10} {:>9} {:>10} {:>8} {:>12}\n",
      report.model, report.weight_gigabytes, report.kernels, report.threads, report.context, result.bandwidth_gbs,
      100 * report.busy_before, "width", "ms", "GB/s", "share", "÷ 1", "bytes ÷ 1");
  for (const WidthResult& width : result.widths)
    out += fmt::format("{:>6} {:>10.3f} {:>9.1f} {:>8.1f} % {:>7.2f} {:>11.2f}\n", width.width, width.ms,
                       width.bytes / width.ms / 1e6, 100 * width.share, width.ratio, width.bytes_ratio);
  return out + fmt::format("\ndecode {:.1f} tok/s; prompt of {} {:.0f} tok/s ({:.1f} × decode)\n", result.decode_tok_s,
                           report.prompt, result.prompt_tok_s, result.prompt_ratio);
}

boost::json::object forward_json(const ForwardReport& report) {
  const ForwardBenchResult& result = report.result;
  boost::json::array widths;
  for (const WidthResult& width : result.widths)
    widths.push_back({{"width", width.width},
                      {"ms", width.ms},
                      {"weight_bytes", width.bytes},
                      {"bandwidth_share", width.share},
                      {"ratio_to_first", width.ratio},
                      {"bytes_ratio_to_first", width.bytes_ratio}});
  return {{"model", report.model},
          {"kernels", report.kernels},
          {"threads", report.threads},
          {"context", report.context},
          {"weight_gigabytes", report.weight_gigabytes},
          {"bandwidth_gb_s", result.bandwidth_gbs},
          {"busy_before", report.busy_before},
          {"widths", widths},
          {"decode_tokens_per_s", result.decode_tok_s},
          {"prompt_tokens", report.prompt},
          {"prompt_tokens_per_s", result.prompt_tok_s},
          {"prompt_ratio", result.prompt_ratio}};
}

}  // namespace paceline
