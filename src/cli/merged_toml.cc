#include <fmt/format.h>

#include <algorithm>

#include "cli/merged_file.h"

namespace paceline {
namespace {

// A key with its value, a table's head, a comment or an empty line: whole lines, as many as it takes.
struct Statement {
  std::string text;
  std::string key;  // with all its tables, joined with dots; "": none
  bool is_table = false;
};

// Walks over strings, lists and comments.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool is_done() const { return at_ == text_.size(); }

  // An error where a string or a list has no end.
  Result<Statement> next() {
    const size_t begin = at_;
    Statement made;
    skip_blanks();
    if (peek() == '[') {
      made.is_table = true;
      while (peek() == '[') ++at_;
      TRY_ASSIGN(table_, key());
      made.key = table_;
    } else if (!is_done() && peek() != '\n' && peek() != '#') {
      TRY_ASSIGN(const std::string name, key());
      made.key = table_.empty() ? name : table_ + "." + name;
    }
    TRY(skip_line());
    made.text = text_.substr(begin, at_ - begin);
    if (!made.text.ends_with('\n')) made.text += '\n';
    return made;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
  }

  // Up to its = or ], without quotes.
  Result<std::string> key() {
    std::string made;
    while (peek() != '=' && peek() != ']') {
      if (peek() == '\n') return Error{fmt::format("expected KEY = VALUE or [TABLE], found '{}'", made)};
      if (peek() == '"' || peek() == '\'') {
        const size_t begin = at_ + 1;
        TRY(skip_string());
        made += text_.substr(begin, at_ - begin - 1);
      } else {
        if (peek() != ' ' && peek() != '\t') made += peek();
        ++at_;
      }
    }
    return made;
  }

  Status skip_string() {
    const std::string_view rest = text_.substr(at_);
    const char quote = rest[0];
    const bool is_long = rest.starts_with(std::string(3, quote));
    const std::string end(is_long ? 3 : 1, quote);
    for (at_ += end.size(); at_ < text_.size() && (is_long || text_[at_] != '\n'); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
      } else if (text_.substr(at_).starts_with(end)) {
        at_ += end.size();
        // A long one may end with quotes of its own.
        while (is_long && at_ < text_.size() && text_[at_] == quote) ++at_;
        return Done{};
      }
    }
    return Error{fmt::format("expected {} at the end of a text, found none", end)};
  }

  // Behind the line's end, or that of the line where the last list ends.
  Status skip_line() {
    for (int open = 0; at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        TRY(skip_string());
        continue;
      }
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      if (c == '[' || c == '{') ++open;
      if (c == ']' || c == '}') open = std::max(open - 1, 0);
      ++at_;
      if (c == '\n' && open == 0) return Done{};
    }
    return Done{};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string table_;
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

}  // namespace

Result<std::string> merged_toml(std::string_view old, std::string_view ours_text,
                                const std::vector<std::string>& dropped) {
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
    const bool goes = std::any_of(dropped.begin(), dropped.end(),
                                  [&](const std::string& key) { return is_below(statement.key, key); });
    if (!goes) rest += statement.text;
  }
  return joined({top, rest, tables});
}

}  // namespace paceline
