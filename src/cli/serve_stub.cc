// A build without the server has no command for it.
#include "cli/commands.h"

namespace paceline {

void add_serve_command(const Command& /*program*/, Action& /*action*/) {}

}  // namespace paceline
