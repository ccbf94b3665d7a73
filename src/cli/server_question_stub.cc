// A build without the server speaks no HTTP.
#include "cli/server_question.h"

namespace paceline {

Result<std::vector<ServerModel>> ask_for_models(const std::string& /*url*/, const std::string& /*key*/) {
  return Error{"this build asks no server"};
}

}  // namespace paceline
