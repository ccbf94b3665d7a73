// The masks of a grammar, made once and shared by all texts that are written in it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/matcher.h"
#include "grammar/token_index.h"

namespace paceline::grammar {

using Mask = std::shared_ptr<const std::vector<uint64_t>>;

struct MaskStats {
  int64_t asked = 0, made = 0;
  int64_t most_work = 0;  // of one mask
  int64_t cut = 0;        // those that would have taken more
};

// May be used by several threads.
class Masks {
 public:
  // The automaton must outlive it. `end_ids` are sorted.
  Masks(const Automaton& automaton, std::shared_ptr<const TokenIndex> index, std::vector<TokenId> end_ids)
      : automaton_(automaton), index_(std::move(index)), end_ids_(std::move(end_ids)) {}

  // What may follow a position of somebody's matcher.
  Mask at(const Matcher& matcher, SetId position);

  [[nodiscard]] MaskStats stats() const;

 private:
  struct Kept {
    std::string key;
    Mask mask;
  };
  struct Made {
    Mask mask;
    int64_t work = 0;
    bool cut = false;
  };
  Made make(Matcher& walker, SetId position) const;
  std::unique_ptr<Matcher> take_walker();
  Mask look_up(std::string_view key);
  void keep(std::string key, const Made& made, std::unique_ptr<Matcher> walker);

  const Automaton& automaton_;
  std::shared_ptr<const TokenIndex> index_;
  std::vector<TokenId> end_ids_;

  mutable std::mutex mutex_;
  std::list<Kept> kept_;  // used last in front
  std::unordered_map<std::string_view, std::list<Kept>::iterator> place_of_;
  size_t kept_bytes_ = 0;
  // Matchers that remember steps from mask to mask, while nobody makes one with them.
  std::vector<std::unique_ptr<Matcher>> walkers_;
  MaskStats stats_;
};

}  // namespace paceline::grammar
