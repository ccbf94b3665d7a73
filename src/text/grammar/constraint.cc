#include "text/grammar/constraint.h"

#include <algorithm>
#include <utility>

#include "text/grammar/matcher.h"
#include "text/grammar/token_walk.h"

namespace paceline::grammar {
namespace {

// Bitmaps kept per text: 32 KiB each with 262,144 tokens.
constexpr size_t kMaxBitmaps = 64;
// When a text has met more positions than these beyond what it stands on, they are forgotten.
constexpr size_t kMaxPositions = 4096;

}  // namespace

struct GrammarConstraint::Shared {
  Automaton automaton;
  std::shared_ptr<const TokenIndex> index;
  std::vector<TokenId> end_ids;
};

class GrammarCursor final : public ConstraintCursor {
 public:
  explicit GrammarCursor(std::shared_ptr<const GrammarConstraint::Shared> shared)
      : shared_(std::move(shared)), matcher_(shared_->automaton), positions_{matcher_.start()} {}

  std::span<const uint64_t> allowed(std::span<const TokenId> generated) override {
    const auto same = std::mismatch(generated.begin(), generated.end(), tokens_.begin(), tokens_.end()).first;
    tokens_.resize(static_cast<size_t>(same - generated.begin()));
    positions_.resize(tokens_.size() + 1);
    if (matcher_.sets() > most_positions_) forget();
    go_on(generated);
    return bitmap_of(matcher_.representative(positions_.back()));
  }

 private:
  struct Bitmap {
    SetId position = -1;
    uint64_t used = 0;
    std::vector<uint64_t> bits;
  };

  void go_on(std::span<const TokenId> generated) {
    for (size_t i = tokens_.size(); i < generated.size(); ++i) {
      tokens_.push_back(generated[i]);
      positions_.push_back(position_behind(*shared_->index, matcher_, positions_.back(), generated[i]));
    }
  }

  // Positions are found again from the tokens; there are at most as many as there are bytes in the text.
  void forget() {
    bitmaps_.clear();
    matcher_.clear();
    positions_.assign(1, matcher_.start());
    const std::vector<TokenId> tokens = std::exchange(tokens_, {});
    go_on(tokens);
    most_positions_ = 2 * matcher_.sets() + kMaxPositions;
  }

  std::span<const uint64_t> bitmap_of(SetId position) {
    ++clock_;
    for (Bitmap& known : bitmaps_) {
      if (known.position != position) continue;
      known.used = clock_;
      return known.bits;
    }
    if (bitmaps_.size() < kMaxBitmaps) bitmaps_.emplace_back();
    Bitmap& oldest = *std::min_element(bitmaps_.begin(), bitmaps_.end(),
                                       [](const Bitmap& a, const Bitmap& b) { return a.used < b.used; });
    oldest.position = position;
    oldest.used = clock_;
    oldest.bits.assign(words(), 0);
    add_allowed(shared_->automaton, *shared_->index, matcher_, position, oldest.bits);
    const bool none = std::all_of(oldest.bits.begin(), oldest.bits.end(), [](uint64_t word) { return word == 0; });
    if (none || matcher_.complete(position)) {
      for (const TokenId id : shared_->end_ids) oldest.bits[id / 64] |= uint64_t{1} << (id % 64);
    }
    return oldest.bits;
  }

  [[nodiscard]] size_t words() const {
    return std::max(shared_->index->words(), static_cast<size_t>(shared_->end_ids.back()) / 64 + 1);
  }

  std::shared_ptr<const GrammarConstraint::Shared> shared_;
  Matcher matcher_;
  std::vector<TokenId> tokens_;
  std::vector<SetId> positions_;  // before each token, and behind the last
  size_t most_positions_ = kMaxPositions;
  std::vector<Bitmap> bitmaps_;
  uint64_t clock_ = 0;
};

Result<std::shared_ptr<const TokenConstraint>> GrammarConstraint::make(Automaton automaton,
                                                                       std::shared_ptr<const TokenIndex> index,
                                                                       std::vector<TokenId> end_ids) {
  std::sort(end_ids.begin(), end_ids.end());
  if (end_ids.empty() || end_ids.front() < 0) return Error{"a grammar needs a token that ends the text"};
  auto shared = std::make_shared<const Shared>(Shared{std::move(automaton), std::move(index), std::move(end_ids)});
  return std::shared_ptr<const TokenConstraint>(new GrammarConstraint(std::move(shared)));
}

std::unique_ptr<ConstraintCursor> GrammarConstraint::start() const { return std::make_unique<GrammarCursor>(shared_); }

}  // namespace paceline::grammar
