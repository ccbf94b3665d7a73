#include "cli/serve_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace paceline {
namespace {

bool is_key_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

// A number (1_000, 0.5, 1e9, 0xff), or true or false.
bool is_plain_value(std::string_view text) {
  if (text == "true" || text == "false") return true;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_key_letter(c) || c == '.' || c == '+'; });
}

class SettingReader {
 public:
  explicit SettingReader(std::string_view text) : left_(text) {}

  Result<std::vector<SettingLine>> read() {
    std::vector<SettingLine> lines;
    while (true) {
      skip_to_text();
      if (left_.empty()) return lines;
      if (left_.front() == '[') {
        TRY(read_table());
        continue;
      }
      TRY_ASSIGN(SettingLine line, read_line());
      for (const SettingLine& other : lines) {
        if (other.key == line.key && other.model == line.model)
          return Error{fmt::format("line {}: {} stands in line {} already", line.number, line.key, other.number)};
      }
      lines.push_back(std::move(line));
    }
  }

 private:
  // [models.NAME], or [models."ORG/NAME"]
  Status read_table() {
    constexpr std::string_view kBegin = "[models.";
    if (!left_.starts_with(kBegin)) return wrong("KEY = VALUE or [models.NAME]");
    left_.remove_prefix(kBegin.size());
    std::vector<std::string> name;
    if (!left_.empty() && (left_.front() == '"' || left_.front() == '\'')) {
      TRY(read_value(name));
    } else {
      name.emplace_back(take_while(is_key_letter));
    }
    if (name.front().empty() || !take(']')) return wrong("a model's name and ]");
    model_ = name.front();
    return Done{};
  }

  Result<SettingLine> read_line() {
    SettingLine line{number_, model_, std::string(take_while(is_key_letter)), {}};
    if (line.key.empty()) return wrong("a setting's name");
    skip_blanks();
    if (!take('=')) return wrong(fmt::format("= behind {}", line.key));
    skip_blanks();
    TRY(take('[') ? read_list(line.values) : read_value(line.values));
    skip_blanks();
    if (!left_.empty() && left_.front() != '\n' && left_.front() != '#') return wrong("the end of the line");
    return line;
  }

  // Over several lines, if it likes.
  Status read_list(std::vector<std::string>& values) {
    while (true) {
      skip_to_text();
      if (take(']')) return Done{};
      TRY(read_value(values));
      skip_to_text();
      if (take(',')) continue;
      if (!take(']')) return wrong(", or ] in the list");
      return Done{};
    }
  }

  Status read_value(std::vector<std::string>& values) {
    if (take('"')) return read_text(values);
    if (take('\'')) {
      const size_t end = left_.find_first_of("'\n");
      if (end == std::string_view::npos || left_[end] != '\'') return wrong("' at the end of the text");
      values.emplace_back(left_.substr(0, end));
      left_.remove_prefix(end + 1);
      return Done{};
    }
    const size_t end = std::min(left_.find_first_of(" \t\r\n,]#"), left_.size());
    std::string value(left_.substr(0, end));
    if (!is_plain_value(value)) return wrong("a number, true, false, or a text in quotes");
    std::erase(value, '_');
    values.push_back(std::move(value));
    left_.remove_prefix(end);
    return Done{};
  }

  Status read_text(std::vector<std::string>& values) {
    std::string text;
    while (!left_.empty() && left_.front() != '\n') {
      const char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') {
        values.push_back(std::move(text));
        return Done{};
      }
      if (c != '\\') {
        text += c;
        continue;
      }
      constexpr std::string_view kNames = "\"\\nrt", kMeanings = "\"\\\n\r\t";
      const size_t which = left_.empty() ? std::string_view::npos : kNames.find(left_.front());
      if (which == std::string_view::npos) return wrong(R"(one of \" \\ \n \r \t)");
      text += kMeanings[which];
      left_.remove_prefix(1);
    }
    return wrong("\" at the end of the text");
  }

  [[nodiscard]] Error wrong(std::string_view expected) const {
    const std::string_view rest = left_.substr(0, std::min(left_.find('\n'), size_t{40}));
    return Error{fmt::format("line {}: expected {}, found {}", number_, expected,
                             rest.empty() ? "the end of the line" : fmt::format("'{}'", rest))};
  }

  template <class Is>
  std::string_view take_while(Is is) {
    const auto end = std::find_if_not(left_.begin(), left_.end(), is);
    const std::string_view taken = left_.substr(0, static_cast<size_t>(end - left_.begin()));
    left_.remove_prefix(taken.size());
    return taken;
  }
  bool take(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    take_while([](char c) { return c == ' ' || c == '\t' || c == '\r'; });
  }
  // Over blanks, comments and line ends.
  void skip_to_text() {
    while (true) {
      skip_blanks();
      if (!left_.empty() && left_.front() == '#') take_while([](char c) { return c != '\n'; });
      if (!take('\n')) return;
      ++number_;
    }
  }

  std::string_view left_;
  std::string model_;  // of whose table the line is
  int number_ = 1;
};

}  // namespace

Result<std::vector<SettingLine>> read_setting_lines(std::string_view text) { return SettingReader(text).read(); }

}  // namespace paceline
