// A tensor's name in GGUF and Hugging Face's.
#pragma once

#include <span>
#include <string_view>

namespace paceline {

struct NamePair {
  std::string_view gguf, hub;
};

// "": none of them.
inline std::string_view hub_name_in(std::span<const NamePair> names, std::string_view gguf) {
  for (const NamePair& name : names)
    if (name.gguf == gguf) return name.hub;
  return {};
}

inline std::string_view gguf_name_in(std::span<const NamePair> names, std::string_view hub) {
  for (const NamePair& name : names)
    if (name.hub == hub) return name.gguf;
  return {};
}

}  // namespace paceline
