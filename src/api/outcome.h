// How a call of the C interface ended, and the border that no exception crosses.
#pragma once

#include <paceline/paceline.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace paceline::api {

struct Outcome {
  paceline_result code = PACELINE_OK;
  std::string message = {};

  [[nodiscard]] bool ok() const { return code == PACELINE_OK; }
};

inline Outcome invalid(std::string message) { return {PACELINE_INVALID, std::move(message)}; }

// The code; and the message, for paceline_free(), where the caller wants one.
paceline_result tell(const Outcome& outcome, char** problem) noexcept;

// A copy that paceline_free() takes, with a zero byte behind it; throws where there is no memory.
char* handed_out(std::string_view text);
// What was handed out, messages included.
void take_back(void* handed_out);

// Without words where there is no memory for them: then that is said.
inline Outcome failed(const char* words) noexcept {
  try {
    return {PACELINE_FAILED, words};
  } catch (...) {
    return {PACELINE_FAILED, {}};
  }
}

// What is thrown within is the standard library's, mostly that there is no memory, or a caller's callback's.
template <class Body>
Outcome caught(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return {PACELINE_FAILED, {}};  // the message may be too long for what is left
  } catch (const std::exception& thrown) {
    const char* words = thrown.what();
    return failed(words != nullptr && *words != 0 ? words : "a callback threw something that has no words");
  } catch (...) {
    return failed("a callback threw something that is no std::exception");
  }
}

template <class Body>
paceline_result guarded(char** problem, Body&& body) noexcept {
  return tell(caught(std::forward<Body>(body)), problem);
}

}  // namespace paceline::api
