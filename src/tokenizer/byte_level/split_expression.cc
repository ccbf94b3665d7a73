#include "tokenizer/byte_level/split_expression.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/utf8.h"
#include "tokenizer/byte_level/split_parser.h"

namespace paceline {
namespace {

constexpr size_t kNoMatch = std::numeric_limits<size_t>::max();

// Where `items` end when they begin at `pos`. Each takes as many characters as it can, and gives back what those behind
// it need.
size_t end_of_match(std::span<const SplitItem> items, std::string_view text, size_t pos) {
  if (items.empty()) return pos;
  const SplitItem& item = items.front();
  if (item.kind == SplitItem::Kind::not_ahead) {
    if (pos < text.size() && item.set.contains(char_at(text, pos).code)) return kNoMatch;
    return end_of_match(items.subspan(1), text, pos);
  }
  size_t end = pos;
  uint32_t count = 0;
  while (count < item.most && end < text.size()) {
    const TextChar next = char_at(text, end);
    if (!item.set.contains(next.code)) break;
    end += next.bytes;
    ++count;
  }
  for (; count >= item.least; --count) {
    const size_t found = end_of_match(items.subspan(1), text, end);
    if (found != kNoMatch || count == 0) return found;
    end = char_begin_before(text, end);
  }
  return kNoMatch;
}

}  // namespace

Result<SplitExpression> SplitExpression::parse(std::string_view expression) {
  SplitExpression made;
  TRY_ASSIGN(made.alternatives_, parse_split_expression(expression));
  return made;
}

size_t SplitExpression::match(std::string_view text, size_t pos) const {
  for (const Sequence& items : alternatives_) {
    const size_t end = end_of_match(items, text, pos);
    if (end != kNoMatch && end > pos) return end - pos;
    if (end == pos) return 0;  // an empty match is one, and cuts nothing
  }
  return 0;
}

size_t SplitExpression::first_char_bytes(std::string_view text, size_t pos) { return char_at(text, pos).bytes; }

}  // namespace paceline
