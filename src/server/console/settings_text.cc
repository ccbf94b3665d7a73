#include "server/console/settings_text.h"

#include <algorithm>
#include <string_view>

namespace paceline {
namespace {

bool is_bare_value(std::string_view value) {
  return value == "true" || value == "false" ||
         (!value.empty() && value.find_first_not_of("0123456789.-") == std::string_view::npos);
}

std::string written_value(const std::string& value) {
  if (is_bare_value(value)) return value;
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// What stands behind the line's value: blanks, a comment, the line's end.
std::string_view behind_value(std::string_view line) {
  size_t at = line.find_first_not_of(" \t", line.find('=') + 1);
  if (at == std::string_view::npos) return {};
  const char quote = line[at];
  if (quote != '"' && quote != '\'') return line.substr(std::min(line.find_first_of(" \t\r\n#", at), line.size()));
  for (++at; at < line.size() && line[at] != quote; ++at)
    if (quote == '"' && line[at] == '\\') ++at;
  return line.substr(std::min(at + 1, line.size()));
}

}  // namespace

std::string settings_text_with(const std::string& text, const SettingValues& changed) {
  std::string made, tables;
  SettingValues left = changed;
  const size_t first_end = text.find('\n');
  const char* end_of_line =
      first_end != std::string::npos && first_end > 0 && text[first_end - 1] == '\r' ? "\r\n" : "\n";
  const auto setting = [](const auto& one) { return one.first + " = " + written_value(one.second); };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line(text.data() + at, end - at);
    // Settings of one model: nothing of theirs is changed here.
    if (without_blanks(line).starts_with('[')) {
      tables = text.substr(at);
      break;
    }
    const auto found = left.find(std::string(without_blanks(line.substr(0, std::min(line.find('='), line.size())))));
    made += found != left.end() ? setting(*found).append(behind_value(line)) : std::string(line);
    if (found != left.end()) left.erase(found);
    at = end;
  }
  if (!made.empty() && !made.ends_with('\n')) made += end_of_line;
  for (const auto& one : left) made += setting(one) + end_of_line;
  return made + tables;
}

}  // namespace paceline
