// Stop strings in streamed text. Text that could begin a stop string is held back; the first stop string to be complete
// ends the text before it (of several complete at the same byte, the longest). Where pieces are cut makes no
// difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// An Aho-Corasick automaton over bytes, shared by all who look for the same strings. Clients choose them, and many
// requests may wait with theirs: a byte of a stop string takes some twenty bytes here and not a table.
class StopAutomaton {
 public:
  // Empty strings are left out: they would end every text before its beginning.
  explicit StopAutomaton(std::span<const std::string> strings);

  static constexpr int32_t kStart = 0;
  // Where the next byte leads. A text of n bytes takes 2 n looks at a node's children at most.
  [[nodiscard]] int32_t next(int32_t node, uint8_t byte) const;
  // Bytes of the stop string that the node stands for.
  [[nodiscard]] size_t depth(int32_t node) const { return static_cast<size_t>(nodes_[at(node)].depth); }
  // Of the longest stop string that ends here; 0: none.
  [[nodiscard]] size_t match_length(int32_t node) const { return static_cast<size_t>(nodes_[at(node)].match_length); }

  [[nodiscard]] size_t bytes() const { return sizeof(*this) + nodes_.capacity() * sizeof(Node); }

 private:
  static constexpr int32_t kNone = -1;
  struct Node {
    int32_t first_child = kNone, next_sibling = kNone;
    int32_t fallback = kStart;  // its longest proper suffix that is a node
    int32_t depth = 0, match_length = 0;
    uint8_t byte = 0;  // that leads here
  };
  static size_t at(int32_t node) { return static_cast<size_t>(node); }
  [[nodiscard]] int32_t child(int32_t node, uint8_t byte) const;
  void add(std::string_view text);
  void link();

  std::vector<Node> nodes_;
};

// One text against them.
class StopStrings {
 public:
  // None: nothing stops it.
  explicit StopStrings(std::shared_ptr<const StopAutomaton> automaton = nullptr) : automaton_(std::move(automaton)) {}
  explicit StopStrings(std::span<const std::string> strings)
      : StopStrings(std::make_shared<const StopAutomaton>(strings)) {}

  // Takes the next piece and appends to `out` what is now certain to be text. False: a stop string is complete,
  // and the text ends here.
  bool push(std::string_view piece, std::string& out);
  // No more text comes: what was held back is text after all.
  void finish(std::string& out);

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const std::string& matched() const { return matched_; }  // that stopped it

 private:
  std::shared_ptr<const StopAutomaton> automaton_;
  int32_t at_ = StopAutomaton::kStart;
  std::string held_, matched_;
  bool stopped_ = false;
};

}  // namespace paceline
