#include "cli/check_speculation.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "cli/console.h"
#include "cli/progress.h"
#include "proof/speculation_check.h"
#include "proof/speculation_check_report.h"

namespace paceline {

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
  if (const auto error =
          write_out(json ? boost::json::serialize(speculation_json(checks)) + "\n" : speculation_table(checks))) {
    return fail_to_write(error);
  }
  return missed ? kExitFailure : kExitDone;
}

}  // namespace paceline
