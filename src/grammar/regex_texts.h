// Which texts a regular expression is about: whether one of them is this, and which ones two expressions share.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/regex.h"

namespace paceline::grammar {

// An automaton of characters, not of bytes. Expressions are strangers': whatever is done with one takes from `work`, a
// number of states to look at, and is an error once that is used up.
class RegexTexts {
 public:
  struct Edge {
    CodeRange range;
    int32_t to;
  };
  struct State {
    std::vector<Edge> edges = {};
    std::vector<int32_t> free = {};  // reached without a character
  };

  static Result<RegexTexts> of(const RegexNode& pattern, int64_t& work);

  // `text` is valid UTF-8.
  [[nodiscard]] Result<bool> have(std::string_view text, int64_t& work) const;
  [[nodiscard]] Result<bool> meet(const RegexTexts& others, int64_t& work) const;
  // Those of both; without a state where there are none.
  [[nodiscard]] Result<RegexTexts> shared_with(const RegexTexts& others, int64_t& work) const;

  // The first is where they begin.
  [[nodiscard]] const std::vector<State>& states() const { return states_; }
  [[nodiscard]] int32_t accept() const { return accept_; }

 private:
  int32_t add();
  int32_t add(const RegexNode& node, int32_t from, int64_t& work);
  int32_t add_repeat(const RegexNode& node, int32_t from, int64_t& work);
  [[nodiscard]] RegexTexts without_dead_ends() const;
  void go(int32_t from, int32_t to) { states_[static_cast<size_t>(from)].free.push_back(to); }
  [[nodiscard]] const State& at(int32_t state) const { return states_[static_cast<size_t>(state)]; }

  std::vector<State> states_;
  int32_t accept_ = 0;
};

// Whether the empty text is one of the expression's.
bool may_be_empty(const RegexNode& pattern);
// The expression with no other characters than these; what needs others is left out, which may be all of it.
RegexNode within(const RegexNode& pattern, const std::vector<CodeRange>& allowed);

}  // namespace paceline::grammar
