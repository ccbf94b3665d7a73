#include "session/thought_budget.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace paceline {
namespace {

class ThoughtCursor final : public ConstraintCursor {
 public:
  ThoughtCursor(const ThoughtLimit& limit, std::unique_ptr<ConstraintCursor> inner)
      : limit_(limit), inner_(std::move(inner)) {
    const size_t words = (static_cast<size_t>(limit.id_end) + 63) / 64;
    all_.assign(words, ~uint64_t{0});
    end_.assign(words, 0);
    const auto end = static_cast<size_t>(limit.marks.thought_end);
    end_[end / 64] = uint64_t{1} << (end % 64);
  }

  std::span<const uint64_t> allowed(std::span<const TokenId> generated) override {
    if (is_used_up(generated)) return end_;
    return inner_ != nullptr ? inner_->allowed(generated) : std::span<const uint64_t>(all_);
  }

 private:
  // Back to the mark that began or ended one, and no farther than the limit.
  [[nodiscard]] bool is_used_up(std::span<const TokenId> generated) const {
    const auto most = static_cast<size_t>(limit_.most);
    const size_t looked = std::min(generated.size(), most);
    for (size_t i = 0; i < looked; ++i) {
      const TokenId id = generated[generated.size() - 1 - i];
      if (id == limit_.marks.thought_begin || id == limit_.marks.thought_end) return false;
    }
    if (generated.size() < most) return false;
    for (size_t i = generated.size() - looked; i-- > 0;) {
      if (generated[i] == limit_.marks.thought_begin) return true;
      if (generated[i] == limit_.marks.thought_end) return false;
    }
    return limit_.begins_in_thought;
  }

  ThoughtLimit limit_;
  std::unique_ptr<ConstraintCursor> inner_;
  std::vector<uint64_t> all_, end_;
};

class LimitedThoughts final : public TokenConstraint {
 public:
  LimitedThoughts(const ThoughtLimit& limit, std::shared_ptr<const TokenConstraint> inner)
      : limit_(limit), inner_(std::move(inner)) {}

  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override {
    return std::make_unique<ThoughtCursor>(limit_, inner_ != nullptr ? inner_->start() : nullptr);
  }
  [[nodiscard]] size_t bytes() const override { return inner_ != nullptr ? inner_->bytes() : 0; }

 private:
  ThoughtLimit limit_;
  std::shared_ptr<const TokenConstraint> inner_;
};

}  // namespace

std::shared_ptr<const TokenConstraint> limit_thoughts(const ThoughtLimit& limit,
                                                      std::shared_ptr<const TokenConstraint> inner) {
  return std::make_shared<LimitedThoughts>(limit, std::move(inner));
}

}  // namespace paceline
