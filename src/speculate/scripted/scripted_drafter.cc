#include "speculate/scripted/scripted_drafter.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/philox.h"

namespace paceline {
namespace {

constexpr std::string_view kName = "scripted:";
// Of all sequences of a step.
constexpr int64_t kMostDrafts = int64_t{2048} * kMaxDraftTokens;

}  // namespace

bool is_scripted(std::string_view name) { return name.starts_with(kName); }

Result<std::vector<double>> read_script(std::string_view name) {
  std::vector<double> holds;
  const char *at = name.data() + kName.size(), *end = name.data() + name.size();
  while (at < end) {
    double chance = 0;
    const auto [next, problem] = std::from_chars(at, end, chance);
    const double most = holds.empty() ? 1 : holds.back();
    if (problem != std::errc() || !(chance >= 0 && chance <= most) || (next != end && *next != ',')) break;
    holds.push_back(chance);
    at = next == end ? end : next + 1;
    if (next == end && holds.size() <= static_cast<size_t>(kMaxDraftTokens)) return holds;
  }
  return Error{"scripted: wants up to " + std::to_string(kMaxDraftTokens) +
               " chances from 1 to 0, none above the one before, as scripted:0.8,0.68,0.57; found " +
               std::string(name)};
}

struct ScriptedDrafter::State : DrafterState {
  std::unique_ptr<DrafterState> paid;
  KnownTexts::Text* text = nullptr;

  static DrafterState* paid_of(DrafterState* state) {
    return state == nullptr ? nullptr : static_cast<State*>(state)->paid.get();
  }
  void lie_in(std::span<std::byte* const> units, size_t unit_bytes) override {
    DrafterState::lie_in(units, unit_bytes);
    if (paid != nullptr) paid->lie_in(units, unit_bytes);
  }
};

ScriptedDrafter::ScriptedDrafter(std::unique_ptr<Drafter> pays, kernels::Ops& ops, Script script)
    : pays_(std::move(pays)), ops_(ops), script_(std::move(script)) {
  CHECK(pays_->count() == 1);
}

std::unique_ptr<DrafterState> ScriptedDrafter::start() {
  auto state = std::make_unique<State>();
  state->paid = pays_->start();
  state->text = known_.begin();
  return state;
}

std::span<DraftAsk> ScriptedDrafter::paid_asks(std::span<const DraftAsk> asks) {
  asks_.assign(asks.begin(), asks.end());
  for (DraftAsk& ask : asks_) ask.state = State::paid_of(ask.state);
  return asks_;
}

// One throw says how many of them hold; those behind are wrong, as is what is not known.
void ScriptedDrafter::write(const DraftContext& context, std::span<TokenId> out) const {
  const std::span<const TokenId> right = known_.behind(context.tokens, out.size());
  const uint64_t at = KnownTexts::print_of(context.tokens) ^ context.tokens.size();
  const double dice = static_cast<double>(random_block(script_.seed, at, 0, 0)[0]) / 4294967296.0;
  const auto holds = static_cast<size_t>(
      std::count_if(script_.holds.begin(), script_.holds.end(), [&](double chance) { return dice < chance; }));
  for (size_t i = 0; i < out.size(); ++i) {
    const TokenId token = i < right.size() ? right[i] : 0;
    out[i] = i < right.size() && i < holds ? token : (token + 1) % script_.vocab;
  }
}

void ScriptedDrafter::propose(std::span<DraftAsk> asks) {
  pays_->propose(paid_asks(asks));
  for (size_t i = 0; i < asks.size(); ++i) {
    asks[i].drafted = asks_[i].drafted;
    write(asks[i].context, asks[i].out.first(static_cast<size_t>(asks[i].drafted)));
  }
}

const TokenId* ScriptedDrafter::enqueue(std::span<DraftAsk> asks) {
  if (pays_->enqueue(paid_asks(asks)) == nullptr) return nullptr;
  written_.clear();
  for (size_t i = 0; i < asks.size(); ++i) {
    asks[i].drafted = asks_[i].drafted;
    asks[i].first = static_cast<int32_t>(written_.size());
    asks[i].stride = 1;
    written_.resize(written_.size() + asks[i].out.size());
    write(asks[i].context, std::span(written_).last(asks[i].out.size()));
  }
  static_assert(sizeof(TokenId) == sizeof(float));
  CHECK(static_cast<int64_t>(written_.size()) <= kMostDrafts);
  auto* memory = reinterpret_cast<TokenId*>(drafts_.sized(ops_, kMostDrafts));
  if (memory != nullptr) ops_.upload(memory, written_.data(), written_.size() * sizeof(TokenId));
  return memory;
}

void ScriptedDrafter::committed(std::span<const CommittedRows> rows, const Taps& taps) {
  rows_.assign(rows.begin(), rows.end());
  for (CommittedRows& one : rows_) {
    if (auto* state = static_cast<State*>(one.state)) known_.note(*state->text, one.standing);
    one.state = State::paid_of(one.state);
  }
  pays_->committed(rows_, taps);
}

}  // namespace paceline
