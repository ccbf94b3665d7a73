// One rendering's means: how much it may still do, and the making of values within that.
#pragma once

#include <chrono>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "jinja/value.h"

namespace paceline::jinja {

// A template comes with a checkpoint from anywhere, and what it renders from anybody; these end whatever would not end.
struct Limits {
  int64_t steps = 100'000'000;       // expressions and statements run, items and texts gone through
  int depth = 600;                   // of expressions, statements and macros within each other
  size_t bytes = size_t{512} << 20;  // of all texts, lists and the like made, one after the other
  size_t output_bytes = size_t{64} << 20;
  std::chrono::milliseconds time{10'000};  // of the thread that renders
};

inline constexpr int kMaxValueDepth = 150;
inline constexpr int64_t kMaxValueWeight = 16'000'000;

class Run {
 public:
  Run(const Limits& limits, std::tm now) : limits_(limits), now_(now), deadline_(limits.time) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const std::tm& now() const { return now_; }
  [[nodiscard]] bool used_clock() const { return used_clock_; }
  void note_clock() { used_clock_ = true; }

  // False once there are none left, or no time.
  [[nodiscard]] bool spend(size_t steps);
  [[nodiscard]] Error exhausted() const;
  // Before the whole of a value is gone through.
  [[nodiscard]] bool spend_on(const Value& value) { return spend(static_cast<size_t>(value.extent().weight)); }
  // Before so many bytes are made.
  [[nodiscard]] Status reserve(size_t bytes);

  // Each counts what it makes.
  Result<Value> string(std::string text, bool markup = false);
  Result<Value> list(std::vector<Value> items) { return sequence(Kind::list, std::move(items)); }
  Result<Value> tuple(std::vector<Value> items) { return sequence(Kind::tuple, std::move(items)); }
  // `count` items of a list or tuple from `first` on, not copied.
  Result<Value> slice(const Value& sequence, size_t first, size_t count);
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
  Deadline deadline_;
  bool used_clock_ = false, is_late_ = false;
  int64_t steps_ = 0, next_look_ = 0;  // at the clock
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

// What a `for` goes through: items, keys, characters. Those of a list stay where they are, those of a range are made
// when they are asked for.
class Items {
 public:
  Items() = default;
  explicit Items(std::vector<Value> made);
  // `owner` keeps what `view` shows.
  Items(ObjectPtr owner, std::span<const Value> view) : owner_(std::move(owner)), view_(view) {}
  Items(ObjectPtr owner, const Range& range) : owner_(std::move(owner)), range_(&range) {}

  [[nodiscard]] size_t size() const { return range_ != nullptr ? range_->count : view_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Value operator[](size_t i) const { return range_ != nullptr ? range_->at(i) : view_[i]; }

  class Place {
   public:
    Place(const Items* items, size_t at) : items_(items), at_(at) {}
    Value operator*() const { return (*items_)[at_]; }
    Place& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Place& other) const { return at_ == other.at_; }

   private:
    const Items* items_;
    size_t at_;
  };
  [[nodiscard]] Place begin() const { return {this, 0}; }
  [[nodiscard]] Place end() const { return {this, size()}; }

 private:
  ObjectPtr owner_;
  std::span<const Value> view_;
  const Range* range_ = nullptr;
};

// An iterator is read to its end. Nothing is counted for going through: whoever does counts what it does.
Result<Items> iterate(Run& run, const Value& value);
// The same as a list of one's own, which is counted by whoever keeps it.
Result<std::vector<Value>> own_items(Run& run, const Value& value);

// len(), where Python has one.
Result<size_t> length_of(const Value& value);

}  // namespace paceline::jinja

// One step of work, or the enclosing function returns the error.
#define SPEND(run, steps) \
  if (!(run).spend(steps)) return (run).exhausted()
