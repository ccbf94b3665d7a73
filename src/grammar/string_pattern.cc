#include "grammar/string_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace paceline::grammar {
namespace {

constexpr int32_t kLastOfLength[] = {0x7F, 0x7FF, 0xFFFF, kLastCode};

size_t encode(int32_t code, std::array<uint8_t, 4>& bytes) {
  if (code < 0x80) {
    bytes[0] = static_cast<uint8_t>(code);
    return 1;
  }
  const size_t length = code <= kLastOfLength[1] ? 2 : code <= kLastOfLength[2] ? 3 : 4;
  for (size_t i = length; i-- > 1; code >>= 6) bytes[i] = static_cast<uint8_t>(0x80 | (code & 0x3F));
  bytes[0] = static_cast<uint8_t>((0xF00 >> length) | code);
  return length;
}

class PatternBuilder {
 public:
  PatternBuilder(AutomatonBuilder& builder, Writing writing) : b_(builder), writing_(writing) {}

  Status add(const RegexNode& node, StateId from, StateId to) {
    if (b_.too_large()) return Error{"pattern: it is too large"};
    switch (node.kind) {
      case RegexNode::Kind::characters: return add_characters(node.characters, from, to);
      case RegexNode::Kind::sequence:
        for (size_t i = 0; i < node.parts.size(); ++i) {
          const StateId next = i + 1 < node.parts.size() ? b_.add() : to;
          TRY(add(node.parts[i], from, next));
          from = next;
        }
        if (node.parts.empty()) b_.go(from, to);
        return Done{};
      case RegexNode::Kind::alternatives:
        for (const RegexNode& part : node.parts) {
          const StateId begin = b_.add();
          b_.go(from, begin);
          TRY(add(part, begin, to));
        }
        return Done{};
      case RegexNode::Kind::repeat: break;
    }
    return add_repeat(node, from, to);
  }

  Status add(const RegexTexts& texts, StateId from, StateId to) {
    std::vector<StateId> places;
    for (size_t i = 0; i < texts.states().size(); ++i) places.push_back(b_.add());
    const auto place = [&](int32_t state) { return places[static_cast<size_t>(state)]; };
    b_.go(from, place(0));
    b_.go(place(texts.accept()), to);
    for (size_t i = 0; i < places.size(); ++i) {
      if (b_.too_large()) return Error{"pattern: it is too large"};
      for (const int32_t next : texts.states()[i].free) b_.go(places[i], place(next));
      const size_t before = added_;
      for (const auto& edge : texts.states()[i].edges) add_those_written({edge.range}, places[i], place(edge.to));
      // Characters that are never written may be missing, as long as the text can go on.
      const bool may_end = !texts.states()[i].free.empty() || static_cast<int32_t>(i) == texts.accept();
      if (added_ == before && !may_end) return Error{kUnwritten};
    }
    return Done{};
  }

 private:
  Status add_repeat(const RegexNode& node, StateId from, StateId to) {
    const RegexNode& part = node.parts.front();
    for (int32_t i = 0; i < node.least; ++i) {
      const StateId next = b_.add();
      TRY(add(part, from, next));
      from = next;
    }
    if (node.most < 0) {
      const StateId again = b_.add();
      b_.go(from, again);
      TRY(add(part, again, again));
      b_.go(again, to);
      return Done{};
    }
    for (int32_t i = node.least; i < node.most; ++i) {
      const StateId next = b_.add();
      b_.go(from, to);
      TRY(add(part, from, next));
      from = next;
    }
    b_.go(from, to);
    return Done{};
  }

  static constexpr const char* kUnwritten = "pattern: a character of it cannot be written here";

  Status add_characters(const std::vector<CodeRange>& ranges, StateId from, StateId to) {
    const size_t before = added_;
    add_those_written(ranges, from, to);
    if (added_ == before) return Error{kUnwritten};
    return Done{};
  }

  void add_those_written(const std::vector<CodeRange>& ranges, StateId from, StateId to) {
    const bool is_one = ranges.size() == 1 && ranges[0].low == ranges[0].high;
    for (const CodeRange& range : ranges) {
      add_ascii({range.low, std::min(range.high, 0x7F)}, is_one, from, to);
      // Surrogates are no characters.
      add_beyond({std::max(range.low, 0x80), std::min(range.high, 0xD7FF)}, from, to);
      add_beyond({std::max(range.low, 0xE000), range.high}, from, to);
    }
  }

  // Those that stand for themselves in runs, those with escapes one by one; the rest is not written.
  void add_ascii(CodeRange range, bool is_one, StateId from, StateId to) {
    int32_t begin = -1;
    for (int32_t code = range.low; code <= range.high + 1; ++code) {
      const bool goes_on = code <= range.high && is_plain(code, is_one);
      if (goes_on && begin < 0) begin = code;
      if (!goes_on && begin >= 0) {
        b_.bytes(from, begin, code - 1, to);
        ++added_;
        begin = -1;
      }
      const bool is_escaped = writing_ == Writing::json && code <= range.high && (code == '"' || code == '\\');
      if (!is_escaped) continue;
      b_.bytes(b_.literal(from, "\\"), code, code, to);
      ++added_;
    }
  }
  [[nodiscard]] bool is_plain(int32_t code, bool is_one) const {
    if (code < 0x20 || code == 0x7F) return false;
    if (writing_ == Writing::json) return code != '"' && code != '\\';
    return code != '<' || is_one;
  }

  // A range whose encodings are as long, and differ in one byte and in all behind it freely.
  void add_beyond(CodeRange range, StateId from, StateId to) {
    if (range.low > range.high) return;
    for (const int32_t last : kLastOfLength) {
      if (range.low > last || range.high <= last) continue;
      add_beyond({range.low, last}, from, to);
      return add_beyond({last + 1, range.high}, from, to);
    }
    for (int shift = 6; shift < 24; shift += 6) {
      const int32_t mask = (1 << shift) - 1;
      if ((range.low & ~mask) == (range.high & ~mask)) continue;
      if ((range.low & mask) != 0) {
        add_beyond({range.low, range.low | mask}, from, to);
        return add_beyond({(range.low | mask) + 1, range.high}, from, to);
      }
      if ((range.high & mask) != mask) {
        add_beyond({range.low, (range.high & ~mask) - 1}, from, to);
        return add_beyond({range.high & ~mask, range.high}, from, to);
      }
    }
    std::array<uint8_t, 4> low{}, high{};
    const size_t length = encode(range.low, low);
    encode(range.high, high);
    for (size_t i = 0; i < length; ++i) {
      const StateId next = i + 1 < length ? b_.add() : to;
      b_.bytes(from, low[i], high[i], next);
      from = next;
    }
    ++added_;
  }

  AutomatonBuilder& b_;
  Writing writing_;
  size_t added_ = 0;
};

constexpr std::string_view kDate =
    "((19|20)[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    "02-(0[1-9]|1[0-9]|2[0-8]))|(19(0[48]|[2468][048]|[13579][26])|20([02468][048]|[13579][26]))-02-29)";
constexpr std::string_view kTime =
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
constexpr std::string_view kHost = "([A-Za-z0-9]([A-Za-z0-9-]{0,20}[A-Za-z0-9])?\\.){1,3}[A-Za-z]{2,10}";

struct Format {
  std::string_view name;
  std::string pattern;
};

const std::array<Format, 9>& formats() {
  const std::string octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  static const std::array<Format, 9> kFormats{{
      {"date", fmt::format("^{}$", kDate)},
      {"time", fmt::format("^{}$", kTime)},
      {"date-time", fmt::format("^{}T{}$", kDate, kTime)},
      {"email", fmt::format("^[A-Za-z0-9_+-]{{1,32}}(\\.[A-Za-z0-9_+-]{{1,16}}){{0,3}}@{}$", kHost)},
      {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
      {"ipv4", fmt::format("^({0}\\.){{3}}{0}$", octet)},
      {"ipv6", "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$"},
      {"uri", fmt::format("^https?://{}(:[1-9][0-9]{{1,3}})?(/[A-Za-z0-9._~-]{{0,40}}){{0,8}}"
                          "(\\?[A-Za-z0-9._~=&-]{{1,64}})?$",
                          kHost)},
      {"hostname", fmt::format("^{}$", kHost)},
  }};
  return kFormats;
}

}  // namespace

Status add_pattern(AutomatonBuilder& builder, const RegexNode& pattern, Writing writing, StateId from, StateId to) {
  return PatternBuilder(builder, writing).add(pattern, from, to);
}

Status add_texts(AutomatonBuilder& builder, const RegexTexts& texts, Writing writing, StateId from, StateId to) {
  return PatternBuilder(builder, writing).add(texts, from, to);
}

std::optional<std::string_view> pattern_of_format(std::string_view format) {
  for (const Format& known : formats()) {
    if (known.name == format) return known.pattern;
  }
  return std::nullopt;
}

}  // namespace paceline::grammar
