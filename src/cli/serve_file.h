// The settings file of `paceline serve`: TOML's lines KEY = VALUE, and behind them tables [models.NAME].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paceline {

struct SettingLine {
  int number = 0;     // from 1
  std::string model;  // of whose table it is; "": of none
  std::string key;
  std::vector<std::string> values;  // one, or those of a list
};

// An error names the line, and says what was expected there and what was found.
Result<std::vector<SettingLine>> read_setting_lines(std::string_view text);

}  // namespace paceline
