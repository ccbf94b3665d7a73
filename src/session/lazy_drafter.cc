#include "session/lazy_drafter.h"

#include "session/lazy_dflash.h"

namespace paceline {
namespace {

// Keeps nothing of a sequence: there is none of it until the first drafts are asked for.
class LazyMtp : public LazyDrafter {
 public:
  explicit LazyMtp(FoundDrafter found) : found_(std::move(found)) {}

  [[nodiscard]] DraftedBy kind(int32_t) const override { return found_.kind(); }
  void propose(std::span<DraftAsk> asks) override {
    if (may()) return drafter().propose(asks);
    for (DraftAsk& ask : asks) ask.drafted = 0;
  }
  const TokenId* enqueue(std::span<DraftAsk> asks) override { return may() ? drafter().enqueue(asks) : nullptr; }

 private:
  void load() override { drafter_ = found_.drafter(); }
  void unload() override { drafter_.reset(); }
  Drafter& drafter() {
    be_loaded();
    return *drafter_;
  }

  FoundDrafter found_;
  std::unique_ptr<Drafter> drafter_;
};

}  // namespace

std::unique_ptr<LazyDrafter> LazyDrafter::make(const FoundDrafter& found) {
  if (found.kind() == DraftedBy::mtp) return std::make_unique<LazyMtp>(found);
  return std::make_unique<LazyDflash>(found.dflash_forward(DflashForward::Arranged::later));
}

}  // namespace paceline
