#include "cli/draft_options.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units_text.h"
#include "speculate/scripted/scripted_drafter.h"

namespace paceline {

void add_draft_options(const Command& command, DraftOptions& options) {
  constexpr const char* kGroup = "Speed (never changes the text)";
  command
      .add_option("--draft", options.draft,
                  "Who guesses tokens ahead, for the model to check several at once: auto (the model's own drafters, "
                  "where they lie in the model's folder, beside it or in the local Hugging Face cache, and ngram: who "
                  "is best is found out on the way), ngram (what followed the same words before), none, or a drafter's "
                  "folder or org/name as for -m")
      ->group(kGroup)
      ->type_name("auto|ngram|none|DIR")
      ->capture_default_str();
  command
      .add_option(
          "--draft-kind", options.kind,
          "What the drafter must be: mtp (Gemma 4's assistants), dflash (whole blocks at once), or auto: as its "
          "config says")
      ->group(kGroup)
      ->one_of({"auto", "mtp", "dflash"})
      ->type_name("auto|mtp|dflash")
      ->capture_default_str();
  command.add_option("--depth", options.depth, "Guesses per check; 0: none; default: by what is measured on the way")
      ->group(kGroup)
      ->range(0, kMaxDraftTokens);
}

Status check_draft_options(const DraftOptions& options) {
  if (options.draft.empty()) return Error{"--draft wants auto, ngram, none or a drafter's folder"};
  if (is_scripted(options.draft)) TRY(read_script(options.draft));
  if (options.kind != "auto" && (options.draft == "ngram" || options.draft == "none")) {
    return Error{
        fmt::format("--draft-kind {} wants a drafter's folder or auto, not --draft {}", options.kind, options.draft)};
  }
  return Done{};
}

std::string draft_summary(const Drafting& drafting, const SpeculationCounters& c, double tokens_per_ms,
                          int32_t context) {
  if (drafting.drafter() == nullptr) return "";
  const double plain_ms = drafting.plain_ms(context);
  const std::string gain = plain_ms > 0 && c.drafted > 0
                               ? fmt::format("{:.2f} times as fast as without drafts, where a token takes {}\n",
                                             tokens_per_ms * plain_ms, time_text(plain_ms))
                               : "";
  return gain + fmt::format(
                    "draft {} · {} rounds, {} drafted, {} accepted · {:.2f} tokens per verify, accepted {:.0f} % of "
                    "drafted and "
                    "{:.0f} "
                    "% of emitted · draft {}, verify {}, choose {}, commit {}\n",
                    drafting.name(), c.rounds, c.drafted, c.accepted, c.tokens_per_round(),
                    100 * c.accepted_of_drafted(), 100 * c.accepted_of_emitted(), time_text(c.draft_ms),
                    time_text(c.verify_ms), time_text(c.choose_ms), time_text(c.commit_ms));
}

boost::json::object draft_json(const Drafting& drafting, const SpeculationCounters& c) {
  boost::json::object object;
  object["draft"] = drafting.name();
  if (const auto depth = drafting.fixed_depth()) object["depth"] = *depth;
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
