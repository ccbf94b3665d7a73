// Recurrent states beside pages: what rounds with drafts hold and give back, whose a state is, and where texts may go
// on.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "state/kv.h"
#include "state/memory.h"

namespace paceline {
namespace {

// Three recurrent layers and one with pages.
ModelState recurrent_state() {
  ModelState state;
  for (int32_t i = 0; i < 4; ++i) {
    LayerState layer;
    layer.kv_layer = i;
    layer.kind = i == 3 ? StateKind::paged : StateKind::recurrent;
    if (i == 3) {
      layer.kv_heads = 2;
      layer.head_dim = 32;
    } else {
      layer.delta = {2, 4, 16, 16, 4};
    }
    state.layers.push_back(layer);
  }
  return state;
}

class RecurrentTest : public testing::Test {
 protected:
  RecurrentTest() : layout_(recurrent_state(), DType::bf16), memory_(layout_, size_t{4} << 20) {}

  [[nodiscard]] KvCache cache(int32_t capacity = 1000) { return {layout_, capacity, kMaxForwardRows, memory_.pool()}; }
  [[nodiscard]] int32_t free_units() { return memory_.arena().free_units(); }
  void run(KvCache& kv, int32_t rows, int32_t drafts = 0) {
    ASSERT_TRUE(kv.reserve(rows, drafts));
    kv.commit(rows, drafts);
  }
  // The first number of the first layer's state.
  static float& number(const KvCache& kv) {
    const kernels::DeltaPlaces places = kv.delta_places(0);
    return *places.at(kv.delta_span(0, 0).state, places.heads[0]);
  }

  KvLayout layout_;
  Memory memory_;
};

TEST_F(RecurrentTest, LayersLieApart) {
  std::vector<std::pair<int32_t, int64_t>> places;
  for (const KvLayout::Layer& layer : layout_.layers) {
    if (layer.kind != StateKind::recurrent) continue;
    for (const kernels::StatePlace& place : layer.state_heads) places.emplace_back(place.unit, place.offset);
    places.emplace_back(layer.recent.unit, layer.recent.offset);
  }
  EXPECT_EQ(places.size(), 15u);
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::unique(places.begin(), places.end()), places.end());
  EXPECT_GE(layout_.block_bytes[StateKind::recurrent], layout_.recurrent_bytes());
  EXPECT_EQ(layout_.recurrent_bytes(), 3u * (4 * 16 * 16 + 3 * 128) * sizeof(float));
}

TEST_F(RecurrentTest, DraftsAreOnATapeAsLongAsTheyMayGo) {
  const int32_t all = free_units();
  KvCache kv = cache();
  run(kv, 10);
  const int32_t after_prompt = free_units();
  EXPECT_EQ(kv.delta_span(1, 0).replayed, 0);
  run(kv, 5, 4);
  EXPECT_EQ(free_units(), after_prompt - 4 * layout_.blocks.units[StateKind::tape]);
  kv.truncate(13);
  EXPECT_EQ(free_units(), after_prompt - 2 * layout_.blocks.units[StateKind::tape]);
  const kernels::DeltaSpan span = kv.delta_span(4, 3);
  EXPECT_EQ(span.replayed, 2);
  EXPECT_EQ(span.certain, 1);
  // Rows are written beside those that are run again.
  EXPECT_NE(span.kept, span.keeps);
  run(kv, 4, 3);
  EXPECT_EQ(kv.delta_span(1, 0).replayed, 3);
  run(kv, 1);
  EXPECT_EQ(free_units(), after_prompt);
  kv.truncate(0);
  EXPECT_EQ(kv.delta_span(1, 0).replayed, 0);
  kv.release();
  EXPECT_EQ(free_units(), all);
  EXPECT_EQ(kv.units(), 0);
}

TEST_F(RecurrentTest, AStateBeginsAtZero) {
  KvCache kv = cache();
  run(kv, 3);
  number(kv) = 7;
  kv.truncate(0);
  run(kv, 3);
  EXPECT_EQ(number(kv), 0);
}

TEST_F(RecurrentTest, ForksWriteStatesOfTheirOwn) {
  KvCache kv = cache();
  run(kv, 70);
  number(kv) = 3;
  std::optional<KvCache> fork = kv.fork();
  ASSERT_TRUE(fork);
  EXPECT_EQ(&number(kv), &number(*fork));
  run(*fork, 1);
  ASSERT_NE(&number(kv), &number(*fork));
  EXPECT_EQ(number(*fork), 3);
  number(*fork) = 4;
  run(kv, 1);
  EXPECT_EQ(number(kv), 3);
}

TEST_F(RecurrentTest, TextsGoOnWhereAStateWasKept) {
  const std::vector<TokenId> tokens(4 * kPageTokens + 10, 5);
  const PrefixText text{tokens, {}, {}};
  Prefixes& prefixes = memory_.prefixes();
  ASSERT_EQ(layout_.state_step() % kPageTokens, 0);
  KvCache kv = cache();
  Prefixes::Walk walk;
  EXPECT_TRUE(prefixes.find(text, false, walk).pages.empty());
  // A state stands at the end of what was run, not before it.
  EXPECT_EQ(prefixes.next_state(text, 3 * kPageTokens), 4 * kPageTokens);
  run(kv, 4 * kPageTokens);
  number(kv) = 9;
  for (int page = 0; page < 4; ++page) prefixes.leave(walk, text, tokens, kv);
  // Nothing of the next one: there is no state within a page.
  run(kv, 10);
  prefixes.leave_open(walk, text, tokens, kv);
  walk.end();
  kv.release();

  const std::vector<TokenId> shorter(tokens.begin(), tokens.begin() + 3 * kPageTokens + 5);
  Prefixes::Walk other;
  EXPECT_TRUE(prefixes.find({shorter, {}, {}}, false, other).pages.empty());
  const auto found = prefixes.find(text, false, other);
  ASSERT_EQ(found.pages.size(), 4u);
  EXPECT_EQ(found.open_tokens, 0);
  KvCache next = cache();
  next.adopt(found.pages);
  EXPECT_EQ(next.length(), 4 * kPageTokens);
  run(next, 3);
  EXPECT_EQ(number(next), 9);
  number(next) = 1;
  // What is kept is not what another writes on.
  KvCache third = cache();
  Prefixes::Walk last;
  third.adopt(prefixes.find(text, false, last).pages);
  EXPECT_EQ(number(third), 9);
}

TEST_F(RecurrentTest, AKeptStateGivesWay) {
  const std::vector<TokenId> tokens(kPageTokens + 1, 5);
  const PrefixText text{tokens, {}, {}};
  KvCache kv = cache(200);
  Prefixes::Walk walk;
  (void)memory_.prefixes().find(text, false, walk);
  run(kv, kPageTokens);
  number(kv) = 2;
  memory_.prefixes().leave(walk, text, tokens, kv);
  // All that is left is somebody else's: the state that is kept is the sequence's own again.
  HeldUnits others;
  ASSERT_TRUE(others.grow(memory_.arena(), free_units() - layout_.blocks.units[StateKind::paged]));
  ASSERT_TRUE(kv.reserve(1));
  kv.commit(1);
  EXPECT_EQ(number(kv), 2);
  KvCache again = cache(200);
  Prefixes::Walk second;
  EXPECT_TRUE(memory_.prefixes().find(text, false, second).pages.empty());
}

}  // namespace
}  // namespace paceline
