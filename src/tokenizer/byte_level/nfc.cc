#include "tokenizer/byte_level/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"

namespace paceline {
namespace {

struct CalmBlock {
  char32_t first, last;
};
constexpr CalmBlock kCalmBlocks[] = {
    {0x400, 0x482},   {0x561, 0x586},   {0x5D0, 0x5EA},   {0xE01, 0xE30},   {0x2010, 0x2027},
    {0x2030, 0x205E}, {0x2190, 0x21FF}, {0x2500, 0x27BF}, {0x3001, 0x3029}, {0x3041, 0x3096},
    {0x30A0, 0x30FF}, {0x3400, 0x9FFF}, {0xAC00, 0xD7A3}, {0xFF00, 0xFFEF}, {0x1F300, 0x1FAFF},
};

using Codes = std::vector<utf8proc_int32_t>;
constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

utf8proc_propval_t combining_class(utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; }

void append_decomposed(std::string_view text, Codes& codes) {
  utf8proc_int32_t parts[8];
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(next.code), parts, 8, kCompose, &boundary);
    CHECK(count >= 0 && count <= 8);  // no character has more
    codes.insert(codes.end(), parts, parts + count);
    pos += next.bytes;
  }
}

// Each run of marks by their classes. (The library does this too, in steps that a long run has the square of.)
void order_marks(Codes& codes) {
  for (auto begin = codes.begin(); begin != codes.end();) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, codes.end(), [](auto code) { return combining_class(code) == 0; });
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

void append_normalized(std::string_view text, std::string& out) {
  Codes codes;
  append_decomposed(text, codes);
  order_marks(codes);
  const auto count = utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), kCompose);
  CHECK(count >= 0);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(codes[static_cast<size_t>(i)], bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  }
}

}  // namespace

bool is_calm(char32_t code) {
  if (code < 0x300) return true;
  return std::any_of(std::begin(kCalmBlocks), std::end(kCalmBlocks),
                     [code](const CalmBlock& block) { return code >= block.first && code <= block.last; });
}

std::string to_nfc(std::string_view text) {
  std::string out;
  size_t done = 0;        // everything before is in out
  size_t last_calm = 0;   // where the character before `pos` begins, if that is calm
  bool restless = false;  // from last_calm on
  for (size_t pos = 0; pos < text.size();) {
    const TextChar next = char_at(text, pos);
    if (is_calm(next.code)) {
      if (restless) {
        append_normalized(text.substr(last_calm, pos - last_calm), out);
        done = pos;
        restless = false;
      }
      last_calm = pos;
    } else if (!restless) {
      // What it may join stands before it.
      out += text.substr(done, last_calm - done);
      restless = true;
    }
    pos += next.bytes;
  }
  if (restless) {
    append_normalized(text.substr(last_calm), out);
  } else {
    out += text.substr(done);
  }
  return out;
}

}  // namespace paceline
