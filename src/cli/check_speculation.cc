#include "cli/check_speculation.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <span>

#include "cli/console.h"
#include "cli/progress.h"
#include "proof/speculation_check.h"

namespace paceline {
namespace {

std::string table_of(std::span<const SpeculationCheck> checks) {
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

boost::json::array json_of(std::span<const SpeculationCheck> checks) {
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

}  // namespace

int check_speculation_of(const std::vector<std::filesystem::path>& cases, bool whole, bool json, Machine& machine) {
  std::vector<SpeculationCheck> checks;
  bool missed = false;
  for (const auto& folder : cases) {
    ProgressBar bar(folder.filename().string(), stderr_is_terminal());
    SpeculationCheckSettings settings;
    settings.whole = whole;
    settings.progress = [&](int64_t done, int64_t total) {
      bar.update(done, total);
      return true;
    };
    auto check = check_speculation(folder, settings, machine.pool(), machine.ops());
    if (!check.ok()) return fail(kExitFailure, fmt::format("{}: {}", folder.string(), check.error().message));
    missed = missed || !check->passed();
    checks.push_back(std::move(*check));
  }
  if (const auto error = write_out(json ? boost::json::serialize(json_of(checks)) + "\n" : table_of(checks))) {
    return fail_to_write(error);
  }
  return missed ? kExitFailure : kExitDone;
}

}  // namespace paceline
