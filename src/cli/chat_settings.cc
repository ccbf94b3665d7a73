#include "cli/chat_settings.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/command_line.h"
#include "speculate/drafter.h"

namespace paceline {
namespace {

Error wrong_value(const char* command, const char* expected, const std::string& found) {
  return Error{fmt::format("{} wants {}, not {}", command, expected, found)};
}

Result<std::string> change_seed(const std::string& value, std::optional<uint64_t>& seed) {
  if (value == "random") {
    seed.reset();
  } else if (!value.empty()) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size())
      return wrong_value("/seed", "a whole number from 0 on, or random", value);
    seed = number;
  }
  return seed ? fmt::format("seed {}", *seed) : "seed: another for each answer";
}

Result<std::string> change_temperature(const std::string& value, std::optional<float>& temperature) {
  // As the model's own settings are checked.
  constexpr float kMost = 100;
  if (value == "model") {
    temperature.reset();
  } else if (!value.empty()) {
    float number = 0;
    if (!read_number(value, number) || !(number >= 0 && number <= kMost))
      return wrong_value("/temp", "a number from 0 on, or model", value);
    temperature = number;
  }
  return temperature ? fmt::format("temperature {}", *temperature) : "temperature: the model's";
}

Result<std::string> change_depth(const std::string& value, std::optional<int32_t>& depth) {
  if (value == "auto") {
    depth.reset();
  } else if (!value.empty()) {
    int32_t number = 0;
    if (!read_number(value, number) || number < 0 || number > kMaxDraftTokens)
      return wrong_value("/depth", fmt::format("a number from 0 to {}, or auto", kMaxDraftTokens).c_str(), value);
    depth = number;
  }
  return depth ? fmt::format("at most {} guesses per check", *depth) : "guesses per check: as many as are worth it";
}

Result<std::string> change_thinking(const std::string& value, std::optional<bool>& thinks) {
  if (value == "model") {
    thinks.reset();
  } else if (value == "on" || value == "off") {
    thinks = value == "on";
  } else if (!value.empty()) {
    return wrong_value("/thinking", "on, off or model", value);
  }
  return thinks ? fmt::format("thinking {}", *thinks ? "on" : "off") : "thinking: as the model has it";
}

Result<std::string> change_colours(const std::string& value, bool& colours) {
  if (value == "on" || value == "off") {
    colours = value == "on";
  } else if (!value.empty()) {
    return wrong_value("/colours", "on or off", value);
  }
  return fmt::format("colours {}", colours ? "on" : "off");
}

}  // namespace

Result<std::string> change_setting(ChatVerb verb, const std::string& value, ChatSettings& settings) {
  switch (verb) {
    case ChatVerb::seed: return change_seed(value, settings.seed);
    case ChatVerb::temperature: return change_temperature(value, settings.temperature);
    case ChatVerb::depth: return change_depth(value, settings.depth);
    case ChatVerb::thinking: return change_thinking(value, settings.thinks);
    case ChatVerb::colours: return change_colours(value, settings.colours);
    default: return Error{"expected the name of a setting, found another command"};
  }
}

}  // namespace paceline
