// One rendering's means: how much it may still do, and the making of values within that.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "text/jinja/value.h"

namespace paceline::jinja {

// A template comes with a checkpoint from anywhere; these end any that would not end. Gemma 4's own looks through the
// later messages at each one: 4,001 short messages were rendered within these, and 8,001 were too many.
struct Limits {
  int64_t steps = 100'000'000;       // expressions and statements run, items gone through
  int depth = 600;                   // of expressions, statements and macros within each other
  size_t bytes = size_t{512} << 20;  // of all texts, lists and the like made, one after the other
  size_t output_bytes = size_t{64} << 20;
};

inline constexpr int kMaxValueDepth = 150;
inline constexpr int64_t kMaxValueWeight = 16'000'000;

class Run {
 public:
  Run(const Limits& limits, std::tm now) : limits_(limits), now_(now) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const std::tm& now() const { return now_; }
  [[nodiscard]] bool used_clock() const { return used_clock_; }
  void note_clock() { used_clock_ = true; }

  // False once there are none left.
  [[nodiscard]] bool spend(size_t steps);
  [[nodiscard]] static Error out_of_steps();
  // Before the whole of a value is gone through.
  [[nodiscard]] bool spend_on(const Value& value) { return spend(static_cast<size_t>(value.extent().weight)); }
  // Before so many bytes are made.
  [[nodiscard]] Status reserve(size_t bytes);

  // Each counts what it makes.
  Result<Value> string(std::string text, bool markup = false);
  Result<Value> list(std::vector<Value> items) { return sequence(Kind::list, std::move(items)); }
  Result<Value> tuple(std::vector<Value> items) { return sequence(Kind::tuple, std::move(items)); }
  Result<Value> iterator(std::vector<Value> items);
  Result<Value> dict(std::shared_ptr<Dict> dict);
  Result<Value> view(const Value& dict, View::What what);

  // Holds it to the end and clears it then: what may come to hold itself.
  void keep(ObjectPtr object) { kept_.push_back(std::move(object)); }

  int depth = 0;

 private:
  Result<Value> sequence(Kind kind, std::vector<Value> items);

  Limits limits_;
  std::tm now_;
  bool used_clock_ = false;
  int64_t steps_ = 0;
  size_t bytes_ = 0;
  std::vector<ObjectPtr> kept_;
};

// One level deeper, for as long as this lives.
class Deeper {
 public:
  explicit Deeper(Run& run) : run_(run) { ++run_.depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --run_.depth; }
  [[nodiscard]] bool is_too_deep() const { return run_.depth > run_.limits().depth; }
  [[nodiscard]] static Error error() { return Error{"the template goes too deep: macros or loops within each other"}; }

 private:
  Run& run_;
};

// What a `for` goes through: items, keys, characters. An iterator is read to its end. The list itself is not counted
// as made: it is gone soon, or counted by whoever keeps it.
Result<std::vector<Value>> iterate(Run& run, const Value& value);

// len(), where Python has one.
Result<size_t> length_of(const Value& value);

}  // namespace paceline::jinja

// One step of work, or the enclosing function returns the error.
#define SPEND(run, steps) \
  if (!(run).spend(steps)) return Run::out_of_steps()
