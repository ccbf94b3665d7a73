// Structs that begin with their size: those of callers with an older header are shorter, those of a newer one longer.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "api/outcome.h"

namespace paceline::api {

// More is no struct of any version, but a size that was never set.
inline constexpr size_t kMostStructBytes = size_t{1} << 16;

// Fields are as far apart as the widest of them needs, so a size that keeps to that cuts none in two.
template <class Struct>
Outcome check_size(const Struct* given, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, size) == 0);
  if (given == nullptr) return invalid(fmt::format("{} is NULL", name));
  size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size >= sizeof(size_t) && size <= kMostStructBytes && size % alignof(Struct) == 0) return {};
  return invalid(fmt::format("{}.size must be the struct's size in bytes, not {}", name, size));
}

// What the caller has set goes over what `taken` has. What lies behind all that this library knows must be nothing.
template <class Struct>
Outcome take_struct(const Struct* given, const char* name, Struct& taken) {
  if (Outcome wrong = check_size(given, name); !wrong.ok()) return wrong;
  const size_t size = given->size;
  std::memcpy(&taken, given, std::min(size, sizeof(Struct)));
  taken.size = sizeof(Struct);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const auto is_set = [](unsigned char byte) { return byte != 0; };
  if (size > sizeof(Struct) && std::any_of(bytes + sizeof(Struct), bytes + size, is_set)) {
    return invalid(
        fmt::format("{} has fields that this version of the library, {}, does not know", name, paceline_version()));
  }
  return {};
}

// For the caller to read: as much of it as it knows, and nothing behind what is known here.
template <class Struct>
Outcome fill_struct(const Struct& made, const char* name, Struct* out) {
  if (Outcome wrong = check_size(out, name); !wrong.ok()) return wrong;
  const size_t size = out->size;
  std::memcpy(reinterpret_cast<unsigned char*>(out) + sizeof(size_t),
              reinterpret_cast<const unsigned char*>(&made) + sizeof(size_t),
              std::min(size, sizeof(Struct)) - sizeof(size_t));
  if (size > sizeof(Struct))
    std::memset(reinterpret_cast<unsigned char*>(out) + sizeof(Struct), 0, size - sizeof(Struct));
  return {};
}

// The defaults, in as many bytes as the caller has.
template <class Struct>
void init_struct(const Struct& defaults, Struct* out, size_t size) {
  if (out == nullptr || size < sizeof(size_t)) return;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &defaults, std::min(size, sizeof(Struct)));
  std::memcpy(static_cast<void*>(out), &size, sizeof(size));
}

// The structs as init() makes them.
paceline_open_options default_open_options();
paceline_chat default_chat();
paceline_medium default_medium();
paceline_request default_request();

}  // namespace paceline::api
