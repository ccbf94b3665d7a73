#include "cli/drafting.h"

#include <fmt/format.h>

#include "cli/console.h"
#include "cli/model_path.h"
#include "model/mtp_binding.h"
#include "speculate/mtp_proposer.h"
#include "speculate/ngram.h"

namespace paceline {
namespace {

Result<std::unique_ptr<Proposer>> load_drafter(const std::string& asked, const Forward& target, Machine& machine) {
  if (asked.empty()) return Error{"--draft wants ngram, none or a drafter's folder"};
  TRY_ASSIGN(const std::filesystem::path folder, find_model(asked));
  TRY_ASSIGN(auto weights, load_mtp(folder, machine.pool()));
  if (const Status fits = check_fits(weights->config, target.weights().config); !fits.ok()) {
    return Error{fmt::format("{}: does not fit the model: {}", folder.string(), fits.error().message)};
  }
  auto drafter =
      std::make_unique<MtpDrafter>(std::move(weights), target.shared_weights(), machine.ops(), target.precision());
  return std::unique_ptr<Proposer>(std::make_unique<MtpProposer>(std::move(drafter)));
}

}  // namespace

void add_draft_options(CLI::App& command, DraftOptions& options) {
  constexpr const char* kGroup = "Speed (never changes the text)";
  command
      .add_option(
          "--draft", options.draft,
          "Who guesses tokens ahead, for the model to check several at once: ngram (what followed the same words "
          "before), none, or the model's drafter: a folder or org/name as for -m")
      ->group(kGroup)
      ->type_name("ngram|none|DIR")
      ->capture_default_str();
  command.add_option("--depth", options.depth, "Guesses per check; 0: none; default: by what is measured on the way")
      ->group(kGroup)
      ->check(CLI::Range(0, kMaxDraftTokens).description(""));
}

Drafting::Drafting(DraftOptions options) : options_(std::move(options)) {
  if (options_.depth) {
    depth_ = std::make_unique<FixedDepth>(*options_.depth);
  } else {
    depth_ = std::make_unique<AdaptiveDepth>(costs_);
  }
}

Result<std::unique_ptr<Drafting>> Drafting::make(const DraftOptions& options, const Forward& target, Machine& machine) {
  std::unique_ptr<Drafting> drafting(new Drafting(options));
  if (options.draft == "ngram") {
    drafting->proposer_ = std::make_unique<NgramProposer>();
  } else if (options.draft != "none") {
    TRY_ASSIGN(drafting->proposer_, load_drafter(options.draft, target, machine));
  }
  return drafting;
}

std::string Drafting::summary(const SpeculationCounters& c) const {
  if (proposer_ == nullptr) return "";
  return fmt::format(
      "draft {} · {} rounds, {} drafted, {} accepted · {:.2f} tokens per verify, accepted {:.0f} % of drafted and "
      "{:.0f} "
      "% of emitted · draft {}, verify {}, choose {}, commit {}\n",
      options_.draft, c.rounds, c.drafted, c.accepted, c.tokens_per_round(), 100 * c.accepted_of_drafted(),
      100 * c.accepted_of_emitted(), time_text(c.draft_ms), time_text(c.verify_ms), time_text(c.choose_ms),
      time_text(c.commit_ms));
}

boost::json::object Drafting::json(const SpeculationCounters& c) const {
  boost::json::object object;
  object["draft"] = options_.draft;
  if (options_.depth) object["depth"] = *options_.depth;
  object["rounds"] = c.rounds;
  object["drafted"] = c.drafted;
  object["accepted"] = c.accepted;
  object["drafted_by_position"] = boost::json::value_from(c.drafted_at);
  object["accepted_by_position"] = boost::json::value_from(c.accepted_at);
  object["tokens_per_verify"] = c.tokens_per_round();
  object["accepted_of_drafted"] = c.accepted_of_drafted();
  object["accepted_of_emitted"] = c.accepted_of_emitted();
  object["draft_ms"] = c.draft_ms;
  object["verify_ms"] = c.verify_ms;
  object["choose_ms"] = c.choose_ms;
  object["commit_ms"] = c.commit_ms;
  return object;
}

}  // namespace paceline
