#include "session/drafted_by.h"

namespace paceline {

const char* drafted_by_name(DraftedBy kind) {
  switch (kind) {
    case DraftedBy::ngram: return "ngram";
    case DraftedBy::mtp: return "mtp";
    case DraftedBy::dflash: return "dflash";
    case DraftedBy::another: return "another";
  }
  return "?";
}

}  // namespace paceline
