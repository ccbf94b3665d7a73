#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace paceline {
namespace {

bool touches_word(std::string_view text, size_t begin, size_t end) {
  const bool before = begin > 0 && is_word_char(char_at(text, char_begin_before(text, begin)).code);
  const bool behind = end < text.size() && is_word_char(char_at(text, end).code);
  return before || behind;
}

size_t white_space_begin(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t begin = char_begin_before(text, end);
    if (!is_white_space(char_at(text, begin).code)) break;
    end = begin;
  }
  return end;
}

size_t white_space_end(std::string_view text, size_t pos) {
  while (pos < text.size()) {
    const TextChar next = char_at(text, pos);
    if (!is_white_space(next.code)) break;
    pos += next.bytes;
  }
  return pos;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {
  std::erase_if(patterns_, [](const Pattern& pattern) { return pattern.form.empty(); });
  std::stable_sort(patterns_.begin(), patterns_.end(), [](const auto& a, const auto& b) { return a.form < b.form; });
  const auto equal_forms = [](const Pattern& a, const Pattern& b) { return a.form == b.form; };
  patterns_.erase(std::unique(patterns_.begin(), patterns_.end(), equal_forms), patterns_.end());
  for (const Pattern& pattern : patterns_) ++first_of_byte_[static_cast<unsigned char>(pattern.form[0]) + 1u];
  for (size_t byte = 0; byte < 256; ++byte) first_of_byte_[byte + 1] += first_of_byte_[byte];
}

const AddedTokenFinder::Pattern* AddedTokenFinder::longest_at(std::string_view text, size_t pos) const {
  const auto first_byte = static_cast<unsigned char>(text[pos]);
  auto low = patterns_.begin() + first_of_byte_[first_byte];
  auto high = patterns_.begin() + first_of_byte_[first_byte + 1u];
  const Pattern* longest = nullptr;
  // [low, high) are the forms that agree with the text in the first `depth` bytes; the shortest stands first.
  for (size_t depth = 1; low != high; ++depth) {
    if (low->form.size() == depth) {
      longest = &*low;
      if (++low == high) break;
    }
    if (pos + depth >= text.size()) break;
    const auto byte = static_cast<unsigned char>(text[pos + depth]);
    const auto byte_of = [&](const Pattern& pattern) { return static_cast<unsigned char>(pattern.form[depth]); };
    low =
        std::lower_bound(low, high, byte, [&](const Pattern& p, unsigned char wanted) { return byte_of(p) < wanted; });
    high =
        std::upper_bound(low, high, byte, [&](unsigned char wanted, const Pattern& p) { return wanted < byte_of(p); });
  }
  return longest;
}

std::vector<TextPart> AddedTokenFinder::split(std::string_view text) const {
  std::vector<TextPart> parts;
  size_t done = 0;  // everything before is in parts
  for (size_t pos = 0; pos < text.size();) {
    const auto first_byte = static_cast<unsigned char>(text[pos]);
    const bool possible = first_of_byte_[first_byte] != first_of_byte_[first_byte + 1u];
    const Pattern* found = possible ? longest_at(text, pos) : nullptr;
    if (found == nullptr) {
      ++pos;
      continue;
    }
    size_t begin = pos;
    size_t end = pos + found->form.size();
    // The search goes on behind the form itself: neither a token refused here nor one that takes white space along
    // changes where the next may be found.
    pos = end;
    const AddedToken& token = found->token;
    if (token.single_word && touches_word(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(white_space_begin(text, begin), done);
    if (token.rstrip) end = white_space_end(text, end);
    if (begin > done) parts.push_back({text.substr(done, begin - done), std::nullopt});
    parts.push_back({{}, token.id});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), std::nullopt});
  return parts;
}

AddedTokenFinders make_finders(const std::vector<AddedToken>& tokens, const TextEncoder& encoder) {
  std::vector<AddedTokenFinder::Pattern> plain, normalized;
  // Special tokens stand before the others where two have the same form.
  for (const bool special : {true, false}) {
    for (const AddedToken& token : tokens) {
      if (token.special != special) continue;
      if (token.normalized) {
        normalized.push_back({encoder.normalize(token.content), token});
      } else {
        plain.push_back({token.content, token});
      }
    }
  }
  return {AddedTokenFinder(std::move(plain)), AddedTokenFinder(std::move(normalized))};
}

}  // namespace paceline
