// Stop strings in streamed text. Text that could begin a stop string is held back; the first stop string to be complete
// ends the text before it (of several complete at the same byte, the longest). Where pieces are cut makes no
// difference.
//
// An Aho-Corasick automaton over bytes, with all transitions written out: one table lookup per byte.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

class StopStrings {
 public:
  // Empty strings are left out: they would end every text before its beginning.
  explicit StopStrings(std::span<const std::string> strings = {});

  // Takes the next piece and appends to `out` what is now certain to be text. False: a stop string is complete,
  // and the text ends here.
  bool push(std::string_view piece, std::string& out);
  // No more text comes: what was held back is text after all.
  void finish(std::string& out);

  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  struct Node {
    std::array<int32_t, 256> next{};
    int32_t depth = 0;         // bytes of the stop string that this node stands for
    int32_t match_length = 0;  // of the longest stop string that ends here; 0: none
  };
  void add(std::string_view text);
  void link();

  std::vector<Node> nodes_;
  int32_t at_ = 0;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace paceline
