// How far back a drafter's global layer looks: at everything, or at the last so many positions. What it sees never
// changes the text, so this is a question of time alone, and the answer is measured: tokens per millisecond of the
// rounds that were drafted so, by about how long the context is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace paceline {

class DraftWindow {
 public:
  // 0: everything.
  static constexpr std::array<int32_t, 3> kWindows = {0, 4096, 1024};

  // For a round whose longest context is so long. A window that holds all of it is as good as none.
  int32_t choose(int32_t context);
  // What came of a round that was drafted with it.
  void observe(int32_t context, int32_t window, int32_t tokens, double ms);

  // Tokens per millisecond; 0: not seen.
  [[nodiscard]] double rate(int32_t context, int32_t window) const;

 private:
  struct Seen {
    double tokens = 0, ms = 0;  // what is longer ago counts less
    int64_t rounds = 0;
  };
  struct AtContext {
    std::array<Seen, kWindows.size()> seen;
    int64_t rounds = 0;
    size_t best = 0;
    size_t next_probe = 0;
  };
  // Contexts that share a power of two, from that of the smallest window on, are taken for alike.
  static constexpr size_t kContexts = 12;
  static size_t context_class(int32_t context);
  static size_t number_of(int32_t window);
  static bool differs(size_t window, int32_t context) { return kWindows[window] == 0 || kWindows[window] < context; }

  std::array<AtContext, kContexts> at_;
};

}  // namespace paceline
