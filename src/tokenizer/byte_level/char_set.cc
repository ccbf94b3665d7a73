#include "tokenizer/byte_level/char_set.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"

namespace paceline {

CharKind kind_of(char32_t code) {
  if (is_white_space(code)) return kSpaceKind;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return kLetterKind;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return kMarkKind;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return kNumberKind;
    default: return kOtherKind;
  }
}

void CharSet::finish() {
  for (char32_t code = 0; code < 128; ++code) ascii_[code] = looks_up(code);
}

bool CharSet::looks_up(char32_t code) const {
  const bool listed = std::find(chars_.begin(), chars_.end(), code) != chars_.end();
  return (listed || (kinds_ & kind_of(code)) != 0) != negated_;
}

}  // namespace paceline
