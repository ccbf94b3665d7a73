#include "tokenizer/byte_level/split_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace paceline {
namespace {

constexpr size_t kMaxExpressionBytes = 4096, kMaxAlternatives = 64, kMaxItems = 32;
constexpr uint32_t kMaxRepeats = 1024;
// Two repetitions without a bound may try the square of a text's length, three the cube.
constexpr int kMaxUnbounded = 2;
constexpr uint8_t kAllButSpace = kLetterKind | kMarkKind | kNumberKind | kOtherKind;

bool is_one_of(char c, std::string_view chars) { return chars.find(c) != std::string_view::npos; }

using Sequences = std::vector<std::vector<SplitItem>>;

class SplitParser {
 public:
  explicit SplitParser(std::string_view text) : text_(text) {}

  Result<Sequences> parse() {
    if (text_.size() > kMaxExpressionBytes || !is_valid_utf8(text_)) return wrong("a short expression in UTF-8");
    TRY_ASSIGN(Sequences made, alternatives(0));
    if (!rest().empty()) return wrong("an end");
    for (const auto& items : made) {
      const auto unbounded = std::count_if(items.begin(), items.end(), [](const SplitItem& item) {
        return item.kind == SplitItem::Kind::characters && item.most == SplitExpression::kNoMost;
      });
      if (unbounded > kMaxUnbounded) return Error{"an alternative repeats more than two sets without a bound"};
    }
    return made;
  }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(pos_); }
  [[nodiscard]] Error wrong(std::string_view expected) const {
    return Error{fmt::format("expected {} at byte {}, found \"{}\"", expected, pos_, rest().substr(0, 8))};
  }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    pos_ += word.size();
    return true;
  }

  Result<Sequences> alternatives(int depth) {
    Sequences all;
    do {
      TRY_ASSIGN(Sequences more, sequence(depth));
      std::move(more.begin(), more.end(), std::back_inserter(all));
      if (all.size() > kMaxAlternatives) return wrong("fewer alternatives");
    } while (take("|"));
    return all;
  }

  // Items up to the next bar or bracket; a group multiplies them by its alternatives.
  Result<Sequences> sequence(int depth) {
    Sequences made(1);
    while (!rest().empty() && !rest().starts_with("|") && !rest().starts_with(")")) {
      Sequences next;
      if (rest().starts_with("(") && !rest().starts_with("(?!")) {
        TRY_ASSIGN(next, group(depth));
      } else {
        TRY_ASSIGN(SplitItem one, item());
        next = {{std::move(one)}};
      }
      Sequences product;
      for (const auto& head : made) {
        for (const auto& tail : next) {
          product.push_back(head);
          product.back().insert(product.back().end(), tail.begin(), tail.end());
          if (product.size() > kMaxAlternatives || product.back().size() > kMaxItems) return wrong("fewer parts");
        }
      }
      made = std::move(product);
    }
    return made;
  }

  Result<Sequences> group(int depth) {
    const bool before = any_case_;
    if (take("(?i:")) {
      any_case_ = true;
    } else if (!take("(?:")) {
      return wrong("(?i:, (?: or (?!");
    }
    if (depth >= 4) return wrong("groups less deep");
    TRY_ASSIGN(Sequences made, alternatives(depth + 1));
    if (!take(")")) return wrong("a bracket that closes the group");
    any_case_ = before;
    if (const std::string_view behind = rest(); !behind.empty() && is_one_of(behind[0], "?*+{")) {
      return wrong("a group that is not repeated");
    }
    return made;
  }

  Result<SplitItem> item() {
    SplitItem made;
    if (take("(?!")) {
      made.kind = SplitItem::Kind::not_ahead;
      TRY_ASSIGN(made.set, set());
      if (!take(")")) return wrong("one character or set, and a bracket that closes");
      return made;
    }
    TRY_ASSIGN(made.set, set());
    TRY(repeats(made));
    return made;
  }

  Status repeats(SplitItem& item) {
    if (take("?")) {
      item.least = 0;
    } else if (take("*")) {
      item.least = 0;
      item.most = SplitExpression::kNoMost;
    } else if (take("+")) {
      item.most = SplitExpression::kNoMost;
    } else if (take("{")) {
      TRY_ASSIGN(item.least, number());
      item.most = item.least;
      if (take(",")) {
        if (rest().starts_with("}")) {
          item.most = SplitExpression::kNoMost;
        } else {
          TRY_ASSIGN(item.most, number());
        }
      }
      if (!take("}") || item.most < item.least) return wrong("a number of repetitions");
    } else {
      return Done{};
    }
    const std::string_view behind = rest();
    if (behind.starts_with("?") || behind.starts_with("+") || behind.starts_with("*")) return wrong("no other repeat");
    return Done{};
  }

  Result<uint32_t> number() {
    uint32_t value = 0;
    const size_t begin = pos_;
    while (pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9' && value <= kMaxRepeats) {
      value = value * 10 + static_cast<uint32_t>(text_[pos_++] - '0');
    }
    if (pos_ == begin || value > kMaxRepeats) return wrong("a number of repetitions");
    return value;
  }

  // A character, an escape, or a set in brackets.
  Result<CharSet> set() {
    CharSet made;
    if (take("[")) {
      if (take("^")) made.negate();
      while (!take("]")) {
        if (rest().empty() || rest().starts_with("[") || rest().starts_with("-") || rest().starts_with("&&")) {
          return wrong("characters and a bracket that closes");
        }
        TRY(add_member(made));
        if (rest().starts_with("-")) return wrong("no range");
      }
    } else {
      if (rest().empty() || is_one_of(rest()[0], ".^$()[]{}?*+|")) return wrong("a character");
      TRY(add_member(made));
    }
    made.finish();
    return made;
  }

  Status add_member(CharSet& set) {
    struct Escape {
      std::string_view text;
      uint8_t kinds;
    };
    constexpr Escape kClasses[] = {{"\\p{L}", kLetterKind},
                                   {"\\p{M}", kMarkKind},
                                   {"\\p{N}", kNumberKind},
                                   {"\\s", kSpaceKind},
                                   {"\\S", kAllButSpace}};
    for (const Escape& each : kClasses) {
      if (!take(each.text)) continue;
      set.add_kinds(each.kinds);
      return Done{};
    }
    if (take("\\r")) return add_char(set, '\r');
    if (take("\\n")) return add_char(set, '\n');
    if (take("\\t")) return add_char(set, '\t');
    if (rest().starts_with("\\")) {
      const bool plain = rest().size() > 1 && is_one_of(rest()[1], ".^$()[]{}?*+|\\/-'\"");
      if (!plain) return wrong("\\p{L}, \\p{M}, \\p{N}, \\s, \\S, \\r, \\n or \\t");
      ++pos_;
    }
    const TextChar next = char_at(text_, pos_);
    pos_ += next.bytes;
    return add_char(set, next.code);
  }

  // Without regard to case: what folds to the same letter, beyond ASCII too.
  Status add_char(CharSet& set, char32_t code) const {
    set.add_char(code);
    if (!any_case_) return Done{};
    if (code >= 0x80) return wrong("ASCII where case does not count");
    if (code >= 'a' && code <= 'z') set.add_char(code - 'a' + 'A');
    if (code >= 'A' && code <= 'Z') set.add_char(code - 'A' + 'a');
    if (code == 's' || code == 'S') set.add_char(0x17F);   // ſ
    if (code == 'k' || code == 'K') set.add_char(0x212A);  // the sign for Kelvin
    return Done{};
  }

  std::string_view text_;
  size_t pos_ = 0;
  bool any_case_ = false;
};

}  // namespace

Result<Sequences> parse_split_expression(std::string_view expression) { return SplitParser(expression).parse(); }

}  // namespace paceline
