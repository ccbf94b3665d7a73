// What can be changed in the middle of a chat about how answers are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/chat_entry.h"

namespace paceline {

struct ChatSettings {
  std::optional<uint64_t> seed;      // none: another for each answer
  std::optional<float> temperature;  // none: the model's
  std::optional<int32_t> depth;      // most guesses per check; none: as is measured
  std::optional<bool> thinks;        // none: as the model's template has it
  bool colours = true;               // where they can be seen
};

// Sets what the verb names, or with "" leaves it; gives how it stands now, in a line. An error says what was expected.
Result<std::string> change_setting(ChatVerb verb, const std::string& value, ChatSettings& settings);

}  // namespace paceline
