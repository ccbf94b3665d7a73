// The settings file with some lines changed.
#pragma once

#include <map>
#include <string>

namespace paceline {

using SettingValues = std::map<std::string, std::string>;

// KEY = VALUE for each that was changed: in the place of the file's own line, or in front of its tables. All else
// stays.
std::string settings_text_with(const std::string& text, const SettingValues& changed);

}  // namespace paceline
