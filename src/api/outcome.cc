#include "api/outcome.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace paceline::api {
namespace {

char* copy_of(std::string_view text) noexcept {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  // Of an empty text there may be no address.
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace

paceline_result tell(const Outcome& outcome, char** problem) noexcept {
  if (problem == nullptr) return outcome.code;
  *problem = nullptr;
  if (!outcome.ok()) *problem = copy_of(outcome.message.empty() ? "there is no memory for it" : outcome.message);
  return outcome.code;
}

char* handed_out(std::string_view text) {
  char* copy = copy_of(text);
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

}  // namespace paceline::api
