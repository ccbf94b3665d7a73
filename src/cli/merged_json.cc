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
  size_t key_begin = 0;
  size_t begin = 0, end = 0;              // of its value
  size_t comma = std::string_view::npos;  // behind it; none
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
        made.all.back().comma = at_++;
        continue;
      }
      const size_t key = at_;
      skip_string();
      Member& member = made.all.emplace_back();
      member.key_begin = key;
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
    return edited();
  }

  // `before`: the text before `with` was joined to it.
  std::string taken_out(const json::object& with, std::string_view before) {
    JsonWalker old(before);
    (void)take_out(walker_.members(0), with, before, old.members(0));
    return edited();
  }

 private:
  struct Edit {
    size_t begin = 0, end = 0;
    std::string text;
  };

  std::string edited() {
    std::sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string made;
    size_t at = 0;
    for (const Edit& edit : edits_) {
      made.append(text_.substr(at, edit.begin - at)).append(edit.text);
      at = edit.end;
    }
    return made.append(text_.substr(at));
  }

  // Of several that are called alike, readers take the last.
  static const Member* find(const Members& members, std::string_view key) {
    const auto found =
        std::find_if(members.all.rbegin(), members.all.rend(), [&](const Member& one) { return one.key == key; });
    return found == members.all.rend() ? nullptr : &*found;
  }

  void join(size_t at, const json::object& with, size_t level) {
    const Members members = walker_.members(at);
    json::object missing;
    for (const auto& [key, value] : with) {
      const Member* old = find(members, key);
      if (old == nullptr) {
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

  // True: nothing is left of it, and nothing was there before.
  bool take_out(const Members& now, const json::object& with, std::string_view before, const Members& old) {
    std::vector<const Member*> going;
    for (const auto& [key, value] : with) {
      const Member *mine = find(now, key), *was = find(old, key);
      if (mine == nullptr) continue;
      if (text_[mine->begin] == '{' && value.is_object() && std::string_view(key) != ours_) {
        const bool was_object = was != nullptr && before[was->begin] == '{';
        const Members inner = was_object ? JsonWalker(before).members(was->begin) : Members();
        const size_t edits = edits_.size();
        const bool is_empty = take_out(walker_.members(mine->begin), value.get_object(), before, inner);
        if (!is_empty || was_object) continue;
        edits_.resize(edits);
      }
      if (was == nullptr) {
        going.push_back(mine);
      } else {
        edits_.push_back({mine->begin, mine->end, std::string(before.substr(was->begin, was->end - was->begin))});
      }
    }
    drop(now, going);
    return going.size() == now.all.size();
  }

  void drop(const Members& of, const std::vector<const Member*>& going) {
    const Member* last_kept = nullptr;
    for (const Member& one : of.all) {
      if (std::find(going.begin(), going.end(), &one) == going.end()) {
        last_kept = &one;
        continue;
      }
      const size_t end = one.comma != std::string_view::npos ? one.comma + 1 : one.end;
      // Its lines go with it, where it has them for itself.
      const size_t line = text_.find_last_not_of(" \t", one.key_begin - 1) + 1,
                   rest = text_.find_first_not_of(" \t\r", end);
      const bool own_lines = text_[line - 1] == '\n' && text_[rest] == '\n';
      edits_.push_back({own_lines ? line : one.key_begin, own_lines ? rest + 1 : end, ""});
    }
    const bool was_last = !going.empty() && !of.ends_in_comma && last_kept != &of.all.back();
    if (was_last && last_kept != nullptr) edits_.push_back({last_kept->comma, last_kept->comma + 1, ""});
  }

  std::string_view text_, ours_;
  JsonWalker walker_;
  std::vector<Edit> edits_;
};

bool holds_new(const json::object& now, const json::object& before, const json::object& with, std::string_view ours) {
  return std::any_of(with.begin(), with.end(), [&](const auto& one) {
    const json::value *mine = now.if_contains(one.key()), *was = before.if_contains(one.key());
    if (mine == nullptr) return false;
    const bool is_joined = mine->is_object() && one.value().is_object() && std::string_view(one.key()) != ours;
    if (!is_joined) return was == nullptr;
    static const json::object kEmpty;
    return holds_new(mine->get_object(), was != nullptr && was->is_object() ? was->get_object() : kEmpty,
                     one.value().get_object(), ours);
  });
}

json::object object_of(std::string_view text) {
  if (text.starts_with(kBom)) text.remove_prefix(kBom.size());
  if (!check_json(text).ok()) return {};
  json::parse_options options;
  options.allow_comments = options.allow_trailing_commas = true;
  return json::parse(text, {}, options).as_object();
}

}  // namespace

bool holds_json(std::string_view now, std::string_view before, std::string_view ours_text, std::string_view ours) {
  return holds_new(object_of(now), object_of(before), json::parse(ours_text).as_object(), ours);
}

Result<std::string> unmerged_json(std::string_view now, std::string_view before, std::string_view ours_text,
                                  std::string_view ours) {
  const std::string_view bom = now.starts_with(kBom) ? kBom : std::string_view();
  now.remove_prefix(bom.size());
  if (before.starts_with(kBom)) before.remove_prefix(kBom.size());
  if (before.find_first_not_of(" \t\r\n") == std::string_view::npos) before = "{}";
  TRY(check_json(now));
  TRY(check_json(before));
  return std::string(bom) + JsonEdit(now, ours).taken_out(json::parse(ours_text).as_object(), before);
}

Result<std::string> merged_json(std::string_view old, std::string_view ours_text, std::string_view ours) {
  const std::string_view bom = old.starts_with(kBom) ? kBom : std::string_view();
  old.remove_prefix(bom.size());
  const bool is_empty = old.find_first_not_of(" \t\r\n") == std::string_view::npos;
  if (is_empty) return std::string(ours_text);
  TRY(check_json(old));
  return std::string(bom) + JsonEdit(old, ours).joined(json::parse(ours_text).as_object());
}

}  // namespace paceline
