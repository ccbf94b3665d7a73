#include "bench/context_report.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace paceline {

std::string context_table(const ContextReport& report) {
  const ContextBenchResult& result = report.result;
  std::string out = fmt::format(
      "{}: {:.2f} GB of weights, {} kernels, {} threads, keys and values {}\n"
      "read bandwidth {:.1f} GB/s; machine {:.0f} % busy before the run\n\n"
      "{:>9} {:>13} {:>10} {:>9} {:>10} {:>12}",
      report.model, report.weight_gigabytes, report.kernels, report.threads, report.kv, result.bandwidth_gbs,
      100 * report.busy_before, "context", "prompt tok/s", "step ms", "tok/s", "÷ bytes", "KV GB");
  for (size_t i = 1; i < result.widths.size(); ++i)
    out += fmt::format(" {:>12}", fmt::format("{} rows ÷ 1", result.widths[i]));
  out += "\n";
  for (const ContextResult& at : result.contexts) {
    out += fmt::format("{:>9} {:>13.0f} {:>10.3f} {:>9.1f} {:>9.2f} {:>12.2f}", at.context, at.prompt_tok_s, at.step_ms,
                       at.tok_s, at.over_bytes, at.memory_bytes / 1e9);
    for (size_t i = 1; i < at.ratios.size(); ++i) out += fmt::format(" {:>12.2f}", at.ratios[i]);
    out += "\n";
  }
  return out + "\n÷ bytes: a plain step's time over that of reading its weights, keys and values at full bandwidth\n";
}

boost::json::object context_json(const ContextReport& report) {
  boost::json::array contexts;
  for (const ContextResult& at : report.result.contexts) {
    boost::json::array widths;
    for (size_t i = 0; i < at.ratios.size(); ++i)
      widths.push_back({{"width", report.result.widths[i]}, {"ratio_to_first", at.ratios[i]}});
    contexts.push_back({{"context", at.context},
                        {"prompt_tokens_per_s", at.prompt_tok_s},
                        {"step_ms", at.step_ms},
                        {"decode_tokens_per_s", at.tok_s},
                        {"weight_bytes", at.weight_bytes},
                        {"kv_bytes", at.kv_bytes},
                        {"time_over_bytes", at.over_bytes},
                        {"kv_memory_bytes", at.memory_bytes},
                        {"widths", widths}});
  }
  return {{"model", report.model},
          {"kernels", report.kernels},
          {"kv", report.kv},
          {"threads", report.threads},
          {"weight_gigabytes", report.weight_gigabytes},
          {"bandwidth_gb_s", report.result.bandwidth_gbs},
          {"busy_before", report.busy_before},
          {"contexts", contexts}};
}

}  // namespace paceline
