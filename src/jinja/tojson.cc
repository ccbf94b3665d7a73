// The tojson filter as Hugging Face defines it: Python's json.dumps, without the escapes for HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "jinja/bound.h"
#include "jinja/characters.h"
#include "jinja/compare.h"
#include "jinja/filter_tables.h"
#include "jinja/print.h"

namespace paceline::jinja {
namespace {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool has_indent = false;
  std::string indent;
  std::string item_separator = ", ", key_separator = ": ";
};

class JsonWriter {
 public:
  JsonWriter(Run& run, const JsonStyle& style) : run_(run), style_(style) {}

  Status write(const Value& value, int depth);
  std::string take() { return std::move(out_); }

 private:
  Status write_list(std::span<const Value> items, int depth);
  Status write_dict(const Dict& dict, int depth);
  Status write_key(const Value& key);
  Result<std::vector<Dict::Entry>> sorted_entries(const Dict& dict);
  Status write_text(std::string_view text);
  void write_real(double value);
  void new_line(int depth) {
    if (!style_.has_indent) return;
    out_ += '\n';
    for (int i = 0; i < depth; ++i) out_ += style_.indent;
  }

  Run& run_;
  const JsonStyle& style_;
  std::string out_;
};

Status JsonWriter::write_text(std::string_view text) {
  SPEND(run_, text.size() / 16);
  const auto escape = [&](uint32_t code) { out_ += fmt::format("\\u{:04x}", code); };
  out_ += '"';
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    switch (next.code) {
      case '"': out_ += "\\\""; break;
      case '\\': out_ += "\\\\"; break;
      case '\n': out_ += "\\n"; break;
      case '\r': out_ += "\\r"; break;
      case '\t': out_ += "\\t"; break;
      case '\f': out_ += "\\f"; break;
      case '\b': out_ += "\\b"; break;
      default:
        if (next.code < 0x20 || (style_.ensure_ascii && next.code > 0x7E && next.code < 0x10000 && next.code != 0x7F)) {
          escape(next.code);
        } else if (style_.ensure_ascii && next.code >= 0x10000) {
          escape(0xD800 + ((next.code - 0x10000) >> 10));
          escape(0xDC00 + ((next.code - 0x10000) & 0x3FF));
        } else {
          out_ += text.substr(pos, next.bytes);
        }
    }
    pos += next.bytes;
  }
  out_ += '"';
  return Done{};
}

void JsonWriter::write_real(double value) {
  if (std::isnan(value)) {
    out_ += "NaN";
  } else if (std::isinf(value)) {
    out_ += value < 0 ? "-Infinity" : "Infinity";
  } else {
    out_ += real_text(value);
  }
}

Status JsonWriter::write_list(std::span<const Value> items, int depth) {
  out_ += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += style_.item_separator;
    new_line(depth + 1);
    TRY(write(items[i], depth + 1));
  }
  if (!items.empty()) new_line(depth);
  out_ += ']';
  return Done{};
}

Result<std::vector<Dict::Entry>> JsonWriter::sorted_entries(const Dict& dict) {
  std::vector<Dict::Entry> entries = dict.entries();
  if (!style_.sort_keys) return entries;
  SPEND(run_, entries.size() * 20);
  // Keys of one kind are in order among themselves; anything else has no order in Python either.
  for (const Dict::Entry& entry : entries) TRY(order(entry.first, entries.front().first));
  std::stable_sort(entries.begin(), entries.end(), [](const Dict::Entry& a, const Dict::Entry& b) {
    const auto ordering = order(a.first, b.first);
    return ordering.ok() && *ordering < 0;
  });
  return entries;
}

Status JsonWriter::write_key(const Value& key) {
  switch (key.kind()) {
    case Kind::string: return write_text(key.text());
    case Kind::none: out_ += "\"null\""; return Done{};
    case Kind::boolean: out_ += key.integer() ? "\"true\"" : "\"false\""; return Done{};
    case Kind::integer: out_ += fmt::format("\"{}\"", key.integer()); return Done{};
    case Kind::real:
      out_ += '"';
      write_real(key.real());
      out_ += '"';
      return Done{};
    default: return Error{fmt::format("tojson: a key cannot be '{}'", type_name(key))};
  }
}

Status JsonWriter::write_dict(const Dict& dict, int depth) {
  TRY_ASSIGN(const std::vector<Dict::Entry> entries, sorted_entries(dict));
  out_ += '{';
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out_ += style_.item_separator;
    new_line(depth + 1);
    TRY(write_key(entries[i].first));
    out_ += style_.key_separator;
    TRY(write(entries[i].second, depth + 1));
  }
  if (!entries.empty()) new_line(depth);
  out_ += '}';
  return Done{};
}

Status JsonWriter::write(const Value& value, int depth) {
  SPEND(run_, 1);
  if (out_.size() > run_.limits().output_bytes) return Error{"tojson makes too long a text"};
  switch (value.kind()) {
    case Kind::none: out_ += "null"; return Done{};
    case Kind::boolean: out_ += value.integer() ? "true" : "false"; return Done{};
    case Kind::integer: out_ += std::to_string(value.integer()); return Done{};
    case Kind::real: write_real(value.real()); return Done{};
    case Kind::string: return write_text(value.text());
    case Kind::list:
    case Kind::tuple: return write_list(value.items(), depth);
    case Kind::dict: return write_dict(value.dict(), depth);
    default: return Error{fmt::format("tojson: '{}' is not JSON serializable", type_name(value))};
  }
}

Status read_indent(Run& run, const Bound& bound, JsonStyle& style) {
  if (bound.is_absent(1)) return Done{};
  style.has_indent = true;
  style.item_separator = ",";
  // Each level of each line has it again.
  constexpr int64_t kMostIndent = 1000;
  const auto too_wide = [&] { return Error{fmt::format("tojson: an indent above {}", kMostIndent)}; };
  if (bound[1]->is_string()) {
    style.indent = bound[1]->text();
    if (style.indent.size() > static_cast<size_t>(kMostIndent)) return too_wide();
    return Done{};
  }
  TRY_ASSIGN(const int64_t width, bound.integer(1, 0));
  if (width > kMostIndent) return too_wide();
  TRY(run.reserve(static_cast<size_t>(std::max<int64_t>(width, 0))));
  style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  return Done{};
}

Status read_separators(const Bound& bound, JsonStyle& style) {
  if (bound.is_absent(2)) return Done{};
  const Value& separators = *bound[2];
  const bool is_pair = separators.is_sequence() && separators.items().size() == 2 &&
                       separators.items()[0].is_string() && separators.items()[1].is_string();
  if (!is_pair) return Error{"tojson: separators are a pair of strings"};
  style.item_separator = separators.items()[0].text();
  style.key_separator = separators.items()[1].text();
  return Done{};
}

}  // namespace

Result<Value> tojson(Run& run, const Value& input, const Arguments& arguments) {
  TRY_ASSIGN(const Bound bound, Bound::of("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = bound.truth(0, false);
  style.sort_keys = bound.truth(3, false);
  TRY(read_indent(run, bound, style));
  TRY(read_separators(bound, style));
  JsonWriter writer(run, style);
  TRY(writer.write(input, 0));
  return run.string(writer.take());
}

}  // namespace paceline::jinja
