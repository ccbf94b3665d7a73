#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/merged_file.h"

namespace paceline {
namespace {

constexpr std::string_view kTomlBom = "\xEF\xBB\xBF";
constexpr int kDeepest = 100;

// A key with its value, a table's head, a comment or an empty line: whole lines, as many as it takes.
struct Statement {
  std::string text;
  std::string key;  // with all its tables, joined with dots; "": none
  bool is_table = false;
};

bool is_bare_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Walks over TOML, statement by statement. An error says in which line what was expected.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool is_done() const { return at_ == text_.size(); }

  Result<Statement> next() {
    const size_t begin = at_;
    Statement made;
    skip_blanks();
    if (peek() == '[') {
      made.is_table = true;
      TRY(table_head());
      made.key = table_;
    } else if (!is_done() && peek() != '\n' && peek() != '#') {
      TRY_ASSIGN(const std::string name, key_and_value(0));
      made.key = table_.empty() ? name : table_ + "." + name;
      TRY(note_key(made.key));
    }
    skip_blanks();
    skip_comment();
    if (peek() != '\n') return wrong("the end of the line");
    if (!is_done()) ++at_;
    made.text = text_.substr(begin, at_ - begin);
    if (!made.text.ends_with('\n')) made.text += '\n';
    return made;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  [[nodiscard]] ptrdiff_t line() const {
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
  }
  [[nodiscard]] Error wrong(std::string_view expected) const {
    const std::string_view rest = text_.substr(at_, std::min(text_.find('\n', at_) - at_, size_t{40}));
    return Error{fmt::format("line {}: expected {}, found {}", line(), expected,
                             rest.empty() ? "the end of the line" : fmt::format("'{}'", rest))};
  }
  Status take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return wrong(what);
    at_ += what.size();
    return Done{};
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
  }
  void skip_comment() {
    if (peek() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  }
  // Over line ends, too, as in a list.
  void skip_lines() {
    while (true) {
      skip_blanks();
      skip_comment();
      if (is_done() || peek() != '\n') return;
      ++at_;
    }
  }

  Status table_head() {
    const bool is_list = text_.substr(at_).starts_with("[[");
    TRY(take(is_list ? "[[" : "["));
    TRY_ASSIGN(table_, key());
    TRY(take(is_list ? "]]" : "]"));
    if (!is_list) return note_key("[" + table_);
    // Another entry, whose keys are its own.
    std::erase_if(seen_,
                  [&](const std::string& one) { return one.starts_with(table_) || one.starts_with("[" + table_); });
    return Done{};
  }

  Status note_key(const std::string& key) {
    if (seen_.insert(key).second) return Done{};
    return Error{fmt::format("line {}: expected each key once, found this one twice", line())};
  }

  // With dots, without quotes; a dot within quotes is another letter.
  Result<std::string> key() {
    std::string made;
    while (true) {
      skip_blanks();
      const size_t begin = at_;
      if (peek() == '"' || peek() == '\'') {
        TRY(skip_string(false));
        std::string quoted(text_.substr(begin + 1, at_ - begin - 2));
        std::replace(quoted.begin(), quoted.end(), '.', '\x1F');
        made += quoted;
      } else {
        while (is_bare_key(peek())) ++at_;
        if (at_ == begin) return wrong("KEY = VALUE or [TABLE]");
        made += text_.substr(begin, at_ - begin);
      }
      skip_blanks();
      if (peek() != '.') return made;
      made += '.';
      ++at_;
    }
  }

  Result<std::string> key_and_value(int depth) {
    TRY_ASSIGN(std::string name, key());
    TRY(take("="));
    skip_blanks();
    TRY(skip_value(depth));
    return name;
  }

  Status skip_value(int depth) {
    if (depth > kDeepest) return wrong("fewer lists within each other");
    if (peek() == '"' || peek() == '\'') return skip_string(true);
    if (peek() != '[' && peek() != '{') return skip_word();
    const std::string_view end = peek() == '[' ? "]" : "}";
    for (++at_, skip_lines(); peek() != end.front(); skip_lines()) {
      if (end == "}") {
        TRY(key_and_value(depth + 1));
      } else {
        TRY(skip_value(depth + 1));
      }
      skip_lines();
      if (peek() == ',') {
        ++at_;
      } else if (peek() != end.front()) {
        return wrong(fmt::format(", or {}", end));
      }
    }
    return take(end);
  }

  // A number, a time, true or false.
  Status skip_word() {
    const size_t begin = at_;
    const auto word = [&] { return text_.substr(begin, at_ - begin); };
    const auto walk = [&] {
      while (is_bare_key(peek()) || std::string_view("+.:").find(peek()) != std::string_view::npos) ++at_;
    };
    walk();
    // 1979-05-27 07:32:00
    const bool is_date = word().size() == 10 && word()[4] == '-' && word()[7] == '-';
    if (is_date && peek() == ' ' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
      ++at_;
      walk();
    }
    std::string_view number = word();
    if (number == "true" || number == "false") return Done{};
    if (number.starts_with('+') || number.starts_with('-')) number.remove_prefix(1);
    if (number == "inf" || number == "nan" || (!number.empty() && is_digit(number.front()))) return Done{};
    at_ = begin;
    return wrong("a value");
  }

  Status skip_string(bool may_be_long) {
    const size_t begin = at_;
    const char quote = text_[at_];
    const bool is_long = may_be_long && text_.substr(at_).starts_with(std::string(3, quote));
    const std::string end(is_long ? 3 : 1, quote);
    for (at_ += end.size(); at_ < text_.size() && (is_long || text_[at_] != '\n'); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
        const std::string_view known = is_long ? "btnfrexuU\"\\ \t\r\n" : "btnfrexuU\"\\";
        if (known.find(peek()) == std::string_view::npos) return wrong("an escape that TOML knows");
      } else if (text_.substr(at_).starts_with(end)) {
        at_ += end.size();
        // A long one may end with quotes of its own.
        while (is_long && at_ < text_.size() && text_[at_] == quote) ++at_;
        return Done{};
      }
    }
    at_ = begin;
    return wrong(fmt::format("{} at the end of a text", end));
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string table_;
  std::set<std::string> seen_;
};

Result<std::vector<Statement>> statements_of(std::string_view text) {
  std::vector<Statement> made;
  for (Reader reader(text); !reader.is_done();) {
    TRY_ASSIGN(Statement next, reader.next());
    made.push_back(std::move(next));
  }
  return made;
}

bool is_below(const std::string& key, const std::string& top) { return key == top || key.starts_with(top + "."); }

// Parts with an empty line between them.
std::string joined(const std::vector<std::string>& parts) {
  std::string made;
  for (std::string_view part : parts) {
    while (part.starts_with('\n')) part.remove_prefix(1);
    while (part.ends_with("\n\n")) part.remove_suffix(1);
    if (part.empty()) continue;
    if (!made.empty()) made += '\n';
    made += part;
  }
  return made;
}

bool is_below_any(const std::string& key, const std::vector<std::string>& tops) {
  return std::any_of(tops.begin(), tops.end(), [&](const std::string& top) { return is_below(key, top); });
}

std::set<std::string> keys_below(std::string_view text, const std::vector<std::string>& tops) {
  if (text.starts_with(kTomlBom)) text.remove_prefix(kTomlBom.size());
  std::set<std::string> keys;
  if (const auto read = statements_of(text); read.ok()) {
    for (const Statement& statement : *read)
      if (is_below_any(statement.key, tops)) keys.insert(statement.key);
  }
  return keys;
}

}  // namespace

bool holds_toml(std::string_view now, std::string_view before, const std::vector<std::string>& dropped) {
  const std::set<std::string> mine = keys_below(now, dropped), old = keys_below(before, dropped);
  return std::any_of(mine.begin(), mine.end(), [&](const std::string& key) { return !old.contains(key); });
}

Result<std::string> unmerged_toml(std::string_view now, std::string_view before,
                                  const std::vector<std::string>& dropped) {
  if (before.starts_with(kTomlBom)) before.remove_prefix(kTomlBom.size());
  TRY_ASSIGN(const auto old, statements_of(before));
  std::string top, tables;
  const Statement* table = nullptr;
  for (const Statement& statement : old) {
    if (statement.is_table) table = &statement;
    if (!is_below_any(statement.key, dropped)) continue;
    if (table != nullptr && !is_below_any(table->key, dropped))
      return Error{fmt::format("{} stood within [{}]", statement.key, table->key)};
    (table == nullptr ? top : tables) += statement.text;
  }
  return merged_toml(now, top + tables, dropped);
}

Result<std::string> merged_toml(std::string_view old, std::string_view ours_text,
                                const std::vector<std::string>& dropped) {
  const std::string_view bom = old.starts_with(kTomlBom) ? kTomlBom : std::string_view();
  old.remove_prefix(bom.size());
  TRY_ASSIGN(const auto theirs, statements_of(old));
  TRY_ASSIGN(const auto ours, statements_of(ours_text));
  const auto first_table = std::find_if(ours.begin(), ours.end(), [](const Statement& s) { return s.is_table; });
  std::string top, rest, tables;
  for (auto at = ours.begin(); at != ours.end(); ++at) (at < first_table ? top : tables) += at->text;
  for (const Statement& statement : theirs) {
    // A table that is written as a value can have no further ones.
    for (const std::string& key : dropped) {
      if (!statement.is_table && !statement.key.empty() && key.starts_with(statement.key + "."))
        return Error{fmt::format("{} stands there as one value; write it as [{}] first", statement.key, key)};
    }
    if (!is_below_any(statement.key, dropped)) rest += statement.text;
  }
  return std::string(bom) + joined({top, rest, tables});
}

}  // namespace paceline
