#include "cli/check_kv.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cli/console.h"
#include "proof/text_kv_check.h"

namespace paceline {

int check_kv_of(const RunOptions& run, const std::string& text_file, bool json) {
  const auto found = check_text_kv(run, text_file);
  if (!found.ok()) return fail(kExitFailure, found.error().message);
  const std::string out = json ? boost::json::serialize(text_kv_json(*found)) + "\n" : text_kv_table(*found);
  if (const auto error = write_out(out)) return fail_to_write(error);
  return kExitDone;
}

}  // namespace paceline
