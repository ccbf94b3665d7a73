#include "grammar/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace paceline::grammar {
namespace {

using Kind = RegexNode::Kind;
using Ranges = std::vector<CodeRange>;

constexpr size_t kMaxPatternBytes = 4096;
constexpr int kMaxGroups = 64;        // within each other
constexpr int32_t kMaxRepeat = 1000;  // of a bounded one

Ranges merged(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const CodeRange& a, const CodeRange& b) { return a.low < b.low; });
  Ranges out;
  for (const CodeRange& range : ranges) {
    if (!out.empty() && range.low <= out.back().high + 1) {
      out.back().high = std::max(out.back().high, range.high);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

Ranges all_but(const Ranges& ranges) {
  Ranges out;
  int32_t next = 0;
  for (const CodeRange& range : merged(ranges)) {
    if (range.low > next) out.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= kLastCode) out.push_back({next, kLastCode});
  return out;
}

const Ranges kDigits{{'0', '9'}};
const Ranges kWord{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpace{{'\t', '\r'}, {' ', ' '}};
const Ranges kLineEnds{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

RegexNode characters(Ranges ranges) { return {.kind = Kind::characters, .characters = merged(std::move(ranges))}; }

RegexNode anything() {
  RegexNode node{.kind = Kind::repeat, .least = 0, .most = -1};
  node.parts.push_back(characters(all_but({})));
  return node;
}

// By recursion into groups, as deep as kMaxGroups.
class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern) : rest_(pattern) {}

  Result<RegexNode> parse() {
    TRY_ASSIGN(RegexNode whole, alternatives(0));
    if (!rest_.empty()) return wrong("a ) without its (");
    return whole;
  }

 private:
  static Error wrong(std::string_view what) { return Error{fmt::format("pattern: {} is not supported", what)}; }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  // The next character; the pattern is valid UTF-8.
  int32_t take_code() {
    const auto first = static_cast<uint8_t>(rest_.front());
    const size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    int32_t code = length == 1 ? first : first & (0xFF >> (length + 1));
    for (size_t i = 1; i < length; ++i) code = (code << 6) | (static_cast<uint8_t>(rest_[i]) & 0x3F);
    rest_.remove_prefix(length);
    return code;
  }

  // Anchors belong to the alternatives of the whole: others have none.
  Result<RegexNode> alternatives(int depth) {
    if (depth > kMaxGroups) return wrong("so deep a group");
    RegexNode node{.kind = Kind::alternatives};
    do {
      TRY_ASSIGN(RegexNode one, sequence(depth));
      node.parts.push_back(std::move(one));
    } while (take('|'));
    return node;
  }

  Result<RegexNode> sequence(int depth) {
    RegexNode node{.kind = Kind::sequence};
    bool is_open = depth == 0 && !take('^');
    if (is_open) node.parts.push_back(anything());
    bool ended = false;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      if (ended) return wrong("text behind $");
      if (depth == 0 && take('$')) {
        ended = true;
        continue;
      }
      TRY_ASSIGN(RegexNode atom, this->atom(depth));
      TRY(repeat(atom));
      node.parts.push_back(std::move(atom));
    }
    if (depth == 0 && !ended) node.parts.push_back(anything());
    return node;
  }

  Result<RegexNode> atom(int depth) {
    if (take('(')) {
      if (take("?:")) {
      } else if (rest_.starts_with('?')) {
        return wrong(fmt::format("({}", rest_.substr(0, 2)));
      }
      TRY_ASSIGN(RegexNode inner, alternatives(depth + 1));
      if (!take(')')) return wrong("a ( without its )");
      return inner;
    }
    if (take('[')) return bracketed();
    if (take('.')) return characters(all_but(kLineEnds));
    if (take('\\')) {
      TRY_ASSIGN(Ranges set, escaped());
      return characters(std::move(set));
    }
    if (std::string_view("^$*+?{").find(rest_.front()) != std::string_view::npos)
      return wrong(fmt::format("{} in this place", rest_.front()));
    const int32_t code = take_code();
    return characters({{code, code}});
  }

  Result<Ranges> escaped() {
    if (rest_.empty()) return wrong("a backslash at the end");
    switch (rest_.front()) {
      case 'd': return take_set(kDigits);
      case 'D': return take_set(all_but(kDigits));
      case 'w': return take_set(kWord);
      case 'W': return take_set(all_but(kWord));
      case 's': return take_set(kSpace);
      case 'S': return take_set(all_but(kSpace));
      case 'n': return take_set({{'\n', '\n'}});
      case 'r': return take_set({{'\r', '\r'}});
      case 't': return take_set({{'\t', '\t'}});
      case 'f': return take_set({{'\f', '\f'}});
      case 'v': return take_set({{'\v', '\v'}});
      case 'x': return hex(2);
      case 'u': return hex(4);
      default: break;
    }
    const char c = rest_.front();
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_letter) return wrong(fmt::format("\\{}", c));
    const int32_t code = take_code();
    return Ranges{{code, code}};
  }
  Ranges take_set(Ranges set) {
    rest_.remove_prefix(1);
    return set;
  }
  Result<Ranges> hex(size_t digits) {
    rest_.remove_prefix(1);
    int32_t code = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char c = i < rest_.size() ? rest_[i] : ' ';
      const int value = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (value < 0) return wrong("a code that is not in hexadecimal digits");
      code = code * 16 + value;
    }
    rest_.remove_prefix(digits);
    return Ranges{{code, code}};
  }

  Result<RegexNode> bracketed() {
    const bool negated = take('^');
    Ranges all;
    while (!take(']')) {
      if (rest_.empty()) return wrong("a [ without its ]");
      TRY_ASSIGN(Ranges from, class_member());
      const bool is_range =
          from.size() == 1 && from[0].low == from[0].high && rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']';
      if (is_range) {
        rest_.remove_prefix(1);
        TRY_ASSIGN(const Ranges to, class_member());
        if (to.size() != 1 || to[0].low != to[0].high || to[0].low < from[0].low) return wrong("such a range in []");
        from[0].high = to[0].low;
      }
      all.insert(all.end(), from.begin(), from.end());
    }
    return characters(negated ? all_but(all) : std::move(all));
  }
  Result<Ranges> class_member() {
    if (rest_.starts_with("\\b")) {
      rest_.remove_prefix(2);
      return Ranges{{'\b', '\b'}};
    }
    if (take('\\')) return escaped();
    const int32_t code = take_code();
    return Ranges{{code, code}};
  }

  Status repeat(RegexNode& atom) {
    RegexNode node{.kind = Kind::repeat};
    if (take('*')) {
      node.most = -1;
    } else if (take('+')) {
      node.least = 1;
      node.most = -1;
    } else if (take('?')) {
      node.most = 1;
    } else if (take('{')) {
      TRY(counts(node));
    } else {
      return Done{};
    }
    // Taking few or many makes no difference to what is taken at all.
    take('?');
    node.parts.push_back(std::move(atom));
    atom = std::move(node);
    return Done{};
  }

  Status counts(RegexNode& node) {
    const auto least = number();
    if (!least) return wrong("{ without a number");
    node.least = node.most = *least;
    if (take(',')) {
      const auto most = number();
      node.most = most ? *most : -1;
    }
    if (!take('}') || (node.most >= 0 && node.most < node.least)) return wrong("such a repetition in {}");
    if (std::max(node.least, node.most) > kMaxRepeat) return wrong(fmt::format("more than {} times", kMaxRepeat));
    return Done{};
  }
  std::optional<int32_t> number() {
    std::optional<int32_t> value;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value = std::min(value.value_or(0) * 10 + (rest_.front() - '0'), kMaxRepeat + 1);
      rest_.remove_prefix(1);
    }
    return value;
  }

  std::string_view rest_;
};

}  // namespace

Result<RegexNode> parse_regex(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes || !is_valid_utf8(pattern))
    return Error{fmt::format("pattern: expected at most {} bytes of UTF-8", kMaxPatternBytes)};
  return RegexParser(pattern).parse();
}

}  // namespace paceline::grammar
