#include "grammar/constraint.h"

#include <algorithm>
#include <utility>

#include "grammar/matcher.h"
#include "grammar/token_walk.h"

namespace paceline::grammar {
namespace {

// Masks that a text holds by itself, to find them without asking for what its position is.
constexpr size_t kMaxHeld = 16;
// When a text has met more positions than these beyond what it stands on, they are forgotten.
constexpr size_t kMaxPositions = 4096;

}  // namespace

struct GrammarConstraint::Shared {
  Shared(Automaton grammar, std::shared_ptr<const TokenIndex> tokens, std::vector<TokenId> end_ids)
      : automaton(std::move(grammar)), index(tokens), masks(automaton, std::move(tokens), std::move(end_ids)) {}

  Automaton automaton;
  std::shared_ptr<const TokenIndex> index;
  Masks masks;
};

class GrammarCursor final : public ConstraintCursor {
 public:
  explicit GrammarCursor(std::shared_ptr<GrammarConstraint::Shared> shared)
      : shared_(std::move(shared)), matcher_(shared_->automaton), positions_{matcher_.start()} {}

  std::span<const uint64_t> allowed(std::span<const TokenId> generated) override {
    const auto same = std::mismatch(generated.begin(), generated.end(), tokens_.begin(), tokens_.end()).first;
    tokens_.resize(static_cast<size_t>(same - generated.begin()));
    positions_.resize(tokens_.size() + 1);
    if (matcher_.sets() > most_positions_) forget();
    go_on(generated);
    return *mask_at(matcher_.representative(positions_.back()));
  }

 private:
  struct Held {
    SetId position = -1;
    uint64_t used = 0;
    Mask mask;
  };

  void go_on(std::span<const TokenId> generated) {
    for (size_t i = tokens_.size(); i < generated.size(); ++i) {
      tokens_.push_back(generated[i]);
      positions_.push_back(position_behind(*shared_->index, matcher_, positions_.back(), generated[i]));
    }
  }

  // Positions are found again from the tokens; there are at most as many as there are bytes in the text.
  void forget() {
    held_.clear();
    matcher_.clear();
    positions_.assign(1, matcher_.start());
    const std::vector<TokenId> tokens = std::exchange(tokens_, {});
    go_on(tokens);
    most_positions_ = 2 * matcher_.sets() + kMaxPositions;
  }

  const Mask& mask_at(SetId position) {
    ++clock_;
    for (Held& known : held_) {
      if (known.position != position) continue;
      known.used = clock_;
      return known.mask;
    }
    if (held_.size() < kMaxHeld) held_.emplace_back();
    Held& oldest =
        *std::min_element(held_.begin(), held_.end(), [](const Held& a, const Held& b) { return a.used < b.used; });
    oldest = {position, clock_, shared_->masks.at(matcher_, position)};
    return oldest.mask;
  }

  std::shared_ptr<GrammarConstraint::Shared> shared_;
  Matcher matcher_;
  std::vector<TokenId> tokens_;
  std::vector<SetId> positions_;  // before each token, and behind the last
  size_t most_positions_ = kMaxPositions;
  std::vector<Held> held_;
  uint64_t clock_ = 0;
};

Result<std::shared_ptr<const TokenConstraint>> GrammarConstraint::make(Automaton automaton,
                                                                       std::shared_ptr<const TokenIndex> index,
                                                                       std::vector<TokenId> end_ids) {
  std::sort(end_ids.begin(), end_ids.end());
  if (end_ids.empty() || end_ids.front() < 0) return Error{"a grammar needs a token that ends the text"};
  auto shared = std::make_shared<Shared>(std::move(automaton), std::move(index), std::move(end_ids));
  return std::shared_ptr<const TokenConstraint>(new GrammarConstraint(std::move(shared)));
}

std::unique_ptr<ConstraintCursor> GrammarConstraint::start() const { return std::make_unique<GrammarCursor>(shared_); }

size_t GrammarConstraint::bytes() const {
  const Automaton& automaton = shared_->automaton;
  return sizeof(Shared) + automaton.states.capacity() * sizeof(State) + automaton.edges.capacity() * sizeof(Edge) +
         automaton.heights.capacity() * sizeof(int32_t);
}

MaskStats GrammarConstraint::stats() const { return shared_->masks.stats(); }

}  // namespace paceline::grammar
