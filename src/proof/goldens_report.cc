#include "proof/goldens_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <vector>

namespace paceline {
namespace {

std::string golden_error(bool ran, double error) { return ran ? fmt::format("{:.1e}", error) : "–"; }

std::string golden_count(int64_t equal, int64_t all) { return all == 0 ? "–" : fmt::format("{} of {}", equal, all); }

// fmt counts "–" as one column, as terminals do.
std::string golden_row(std::span<const std::string> cells) {
  return fmt::format("{:<10} {:>7} {:>12} {:>12} {:>12} {:>14} {:>14} {:>12} {:>12} {:>8} {:>14} {:>8}  {}\n", cells[0],
                     cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8], cells[9],
                     cells[10], cells[11], cells[12]);
}

boost::json::object golden_json(const GoldenCheck& check, Precision precision) {
  boost::json::object object;
  object["case"] = check.name;
  object["prompts"] = check.prompts;
  object["logit_error"] = check.logit_error;
  object["layer_input_error"] = check.layer_input_error;
  object["hidden_error"] = check.hidden_error;
  object["state_error"] = check.state_error;
  object["choices"] = check.choices;
  object["choices_equal"] = check.choices_equal;
  object["tokens"] = check.tokens;
  object["tokens_equal"] = check.tokens_equal;
  object["drafts"] = check.drafts.proposals;
  object["drafts_equal"] = check.drafts.proposals_equal;
  object["blocks"] = check.dflash.drafts.proposals;
  object["blocks_equal"] = check.dflash.drafts.proposals_equal;
  object["block_error"] = check.dflash.block_error;
  object["images"] = check.images;
  object["images_equal"] = check.images_equal;
  object["image_logit_error"] = check.image_logit_error;
  object["pictures"] = check.vision.images;
  object["pictures_equal"] = check.vision.patches_equal;
  object["feature_error"] = check.vision.feature_error;
  object["passed"] = check.passed(precision);
  return object;
}

}  // namespace

std::string goldens_table(std::span<const GoldenCheck> checks, Precision precision) {
  const std::vector<std::string> head{"case",   "prompts", "logit error", "layer error", "state error",   "choices",
                                      "tokens", "drafts",  "blocks",      "pixels",      "feature error", "images",
                                      ""};
  std::string out = golden_row(head);
  for (const GoldenCheck& check : checks) {
    const std::vector<std::string> cells{
        check.name,
        std::to_string(check.prompts),
        golden_error(check.ran(), std::max(check.logit_error, check.image_logit_error)),
        golden_error(check.prompts > 0, check.layer_input_error),
        golden_error(check.state_error > 0, check.state_error),
        golden_count(check.choices_equal, check.choices),
        golden_count(check.tokens_equal, check.tokens),
        golden_count(check.drafts.proposals_equal, check.drafts.proposals),
        golden_count(check.dflash.drafts.proposals_equal, check.dflash.drafts.proposals),
        golden_count(check.vision.patches_equal, check.vision.images),
        golden_error(check.vision.images > 0, check.vision.feature_error),
        golden_count(check.images_equal, check.images),
        !check.ran() ? "not run" : (check.passed(precision) ? "ok" : "MISS"),
    };
    out += golden_row(cells);
  }
  return out;
}

boost::json::array goldens_json(std::span<const GoldenCheck> checks, Precision precision) {
  boost::json::array list;
  for (const GoldenCheck& check : checks) list.push_back(golden_json(check, precision));
  return list;
}

}  // namespace paceline
