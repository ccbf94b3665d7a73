#include "jinja/characters.h"

#include <algorithm>

#include "base/utf8.h"
#include "jinja/char_table.h"

namespace paceline {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kFinalSigma = 0x3C2;

bool append_from(std::span<const CaseText> texts, char32_t code, std::string& text) {
  const auto found = std::lower_bound(texts.begin(), texts.end(), code,
                                      [](const CaseText& entry, char32_t wanted) { return entry.code < wanted; });
  if (found == texts.end() || found->code != code) return false;
  text += found->text;
  return true;
}

void append_from(std::span<const CaseRange> ranges, char32_t code, std::string& text) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t wanted, const CaseRange& range) { return wanted < range.first; });
  if (after != ranges.begin()) {
    const CaseRange& range = *(after - 1);
    if (code <= range.last && (code - range.first) % range.step == 0) {
      code = static_cast<char32_t>(static_cast<int32_t>(code) + range.distance);
    }
  }
  append_utf8(code, text);
}

// Calls append(code, position, text) for each character.
template <class Append>
std::string mapped(std::string_view valid_text, Append append) {
  std::string text;
  text.reserve(valid_text.size());
  for (size_t pos = 0; pos < valid_text.size();) {
    const TextChar next = char_at(valid_text, pos);
    append(next.code, pos, text);
    pos += next.bytes;
  }
  return text;
}

// A capital sigma at the end of a word has a small letter of its own. (Case-ignorable characters between are not looked
// through.)
void append_lower_in(std::string_view valid_text, char32_t code, size_t pos, std::string& text) {
  if (code == kCapitalSigma && pos > 0) {
    const size_t next = pos + char_at(valid_text, pos).bytes;
    const bool after_letter = (char_flags(char_at(valid_text, char_begin_before(valid_text, pos)).code) & kCased) != 0;
    const bool before_letter = next < valid_text.size() && (char_flags(char_at(valid_text, next).code) & kCased) != 0;
    if (after_letter && !before_letter) return append_utf8(kFinalSigma, text);
  }
  append_lower(code, text);
}

}  // namespace

size_t count_characters(std::string_view valid_text) {
  return static_cast<size_t>(std::count_if(valid_text.begin(), valid_text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

size_t byte_of_character(std::string_view valid_text, size_t count) {
  size_t pos = 0;
  while (count > 0 && pos < valid_text.size()) {
    pos += char_at(valid_text, pos).bytes;
    --count;
  }
  return pos;
}

void append_utf8(char32_t code, std::string& text) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

uint8_t char_flags(char32_t code) {
  const auto runs = char_table().runs;
  const auto after = std::upper_bound(runs.begin(), runs.end(), static_cast<uint32_t>(code << 8 | 0xFF));
  return static_cast<uint8_t>(*(after - 1) & 0xFF);
}

void append_upper(char32_t code, std::string& text) {
  if (!append_from(char_table().upper_texts, code, text)) append_from(char_table().upper, code, text);
}

void append_lower(char32_t code, std::string& text) {
  if (!append_from(char_table().lower_texts, code, text)) append_from(char_table().lower, code, text);
}

void append_title(char32_t code, std::string& text) {
  if (!append_from(char_table().titles, code, text)) append_upper(code, text);
}

std::string to_upper(std::string_view valid_text) {
  return mapped(valid_text, [](char32_t code, size_t, std::string& text) { append_upper(code, text); });
}

std::string to_lower(std::string_view valid_text) {
  return mapped(valid_text,
                [&](char32_t code, size_t pos, std::string& text) { append_lower_in(valid_text, code, pos, text); });
}

std::string to_title(std::string_view valid_text) {
  bool in_word = false;
  return mapped(valid_text, [&](char32_t code, size_t pos, std::string& text) {
    in_word ? append_lower_in(valid_text, code, pos, text) : append_title(code, text);
    in_word = (char_flags(code) & kCased) != 0;
  });
}

std::string to_capitalized(std::string_view valid_text) {
  return mapped(valid_text, [&](char32_t code, size_t pos, std::string& text) {
    pos > 0 ? append_lower_in(valid_text, code, pos, text) : append_title(code, text);
  });
}

std::string with_case_swapped(std::string_view valid_text) {
  return mapped(valid_text, [&](char32_t code, size_t pos, std::string& text) {
    const uint8_t flags = char_flags(code);
    if (flags & kUpper) return append_lower_in(valid_text, code, pos, text);
    (flags & kLower) ? append_upper(code, text) : append_utf8(code, text);
  });
}

}  // namespace paceline
