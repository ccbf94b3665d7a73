#include "proof/speculation_check_report.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace paceline {

std::string speculation_table(std::span<const SpeculationCheck> checks) {
  std::string out = fmt::format("{:<10} {:<6} {:<11} {:>8} {:>10} {:>14}  {}\n", "case", "format", "drafts by", "runs",
                                "tokens", "tokens/verify", "equal to plain");
  int64_t tokens = 0;
  for (const SpeculationCheck& check : checks) {
    for (const auto& form : check.forms) {
      for (const IdentityCount& count : form.identity.kinds) {
        tokens += count.tokens;
        out += fmt::format(
            "{:<10} {:<6} {:<11} {:>8} {:>10} {:>14.2f}  {}\n", check.name, form.format, drafter_kind_name(count.kind),
            count.runs, count.tokens, count.counters.tokens_per_round(),
            count.runs == count.runs_equal ? "all" : fmt::format("{} of {}: MISS", count.runs_equal, count.runs));
      }
      if (form.identity.difference) out += fmt::format("  {}\n", difference_text(*form.identity.difference));
    }
    const DraftsCheck& drafts = check.proposals;
    if (drafts.proposals > 0) {
      out +=
          fmt::format("{:<10} {:<6} {} of {} proposals are the golden's{}\n", check.name, "f32", drafts.proposals_equal,
                      drafts.proposals, drafts.proposals == drafts.proposals_equal ? "" : ": MISS");
    }
  }
  return out + fmt::format(
                   "{} tokens compared with the plain run's: depths 1 to 15 and auto, 5 ways of choosing, 3 seeds, "
                   "prompts from 1 token to four windows\n",
                   tokens);
}

boost::json::array speculation_json(std::span<const SpeculationCheck> checks) {
  boost::json::array list;
  for (const SpeculationCheck& check : checks) {
    boost::json::array rows;
    for (const auto& form : check.forms) {
      for (const IdentityCount& count : form.identity.kinds) {
        rows.push_back({{"format", form.format},
                        {"drafter", drafter_kind_name(count.kind)},
                        {"runs", count.runs},
                        {"runs_equal", count.runs_equal},
                        {"tokens", count.tokens},
                        {"tokens_per_verify", count.counters.tokens_per_round()}});
      }
    }
    list.push_back({{"case", check.name},
                    {"passed", check.passed()},
                    {"proposals", check.proposals.proposals},
                    {"proposals_equal", check.proposals.proposals_equal},
                    {"runs", rows}});
  }
  return list;
}

}  // namespace paceline
