#include "jinja/print.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "jinja/characters.h"

namespace paceline::jinja {
namespace {

class Printer {
 public:
  explicit Printer(Run& run) : run_(run) {}

  Status repr(const Value& value);
  std::string take() { return std::move(out_); }

 private:
  Status comma_separated(std::span<const Value> items);
  Status entries(const Dict& dict);
  Status view(const Value& value);
  Status space(const Namespace& space);

  Run& run_;
  std::string out_;
  int depth_ = 0;
};

Status Printer::comma_separated(std::span<const Value> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += ", ";
    TRY(repr(items[i]));
  }
  return Done{};
}

Status Printer::entries(const Dict& dict) {
  out_ += "{";
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out_ += ", ";
    first = false;
    TRY(repr(key));
    out_ += ": ";
    TRY(repr(value));
  }
  out_ += "}";
  return Done{};
}

Status Printer::view(const Value& value) {
  TRY_ASSIGN(const std::vector<Value> items, own_items(run_, value));
  const View::What what = value.view().what;
  out_ += what == View::What::keys ? "dict_keys([" : what == View::What::values ? "dict_values([" : "dict_items([";
  TRY(comma_separated(items));
  out_ += "])";
  return Done{};
}

Status Printer::space(const Namespace& space) {
  Dict dict;
  for (const auto& [name, value] : space.names) dict.set(Value::string(name), value);
  out_ += "<Namespace ";
  TRY(entries(dict));
  out_ += ">";
  return Done{};
}

Status Printer::repr(const Value& value) {
  SPEND(run_, 1);
  // Only a namespace that holds itself gets this deep.
  if (depth_ > 2 * kMaxValueDepth) return Error{"a namespace that holds itself cannot be printed"};
  if (out_.size() > run_.limits().output_bytes) return Error{"a value is too long to print"};
  ++depth_;
  switch (value.kind()) {
    case Kind::undefined: out_ += "Undefined"; break;
    case Kind::none: out_ += "None"; break;
    case Kind::boolean: out_ += value.integer() ? "True" : "False"; break;
    case Kind::integer: out_ += std::to_string(value.integer()); break;
    case Kind::real: out_ += real_text(value.real()); break;
    case Kind::string:
      SPEND(run_, value.text().size() / 16);
      out_ += value.is_markup() ? "Markup(" + quoted_text(value.text()) + ")" : quoted_text(value.text());
      break;
    case Kind::list:
      out_ += "[";
      TRY(comma_separated(value.items()));
      out_ += "]";
      break;
    case Kind::tuple:
      out_ += "(";
      TRY(comma_separated(value.items()));
      out_ += value.items().size() == 1 ? ",)" : ")";
      break;
    case Kind::dict: TRY(entries(value.dict())); break;
    case Kind::view: TRY(view(value)); break;
    case Kind::range: {
      const Range& range = value.range();
      out_ += range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                              : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
      break;
    }
    case Kind::iterator: out_ += "<generator object>"; break;
    case Kind::space: TRY(space(value.space())); break;
    case Kind::native: out_ += value.native().repr(); break;
  }
  --depth_;
  return Done{};
}

bool needs_escape(char32_t code) {
  if (code == '\\') return true;
  return code < 0x80 ? code < 0x20 || code == 0x7F : (char_flags(code) & kPrintable) == 0;
}

void append_escaped(char32_t code, std::string& text) {
  const auto number = static_cast<uint32_t>(code);
  switch (code) {
    case '\\': text += "\\\\"; return;
    case '\n': text += "\\n"; return;
    case '\r': text += "\\r"; return;
    case '\t': text += "\\t"; return;
    default: break;
  }
  text += code < 0x100     ? fmt::format("\\x{:02x}", number)
          : code < 0x10000 ? fmt::format("\\u{:04x}", number)
                           : fmt::format("\\U{:08x}", number);
}

}  // namespace

std::string quoted_text(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string quoted(1, quote);
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    if (next.code == static_cast<char32_t>(quote)) {
      quoted += '\\';
      quoted += quote;
    } else if (needs_escape(next.code)) {
      append_escaped(next.code, quoted);
    } else {
      quoted += text.substr(pos, next.bytes);
    }
    pos += next.bytes;
  }
  return quoted += quote;
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto [end, ec] = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  CHECK(ec == std::errc());
  const std::string scientific(buffer, end);
  const size_t e = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(e + 1));
  // Python writes out numbers from 1e-4 up to below 1e16.
  if (exponent < -4 || exponent >= 16) return scientific;
  const auto [fixed_end, fixed_ec] = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  CHECK(fixed_ec == std::errc());
  std::string fixed(buffer, fixed_end);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

Result<std::string> to_repr(Run& run, const Value& value) {
  Printer printer(run);
  TRY(printer.repr(value));
  std::string text = printer.take();
  TRY(run.reserve(text.size()));
  return text;
}

Result<std::string> to_text(Run& run, const Value& value) {
  if (value.is_undefined()) return std::string();
  if (value.is_string()) {
    TRY(run.reserve(value.text().size()));
    return value.text();
  }
  return to_repr(run, value);
}

}  // namespace paceline::jinja
