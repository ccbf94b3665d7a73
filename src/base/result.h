// What can happen (a file, a request, capacity) comes back as a Result; its message says what was
// expected and what was found. No exceptions across modules.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace paceline {

// Codes of errors: what was asked for does not go together with this machine or model; the machine has no memory for
// it.
inline constexpr const char *kBadSetting = "bad_setting", *kNoMemory = "no_memory";

struct Error {
  std::string message;
  const char* code = "";  // a word for programs, where they have to tell it from others
};

// Success without a value.
struct Done {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CHECK(ok());
    return *std::get_if<0>(&held_);
  }
  const T& value() const& {
    CHECK(ok());
    return *std::get_if<0>(&held_);
  }
  T&& value() && {
    CHECK(ok());
    return std::move(*std::get_if<0>(&held_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const {
    CHECK(!ok());
    return *std::get_if<1>(&held_);
  }

 private:
  std::variant<T, Error> held_;
};

using Status = Result<Done>;

}  // namespace paceline

#define PACELINE_CONCAT_INNER(a, b) a##b
#define PACELINE_CONCAT(a, b) PACELINE_CONCAT_INNER(a, b)

// TRY_ASSIGN(auto x, f()): x is f()'s value, or the enclosing function returns f()'s error.
#define TRY_ASSIGN(declaration, expression) \
  TRY_ASSIGN_NAMED(PACELINE_CONCAT(try_result_, __LINE__), declaration, expression)
#define TRY_ASSIGN_NAMED(name, declaration, expression) \
  auto name = (expression);                             \
  if (!name.ok()) return name.error();                  \
  declaration = std::move(name).value()

// TRY(f()): go on, or return f()'s error.
#define TRY(expression)                                                              \
  do {                                                                               \
    if (auto try_status = (expression); !try_status.ok()) return try_status.error(); \
  } while (false)
