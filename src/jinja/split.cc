#include "jinja/split.h"

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "jinja/bound.h"
#include "jinja/methods.h"
#include "jinja/search.h"

namespace paceline::jinja {
namespace {

using Pieces = std::vector<std::string_view>;

Result<Value> list_of(Run& run, const Value& self, const Pieces& pieces) {
  SPEND(run, pieces.size());
  std::vector<Value> items;
  items.reserve(pieces.size());
  for (const std::string_view piece : pieces) {
    TRY_ASSIGN(Value item, run.string(std::string(piece), self.is_markup()));
    items.push_back(std::move(item));
  }
  return run.list(std::move(items));
}

size_t space_bytes_at(std::string_view text, size_t pos) {
  const TextChar next = char_at(text, pos);
  return is_python_space(next.code) ? next.bytes : 0;
}

Pieces split_at_spaces(std::string_view text, int64_t most) {
  Pieces pieces;
  text = lstrip_like_python(text);
  while (!text.empty()) {
    if (most-- <= 0) {
      pieces.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size() && space_bytes_at(text, end) == 0) end += char_at(text, end).bytes;
    pieces.push_back(text.substr(0, end));
    text = lstrip_like_python(text.substr(end));
  }
  return pieces;
}

Pieces split_at_spaces_from_right(std::string_view text, int64_t most) {
  Pieces pieces;
  text = rstrip_like_python(text);
  while (!text.empty()) {
    if (most-- <= 0) {
      pieces.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      const size_t before = char_begin_before(text, begin);
      if (space_bytes_at(text, before) > 0) break;
      begin = before;
    }
    pieces.push_back(text.substr(begin));
    text = rstrip_like_python(text.substr(0, begin));
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Pieces split_at(std::string_view text, std::string_view separator, int64_t most) {
  Pieces pieces;
  size_t pos = 0;
  while (most-- > 0) {
    const size_t found = find_text(text, separator, pos);
    if (found == std::string_view::npos) break;
    pieces.push_back(text.substr(pos, found - pos));
    pos = found + separator.size();
  }
  pieces.push_back(text.substr(pos));
  return pieces;
}

// From the left through both turned around: looking for a long separator from the right would turn the text each time.
Pieces split_at_from_right(std::string_view text, std::string_view separator, int64_t most) {
  const std::string backward(text.rbegin(), text.rend()), turned(separator.rbegin(), separator.rend());
  Pieces pieces;
  for (const std::string_view piece : split_at(backward, turned, most)) {
    const auto behind = static_cast<size_t>(piece.data() - backward.data());
    pieces.push_back(text.substr(text.size() - behind - piece.size(), piece.size()));
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Result<Value> split_either(Run& run, const Value& self, const Arguments& arguments, bool from_right) {
  TRY_ASSIGN(const Bound bound, Bound::of("split", arguments, {"sep", "maxsplit"}));
  TRY_ASSIGN(const int64_t given, bound.integer(1, -1));
  const int64_t most = given < 0 ? std::numeric_limits<int64_t>::max() : given;
  if (bound.is_absent(0)) {
    return list_of(run, self,
                   from_right ? split_at_spaces_from_right(self.text(), most) : split_at_spaces(self.text(), most));
  }
  TRY_ASSIGN(const std::string_view separator, bound.string(0, ""));
  if (separator.empty()) return Error{"split(): empty separator"};
  return list_of(
      run, self,
      from_right ? split_at_from_right(self.text(), separator, most) : split_at(self.text(), separator, most));
}

Result<Value> partition_either(Run& run, const Value& self, const Arguments& arguments, bool from_right) {
  TRY_ASSIGN(const Bound bound, Bound::of("partition", arguments, {"/sep"}, 1));
  TRY_ASSIGN(const std::string_view separator, bound.string(0, ""));
  if (separator.empty()) return Error{"partition(): empty separator"};
  const std::string_view text = self.text();
  const size_t found = from_right ? rfind_text(text, separator) : find_text(text, separator);
  Pieces pieces{text, "", ""};
  if (found != std::string_view::npos) {
    pieces = {text.substr(0, found), separator, text.substr(found + separator.size())};
  } else if (from_right) {
    pieces = {"", "", text};
  }
  std::vector<Value> items;
  for (const std::string_view piece : pieces) {
    TRY_ASSIGN(Value item, run.string(std::string(piece), self.is_markup()));
    items.push_back(std::move(item));
  }
  return run.tuple(std::move(items));
}

// What str.splitlines() takes for the end of a line: its bytes, or 0.
size_t line_end_bytes(std::string_view text, size_t pos) {
  if (text[pos] == '\r') return pos + 1 < text.size() && text[pos + 1] == '\n' ? 2 : 1;
  const TextChar next = char_at(text, pos);
  const char32_t code = next.code;
  const bool ends = (code >= '\n' && code <= '\f') || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
                    code == 0x2028 || code == 0x2029;
  return ends ? next.bytes : 0;
}

}  // namespace

Pieces split_lines(std::string_view text, bool keep_ends) {
  Pieces lines;
  size_t begin = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t end_bytes = line_end_bytes(text, pos);
    if (end_bytes > 0) {
      lines.push_back(text.substr(begin, pos - begin + (keep_ends ? end_bytes : 0)));
      begin = pos + end_bytes;
    }
    pos += end_bytes > 0 ? end_bytes : char_at(text, pos).bytes;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

Result<Value> split(Run& run, const Value& self, const Arguments& arguments) {
  return split_either(run, self, arguments, false);
}

Result<Value> rsplit(Run& run, const Value& self, const Arguments& arguments) {
  return split_either(run, self, arguments, true);
}

Result<Value> splitlines(Run& run, const Value& self, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("splitlines", arguments, {"keepends"}));
  return list_of(run, self, split_lines(self.text(), bound.truth(0, false)));
}

Result<Value> partition(Run& run, const Value& self, const Arguments& arguments) {
  return partition_either(run, self, arguments, false);
}

Result<Value> rpartition(Run& run, const Value& self, const Arguments& arguments) {
  return partition_either(run, self, arguments, true);
}

}  // namespace paceline::jinja
