#include "grammar/masks.h"

#include <algorithm>
#include <utility>

#include "grammar/token_walk.h"

namespace paceline::grammar {
namespace {

// Of one grammar: 128 masks with 262,144 tokens, and what walkers remember.
constexpr size_t kMaxKeptBytes = size_t{4} << 20;
constexpr size_t kMaxWalkerBytes = size_t{4} << 20;
constexpr size_t kMaxWalkers = 2;

size_t bytes_of(const std::string& key, const Mask& mask) {
  return 2 * sizeof(void*) + 128 + key.size() + mask->size() * sizeof(uint64_t);
}

}  // namespace

Mask Masks::at(const Matcher& matcher, SetId position) {
  std::string key = matcher.key_of(position);
  if (Mask known = look_up(key)) return known;
  std::unique_ptr<Matcher> walker = take_walker();
  const Made made = make(*walker, walker->adopt(matcher, position));
  keep(std::move(key), made, std::move(walker));
  return made.mask;
}

Masks::Made Masks::make(Matcher& walker, SetId position) const {
  const size_t words = std::max(index_->words(), static_cast<size_t>(end_ids_.back()) / 64 + 1);
  auto bits = std::make_shared<std::vector<uint64_t>>(words);
  MaskWork work;
  add_allowed(automaton_, *index_, walker, position, *bits, work);
  const bool none = std::all_of(bits->begin(), bits->end(), [](uint64_t word) { return word == 0; });
  if (none || walker.complete(position)) {
    for (const TokenId id : end_ids_) (*bits)[id / 64] |= uint64_t{1} << (id % 64);
  }
  return {std::move(bits), work.units, work.cut};
}

std::unique_ptr<Matcher> Masks::take_walker() {
  {
    const std::lock_guard lock(mutex_);
    if (!walkers_.empty()) {
      std::unique_ptr<Matcher> walker = std::move(walkers_.back());
      walkers_.pop_back();
      return walker;
    }
  }
  return std::make_unique<Matcher>(automaton_);
}

Mask Masks::look_up(std::string_view key) {
  const std::lock_guard lock(mutex_);
  ++stats_.asked;
  const auto known = place_of_.find(key);
  if (known == place_of_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, known->second);
  return known->second->mask;
}

void Masks::keep(std::string key, const Made& made, std::unique_ptr<Matcher> walker) {
  if (walker->bytes() > kMaxWalkerBytes) walker->clear();
  const std::lock_guard lock(mutex_);
  ++stats_.made;
  stats_.most_work = std::max(stats_.most_work, made.work);
  stats_.cut += made.cut ? 1 : 0;
  if (walkers_.size() < kMaxWalkers) walkers_.push_back(std::move(walker));
  // Somebody may have made the same meanwhile.
  if (place_of_.contains(key)) return;
  kept_bytes_ += bytes_of(key, made.mask);
  kept_.push_front({std::move(key), made.mask});
  place_of_.emplace(kept_.front().key, kept_.begin());
  while (kept_bytes_ > kMaxKeptBytes && kept_.size() > 1) {
    const Kept& oldest = kept_.back();
    kept_bytes_ -= bytes_of(oldest.key, oldest.mask);
    place_of_.erase(oldest.key);
    kept_.pop_back();
  }
}

MaskStats Masks::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace paceline::grammar
