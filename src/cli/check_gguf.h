// paceline check of a folder of GGUF goldens.
#pragma once

#include <filesystem>

#include "model/forward.h"
#include "session/machine.h"

namespace paceline {

int check_gguf_of(const std::filesystem::path& folder, Precision precision, bool json, Machine& machine);

}  // namespace paceline
