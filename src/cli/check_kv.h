// paceline check --text: what a format of keys and values costs on a text.
#pragma once

#include <string>

#include "session/opened_model.h"

namespace paceline {

// Returns an exit code.
int check_kv_of(const RunOptions& run, const std::string& text_file, bool json);

}  // namespace paceline
