#include "api/outcome.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/one_line.h"

namespace paceline::api {
namespace {

// What is said where there is no memory for words.
char no_memory[] = "there is no memory for it";

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
  if (outcome.ok()) return outcome.code;
  try {
    if (!outcome.message.empty()) *problem = copy_of(one_line(outcome.message));
  } catch (const std::bad_alloc&) {
    // Said below.
  }
  if (*problem == nullptr) *problem = no_memory;
  return outcome.code;
}

void take_back(void* handed_out) {
  if (handed_out != no_memory) std::free(handed_out);
}

char* handed_out(std::string_view text) {
  char* copy = copy_of(text);
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

}  // namespace paceline::api
