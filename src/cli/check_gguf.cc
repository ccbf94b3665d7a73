#include "cli/check_gguf.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cli/console.h"
#include "proof/gguf_goldens.h"
#include "proof/gguf_report.h"

namespace paceline {

int check_gguf_of(const std::filesystem::path& folder, Precision precision, bool json, Machine& machine) {
  const auto check = check_gguf_goldens(folder, precision, machine.pool(), machine.ops());
  if (!check.ok()) return fail(kExitFailure, check.error().message);
  if (json) {
    if (const auto error = write_out(boost::json::serialize(gguf_json(*check, precision)) + "\n"))
      return fail_to_write(error);
  } else if (const auto error = write_out(gguf_table(*check, precision))) {
    return fail_to_write(error);
  }
  return check->passed(precision) ? kExitDone : kExitFailure;
}

}  // namespace paceline
