// CHECK: for our own mistakes only. Never reachable from input.
#pragma once

namespace paceline {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace paceline

#define CHECK(condition)                                        \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::paceline::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
