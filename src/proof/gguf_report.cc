#include "proof/gguf_report.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace paceline {
namespace {

std::string of_all(int64_t equal, int64_t all) { return all == 0 ? "–" : fmt::format("{} of {}", equal, all); }

}  // namespace

std::string gguf_table(const GgufCheck& check, Precision precision) {
  constexpr const char* kRow = "{:<24} {:>12} {:>8} {:>12} {:>12} {:>12} {:>14}  {}\n";
  std::string out =
      fmt::format(kRow, "file", "tensors", "prompts", "logit error", "tokens", "drafts", "vision tensors", "");
  for (const GgufFileCheck& file : check.files) {
    out +=
        fmt::format(kRow, file.name, of_all(file.tensors_equal, file.tensors), file.prompts,
                    file.prompts > 0 ? fmt::format("{:.1e}", file.logit_error) : "–",
                    of_all(file.tokens_equal, file.tokens), of_all(file.drafts.proposals_equal, file.drafts.proposals),
                    of_all(file.vision_tensors_equal, file.vision_tensors), file.passed(precision) ? "ok" : "MISS");
    if (!file.problem.empty()) out += fmt::format("  {}\n", file.problem);
    if (!file.configs_equal) out += "  the config differs\n";
  }
  out += fmt::format("block types    {}\nencodings      {}\nhostile files  {} end as they should\n",
                     of_all(check.block_types_equal, check.block_types), of_all(check.encodings_equal, check.encodings),
                     of_all(check.hostile_as_said, check.hostile));
  for (const std::string& problem : check.hostile_problems) out += fmt::format("  {}\n", problem);
  return out;
}

boost::json::object gguf_json(const GgufCheck& check, Precision precision) {
  boost::json::array files;
  for (const GgufFileCheck& file : check.files) {
    files.push_back({{"file", file.name},
                     {"tensors", file.tensors},
                     {"tensors_equal", file.tensors_equal},
                     {"prompts", file.prompts},
                     {"logit_error", file.logit_error},
                     {"tokens", file.tokens},
                     {"tokens_equal", file.tokens_equal},
                     {"drafts", file.drafts.proposals},
                     {"drafts_equal", file.drafts.proposals_equal},
                     {"vision_tensors", file.vision_tensors},
                     {"vision_tensors_equal", file.vision_tensors_equal},
                     {"config_equal", file.configs_equal},
                     {"problem", file.problem},
                     {"passed", file.passed(precision)}});
  }
  return {{"files", std::move(files)},
          {"block_types", check.block_types},
          {"block_types_equal", check.block_types_equal},
          {"encodings", check.encodings},
          {"encodings_equal", check.encodings_equal},
          {"hostile", check.hostile},
          {"hostile_as_said", check.hostile_as_said},
          {"passed", check.passed(precision)}};
}

}  // namespace paceline
