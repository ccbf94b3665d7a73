#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace paceline {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace paceline
