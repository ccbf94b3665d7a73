#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <optional>

#include "cli/merged_file.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr std::string_view kBom = "\xEF\xBB\xBF";

Status check_json(std::string_view text) {
  json::parse_options options;
  options.allow_comments = options.allow_trailing_commas = true;
  json::stream_parser parser({}, options);
  boost::system::error_code failed;
  const size_t read = parser.write(text.data(), text.size(), failed);
  if (!failed) parser.finish(failed);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(read), '\n');
  if (failed) return Error{fmt::format("line {}: expected JSON, found something else ({})", line, failed.message())};
  if (!parser.release().is_object()) return Error{"expected a JSON object, found another value"};
  return Done{};
}

// As people write it: a line for each value, two blanks for each level.
void write(std::string& text, const json::value& value, size_t level) {
  const std::string border = "\n" + std::string(2 * level + 2, ' ');
  const char* between = "";
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    text += '{';
    for (const auto& [key, member] : *object) {
      text += between + border + json::serialize(json::string(key)) + ": ";
      write(text, member, level + 1);
      between = ",";
    }
    text += border.substr(0, border.size() - 2) + '}';
  } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    text += '[';
    for (const json::value& element : *array) {
      text += between + border;
      write(text, element, level + 1);
      between = ",";
    }
    text += border.substr(0, border.size() - 2) + ']';
  } else {
    text += json::serialize(value);
  }
}

struct Member {
  std::string key;
  size_t begin = 0, end = 0;  // of its value
};
struct Members {
  std::vector<Member> all;
  bool ends_in_comma = false;
  size_t end = 0;  // where its } is
};

// Walks over a text that is known to be JSON, with comments.
class JsonWalker {
 public:
  explicit JsonWalker(std::string_view text) : text_(text) {}

  // Of the object that begins behind these blanks.
  Members members(size_t at) {
    at_ = at;
    Members made;
    skip_blanks();
    for (++at_, skip_blanks(); text_[at_] != '}'; skip_blanks()) {
      made.ends_in_comma = text_[at_] == ',';
      if (made.ends_in_comma) {
        ++at_;
        continue;
      }
      const size_t key = at_;
      skip_string();
      Member& member = made.all.emplace_back();
      member.key = json::value_to<std::string>(json::parse(text_.substr(key, at_ - key)));
      skip_blanks();
      ++at_;  // its colon
      skip_blanks();
      member.begin = at_;
      skip_value();
      member.end = at_;
    }
    made.end = at_;
    return made;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        at_ = text_.find("*/", at_ + 2) + 2;
      } else if (std::string_view(" \t\r\n").find(rest.front()) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }
  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    ++at_;
  }
  void skip_value() {
    int open = 0;
    do {
      skip_blanks();
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (std::string_view("[]{},:").find(c) != std::string_view::npos) {
        open += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of("[]{},:\"/ \t\r\n", at_), text_.size());
      }
    } while (open > 0);
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The text with some of it replaced: what nobody touches stays letter by letter.
class JsonEdit {
 public:
  JsonEdit(std::string_view text, std::string_view ours) : text_(text), ours_(ours), walker_(text) {}

  std::string joined(const json::object& with) {
    join(0, with, 0);
    std::sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string made;
    size_t at = 0;
    for (const Edit& edit : edits_) {
      made.append(text_.substr(at, edit.begin - at)).append(edit.text);
      at = edit.end;
    }
    return made.append(text_.substr(at));
  }

 private:
  struct Edit {
    size_t begin = 0, end = 0;
    std::string text;
  };

  void join(size_t at, const json::object& with, size_t level) {
    const Members members = walker_.members(at);
    json::object missing;
    for (const auto& [key, value] : with) {
      // Of several that are called alike, readers take the last.
      const auto old = std::find_if(members.all.rbegin(), members.all.rend(),
                                    [&, name = std::string_view(key)](const Member& one) { return one.key == name; });
      if (old == members.all.rend()) {
        missing[key] = value;
      } else if (text_[old->begin] == '{' && value.is_object() && std::string_view(key) != ours_) {
        join(old->begin, value.get_object(), level + 1);
      } else {
        Edit& edit = edits_.emplace_back(Edit{old->begin, old->end, ""});
        write(edit.text, value, level + 1);
      }
    }
    if (!missing.empty()) append(members, missing, level);
  }

  void append(const Members& members, const json::object& missing, size_t level) {
    const size_t last = text_.find_last_not_of(" \t\r\n", members.end - 1) + 1;
    std::string added;
    write(added, missing, level);
    // Without its braces; the last line end is there where the old text has one.
    const bool has_line = text_.substr(last, members.end - last).find('\n') != std::string_view::npos;
    const size_t line = added.rfind('\n');
    added = added.substr(1, (has_line ? line : added.size() - 1) - 1);
    const bool needs_comma = !members.all.empty() && !members.ends_in_comma;
    if (needs_comma) edits_.push_back({members.all.back().end, members.all.back().end, ","});
    edits_.push_back({last, has_line ? last : members.end, std::move(added)});
  }

  std::string_view text_, ours_;
  JsonWalker walker_;
  std::vector<Edit> edits_;
};

}  // namespace

Result<std::string> merged_json(std::string_view old, std::string_view ours_text, std::string_view ours) {
  const std::string_view bom = old.starts_with(kBom) ? kBom : std::string_view();
  old.remove_prefix(bom.size());
  const bool is_empty = old.find_first_not_of(" \t\r\n") == std::string_view::npos;
  if (is_empty) return std::string(ours_text);
  TRY(check_json(old));
  return std::string(bom) + JsonEdit(old, ours).joined(json::parse(ours_text).as_object());
}

}  // namespace paceline
