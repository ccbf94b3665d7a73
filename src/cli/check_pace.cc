#include "cli/check_pace.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cli/console.h"
#include "cli/progress.h"
#include "proof/pace_check.h"

namespace paceline {

int check_pace_of(const RunOptions& run, int32_t rounds, bool json) {
  PaceSettings settings;
  settings.rounds = rounds;
  ProgressBar bar("rounds", stderr_is_terminal());
  settings.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  const auto checked = check_pace(run, settings);
  if (!checked.ok()) return fail(kExitFailure, checked.error().message);
  const std::string out = json ? boost::json::serialize(pace_json(*checked)) + "\n" : pace_line(*checked);
  if (const auto error = write_out(out)) return fail_to_write(error);
  return checked->equal ? kExitDone : kExitFailure;
}

}  // namespace paceline
