#include "server/console/settings_text.h"

#include <algorithm>
#include <string_view>

namespace paceline {
namespace {

bool is_bare_value(std::string_view value) {
  return value == "true" || value == "false" ||
         (!value.empty() && value.find_first_not_of("0123456789.-") == std::string_view::npos);
}

std::string setting_line(const std::string& key, const std::string& value) {
  return key + " = " + (is_bare_value(value) ? value : '"' + value + '"') + "\n";
}

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string settings_text_with(const std::string& text, const SettingValues& changed) {
  std::string made, tables;
  SettingValues left = changed;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line(text.data() + at, end - at);
    // Settings of one model: nothing of theirs is changed here.
    if (without_blanks(line).starts_with('[')) {
      tables = text.substr(at);
      break;
    }
    const auto found = left.find(std::string(without_blanks(line.substr(0, std::min(line.find('='), line.size())))));
    made += found != left.end() ? setting_line(found->first, found->second) : std::string(line);
    if (found != left.end()) left.erase(found);
    at = end;
  }
  if (!made.empty() && !made.ends_with('\n')) made += '\n';
  for (const auto& [key, value] : left) made += setting_line(key, value);
  return made + tables;
}

}  // namespace paceline
