#include "state/prefixes.h"

#include <gtest/gtest.h>

#include "state/states_for_tests.h"

namespace paceline {
namespace {

constexpr int32_t kWindow = 100;  // two pages and a bit

struct Text {
  std::vector<TokenId> prompt;
  std::vector<PrefixPicture> pictures = {};
  Fingerprint scope = {};
  operator PrefixText() const { return {prompt, pictures, scope}; }
};

class PrefixesTest : public testing::Test {
 protected:
  explicit PrefixesTest(const ModelState& state = tiny_state("dense", kWindow))
      : layout_(state, DType::bf16),
        pool_(std::make_shared<KvBlockPool>(layout_.blocks, size_t{1} << 30)),
        prefixes_(layout_) {}

  static Text text(int32_t tokens, TokenId first = 0) {
    Text made;
    for (int32_t i = 0; i < tokens; ++i) made.prompt.push_back(first + i % 7);
    return made;
  }

  // As a sequence does: what is not found is computed, and every full page is left.
  int32_t run(const Text& text, bool whole_pictures = false) {
    Prefixes::Walk walk;
    const auto found = prefixes_.find(text, whole_pictures, walk);
    KvCache kv(layout_, 4096, kMaxForwardRows, pool_);
    kv.adopt(found.pages);
    const auto tokens = static_cast<int32_t>(text.prompt.size());
    while (kv.length() < tokens) {
      const int32_t rows = std::min(100, tokens - kv.length());
      EXPECT_TRUE(kv.reserve(rows));
      kv.commit(rows);
      while ((walk.pages() + 1) * kPageTokens <= kv.length()) prefixes_.leave(walk, text, text.prompt, kv);
    }
    return static_cast<int32_t>(found.pages.size());
  }

  // The same to the text's end, where it leaves what it has of its last page. Where it began.
  int32_t run_to_its_end(const Text& text, bool whole_pictures = false) {
    Prefixes::Walk walk;
    const Prefixes::Found found = prefixes_.find(text, whole_pictures, walk);
    KvCache kv(layout_, 4096, kMaxForwardRows, pool_);
    kv.adopt(found.pages);
    EXPECT_TRUE(found.open_tokens == 0 || kv.adopt_open(found.open, found.open_tokens));
    const int32_t begin = kv.length();
    const auto rows = static_cast<int32_t>(text.prompt.size()) - begin;
    EXPECT_TRUE(kv.reserve(rows));
    kv.commit(rows);
    while ((walk.pages() + 1) * kPageTokens <= kv.length()) prefixes_.leave(walk, text, text.prompt, kv);
    prefixes_.leave_open(walk, text, text.prompt, kv);
    return begin;
  }

  [[nodiscard]] size_t page_bytes() const {
    return layout_.block_bytes[StateKind::paged] + layout_.block_bytes[StateKind::window];
  }

  KvLayout layout_;
  std::shared_ptr<KvBlockPool> pool_;
  Prefixes prefixes_;
};

TEST_F(PrefixesTest, TextsGoOnFromWithinAPageThatWasLeftUnfinished) {
  EXPECT_EQ(run_to_its_end(text(100)), 0);
  EXPECT_EQ(run_to_its_end(text(100)), 99) << "the last token is run";
  EXPECT_EQ(run_to_its_end(text(150)), 100);
  EXPECT_EQ(run_to_its_end(text(150)), 149);
  Text apart = text(150);
  apart.prompt[90] = 99;
  EXPECT_EQ(run_to_its_end(apart), 90);
  apart.prompt[65] = 99;
  EXPECT_EQ(run_to_its_end(apart), 65);
  EXPECT_EQ(run_to_its_end(text(40, 50)), 0);
  EXPECT_EQ(run_to_its_end(text(40, 50)), 39) << "before there is a whole page";
  Text begins_alike = text(40, 50);
  begins_alike.prompt[10] = 99;
  EXPECT_EQ(run_to_its_end(begins_alike), 0) << "all chats do";
}

TEST_F(PrefixesTest, TextsGoOnFromWithinAWholePageThatGoesOnOtherwise) {
  run(text(320));
  Text apart = text(320);
  apart.prompt[150] = 99;
  EXPECT_EQ(run_to_its_end(apart), 150);
  Text other = text(320);
  other.prompt[170] = 98;
  EXPECT_EQ(run_to_its_end(other), 170) << "of two that share some, the one that shares more";
}

TEST_F(PrefixesTest, SaysWhyNotMoreWasFound) {
  const auto why = [&](const Text& text) {
    Prefixes::Walk walk;
    const Prefixes::Found found = prefixes_.find(text, false, walk);
    return prefixes_.why_missed(text, walk, static_cast<int32_t>(found.pages.size()) * kPageTokens + found.open_tokens);
  };
  EXPECT_EQ(why(text(320)), PrefixMiss::unknown) << "nobody was here before";
  run_to_its_end(text(320));
  EXPECT_EQ(why(text(320)), PrefixMiss::none);
  EXPECT_EQ(why(text(400)), PrefixMiss::unknown) << "a conversation that goes on";
  Text apart = text(320);
  apart.prompt[150] = 99;
  EXPECT_EQ(why(apart), PrefixMiss::differs);
  EXPECT_EQ(why(text(320, 50)), PrefixMiss::unknown) << "another text";
  Text others = text(320);
  others.scope = {1, 2};
  EXPECT_EQ(why(others), PrefixMiss::scope);
  others.prompt[3] = 99;
  EXPECT_EQ(why(others), PrefixMiss::unknown);
  // The parts of windows go first, then pages from the end on.
  while (prefixes_.reclaim()) {
    const PrefixMiss reason = why(text(320));
    EXPECT_TRUE(reason == PrefixMiss::evicted ||
                (reason == PrefixMiss::none && pool_->kept_bytes() > 4 * page_bytes()));
  }
  EXPECT_EQ(prefixes_.scopes(), 0u);
  EXPECT_EQ(why(text(320)), PrefixMiss::evicted) << "it was there";
  EXPECT_EQ(why(apart), PrefixMiss::evicted);
  EXPECT_EQ(why(text(320, 50)), PrefixMiss::unknown);
}

// Of two ends the longer serves for both.
TEST_F(PrefixesTest, AnEndGoesWhenALongerOneComes) {
  run_to_its_end(text(100));
  EXPECT_EQ(pool_->kept_bytes(), 2 * page_bytes());
  run_to_its_end(text(120));
  EXPECT_EQ(pool_->kept_bytes(), 2 * page_bytes());
  run_to_its_end(text(100));
  EXPECT_EQ(pool_->kept_bytes(), 2 * page_bytes());
  run(text(129));
  EXPECT_EQ(pool_->kept_bytes(), 2 * page_bytes()) << "the page is whole now";
  EXPECT_EQ(run_to_its_end(text(120)), 119);
  while (prefixes_.reclaim()) {
  }
  EXPECT_EQ(pool_->used_bytes(), 0u);
  EXPECT_EQ(prefixes_.scopes(), 0u);
}

// What is gone on with is a copy: neither sees what the other writes behind it.
TEST_F(PrefixesTest, AnOpenPageIsCopied) {
  const auto byte_of = [](const KvCache& kv, int32_t layer) -> std::byte& {
    return *const_cast<std::byte*>(static_cast<const std::byte*>(kv.pages(layer).keys_of(1)));
  };
  KvCache one(layout_, 4096, kMaxForwardRows, pool_);
  ASSERT_TRUE(one.reserve(100));
  one.commit(100);
  for (int32_t layer = 0; layer < 6; ++layer) byte_of(one, layer) = std::byte{7};
  KvCache two(layout_, 4096, kMaxForwardRows, pool_);
  two.adopt(std::vector{one.page_blocks(0)});
  ASSERT_TRUE(two.adopt_open(one.page_blocks(1), 20));
  EXPECT_EQ(two.length(), 84);
  for (int32_t layer = 0; layer < 6; ++layer) {
    EXPECT_EQ(byte_of(two, layer), std::byte{7});
    byte_of(two, layer) = std::byte{8};
    EXPECT_EQ(byte_of(one, layer), std::byte{7});
  }
  ASSERT_TRUE(two.reserve(44));
  two.commit(44);
  EXPECT_EQ(pool_->used_bytes(), 3 * page_bytes());
}

TEST_F(PrefixesTest, AnOpenPageThatThereIsNoRoomForIsNotTaken) {
  const auto small = std::make_shared<KvBlockPool>(layout_.blocks, 2 * page_bytes());
  KvCache one(layout_, 128, kMaxForwardRows, small);
  ASSERT_TRUE(one.reserve(100));
  one.commit(100);
  KvCache two(layout_, 128, kMaxForwardRows, small);
  two.adopt(std::vector{one.page_blocks(0)});
  EXPECT_FALSE(two.adopt_open(one.page_blocks(1), 20));
  EXPECT_EQ(two.length(), 64);
  EXPECT_EQ(two.bytes(), page_bytes());
  one.release();
  ASSERT_TRUE(two.reserve(20)) << "what it could not keep has gone back";
}

TEST_F(PrefixesTest, PicturesInAnOpenPageAreKnownByWhatIsInThem) {
  Text with = text(120);
  with.pictures.push_back({90, 20, {1, 1}});
  run_to_its_end(with);
  EXPECT_EQ(run_to_its_end(with), 119);
  Text other = with;
  other.pictures[0].content = {1, 2};
  EXPECT_EQ(run_to_its_end(other), 90);
  Text none = text(120);
  EXPECT_EQ(run_to_its_end(none), 90);
  // Where whole pages would end within a picture.
  Text across = text(120, 40);
  across.pictures.push_back({20, 60, {3, 3}});
  run_to_its_end(across, true);
  EXPECT_EQ(run_to_its_end(across, true), 119);
  // Apart within the picture.
  Text cut = text(120, 20);
  cut.pictures = with.pictures;
  run_to_its_end(cut);
  cut.prompt[100] = 99;
  EXPECT_EQ(run_to_its_end(cut, false), 100);
  cut.prompt[100] = 98;
  EXPECT_EQ(run_to_its_end(cut, true), 64);
}

// A drafter's layers lie beside the model's, and see further.
class PrefixesWithDrafter : public PrefixesTest {
 protected:
  PrefixesWithDrafter() : PrefixesTest(with_draft_layers(tiny_state("dense", kWindow), 3 * kWindow)) {}
};

// However much has been given up: what is found can be gone on from by both. adopt() looks for every block.
TEST_F(PrefixesWithDrafter, AreFoundWhileEveryWindowIsThere) {
  EXPECT_EQ(run(text(1000)), 0);
  EXPECT_EQ(run(text(1000)), 15);
  run(text(700, 20));
  size_t before = pool_->kept_bytes();
  int32_t last = 15;
  while (prefixes_.reclaim()) {
    EXPECT_LT(pool_->kept_bytes(), before);
    before = pool_->kept_bytes();
    Prefixes::Walk walk;
    const auto found = prefixes_.find(text(1000), false, walk);
    KvCache kv(layout_, 4096, kMaxForwardRows, pool_);
    kv.adopt(found.pages);
    EXPECT_LE(kv.length() / kPageTokens, last);
    last = kv.length() / kPageTokens;
  }
  EXPECT_EQ(last, 0);
  EXPECT_EQ(pool_->used_bytes(), 0u);
}

TEST_F(PrefixesTest, FindsWholePagesAndLeavesATokenToRun) {
  EXPECT_EQ(run(text(1000)), 0);
  EXPECT_EQ(run(text(1000)), 15);
  EXPECT_EQ(run(text(960)), 14);
  EXPECT_EQ(run(text(961)), 15);
  EXPECT_EQ(run(text(64)), 0);
  EXPECT_EQ(run(text(65)), 1);
  EXPECT_EQ(run(text(1000, 50)), 0);
  Text apart = text(1000);
  apart.prompt[700] = 99;
  EXPECT_EQ(run(apart), 10);
}

TEST_F(PrefixesTest, ScopesAreApart) {
  run(text(500));
  Text other = text(500);
  other.scope = {7, 8};
  EXPECT_EQ(run(other), 0);
  EXPECT_EQ(run(other), 7);
}

TEST_F(PrefixesTest, PicturesAreKnownByWhatIsInThem) {
  Text with = text(500);
  with.pictures.push_back({70, 100, {1, 1}});
  EXPECT_EQ(run(with), 0);
  EXPECT_EQ(run(with), 7);
  Text other = with;
  other.pictures[0].content = {1, 2};
  // The page before the picture is the same; the one that it begins in is not.
  EXPECT_EQ(run(other), 1);
  Text moved = with;
  moved.pictures[0].first_pos = 71;
  EXPECT_EQ(run(moved), 1);
}

// Pages 0 and 1 end before and within the picture at 70 … 170, page 2 behind it.
TEST_F(PrefixesTest, NobodyGoesOnFromWithinAPictureThatSeesBothWays) {
  Text with = text(150);
  with.pictures.push_back({70, 75, {1, 1}});
  run(with, true);
  EXPECT_EQ(run(with, true), 1);
  EXPECT_EQ(run(with, false), 2);
}

TEST_F(PrefixesTest, EverythingCanBeReclaimedAndNothingIsLost) {
  run(text(1000));
  run(text(700, 20));
  const size_t kept = pool_->kept_bytes();
  EXPECT_EQ(kept, pool_->used_bytes());
  EXPECT_GT(kept, 0u);
  size_t before = kept;
  while (prefixes_.reclaim()) {
    EXPECT_LT(pool_->kept_bytes(), before);
    before = pool_->kept_bytes();
    EXPECT_EQ(before, pool_->used_bytes());
  }
  EXPECT_EQ(pool_->used_bytes(), 0u);
  EXPECT_EQ(run(text(1000)), 0);
}

// What was used last goes last; and of a long text its sliding pages go before its global ones.
TEST_F(PrefixesTest, TheOldestGoesFirst) {
  run(text(640));
  run(text(640, 20));
  run(text(640));
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(prefixes_.reclaim());
  EXPECT_EQ(run(text(640)), 9);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(prefixes_.reclaim());
  EXPECT_EQ(run(text(640, 20)), 0);
}

// Page by page, and all of the one that was used last only when nothing of the others is left.
TEST_F(PrefixesTest, OnePageGoesAtATimeAndTheNewestTextsLast) {
  const auto blocks = [&] {
    size_t count = 0;
    // A kind that no layer has takes nothing.
    prefixes_.visit_blocks([&](StateKind, const KvBlockRef& block) { count += block.units().empty() ? 0 : 1; });
    return count;
  };
  run(text(640));
  const size_t of_one = blocks();
  run(text(640, 20));
  run(text(640, 40));
  EXPECT_EQ(blocks(), 3 * of_one);
  EXPECT_EQ(run(text(640, 20)), 9);
  // A page has at most one block of each kind.
  for (size_t left = blocks(); left > of_one;) {
    SCOPED_TRACE(left);
    // Looking counts as using.
    Prefixes::Walk walk;
    EXPECT_EQ(prefixes_.find(text(640, 20), false, walk).pages.size(), 9u);
    ASSERT_TRUE(prefixes_.reclaim());
    EXPECT_LT(blocks(), left);
    EXPECT_GE(blocks() + 2, left);
    left = blocks();
  }
  EXPECT_EQ(run(text(640)), 0);
  EXPECT_EQ(run(text(640, 40)), 0);
}

// A sequence stands on its page: reclaiming takes what it can, and never that.
TEST_F(PrefixesTest, AWalkKeepsItsPage) {
  run(text(640));
  Prefixes::Walk walk;
  const auto found = prefixes_.find(text(640), false, walk);
  EXPECT_EQ(found.pages.size(), 9u);
  while (prefixes_.reclaim()) {
  }
  KvCache kv(layout_, 4096, kMaxForwardRows, pool_);
  kv.adopt(found.pages);
  ASSERT_TRUE(kv.reserve(64));
  kv.commit(64);
  prefixes_.leave(walk, text(640), text(640).prompt, kv);
  EXPECT_EQ(walk.pages(), 10);
}

// Two that compute the same beside each other: the second goes on with what the first has left, and when the first has
// gone, all that it cannot give up is the second's.
TEST_F(PrefixesTest, EqualTextsAtOnceEndUpWithOneCopy) {
  const Text same = text(640);
  const auto go_on = [&](KvCache& kv, Prefixes::Walk& walk) {
    ASSERT_TRUE(kv.reserve(64));
    kv.commit(64);
    prefixes_.leave(walk, same, same.prompt, kv);
  };
  KvCache second(layout_, 640, kMaxForwardRows, pool_);
  Prefixes::Walk second_walk;
  {
    KvCache first(layout_, 640, kMaxForwardRows, pool_);
    Prefixes::Walk first_walk;
    EXPECT_TRUE(prefixes_.find(same, false, first_walk).pages.empty());
    EXPECT_TRUE(prefixes_.find(same, false, second_walk).pages.empty());
    for (int page = 0; page < 10; ++page) {
      go_on(first, first_walk);
      go_on(second, second_walk);
      EXPECT_EQ(pool_->used_bytes(), static_cast<size_t>(page + 1) * (layout_.block_bytes[StateKind::paged] +
                                                                      layout_.block_bytes[StateKind::window]));
    }
  }
  while (prefixes_.reclaim()) {
  }
  EXPECT_EQ(pool_->used_bytes(), second.bytes());
  EXPECT_EQ(pool_->kept_bytes(), 0u);
}

// The tree has lost a page's sliding part, and gets another's; whoever stands on the page keeps its global part.
TEST_F(PrefixesTest, ASlidingPartThatComesBackChangesNothingElse) {
  const Text same = text(128);
  KvCache first(layout_, 640, kMaxForwardRows, pool_), second(layout_, 640, kMaxForwardRows, pool_);
  Prefixes::Walk first_walk, second_walk;
  EXPECT_TRUE(prefixes_.find(same, false, first_walk).pages.empty());
  EXPECT_TRUE(prefixes_.find(same, false, second_walk).pages.empty());
  for (KvCache* kv : {&first, &second}) {
    ASSERT_TRUE(kv->reserve(64));
    kv->commit(64);
  }
  prefixes_.leave(first_walk, same, same.prompt, first);
  EXPECT_TRUE(prefixes_.reclaim());
  prefixes_.leave(second_walk, same, same.prompt, second);
  EXPECT_EQ(first.page_blocks(0)[StateKind::paged].block(), second.page_blocks(0)[StateKind::paged].block());
  EXPECT_NE(first.page_blocks(0)[StateKind::window].block(), second.page_blocks(0)[StateKind::window].block());
  size_t tree_blocks = 0;
  prefixes_.visit_blocks([&](StateKind kind, const KvBlockRef& block) {
    ++tree_blocks;
    const KvCache::PageBlocks held = second.page_blocks(0);
    EXPECT_EQ(block.block(), held[kind].block());
  });
  EXPECT_EQ(tree_blocks, kPageKinds.size());
}

// Clients choose texts and scopes: neither may cost by how many there are.
TEST_F(PrefixesTest, FindingAndDroppingLooksAtNoOthers) {
  constexpr int kTexts = 500;
  Text made = text(100);
  for (int i = 0; i < kTexts; ++i) {
    made.prompt[0] = i;
    EXPECT_EQ(run(made), 0);
  }
  for (int i = 0; i < kTexts; ++i) {
    made.scope = {static_cast<uint64_t>(i) + 1, 0};
    EXPECT_EQ(run(made), 0);
  }
  EXPECT_EQ(run(made), 1);
  EXPECT_EQ(prefixes_.scopes(), size_t{kTexts} + 1);
  while (prefixes_.reclaim()) {
  }
  EXPECT_EQ(prefixes_.scopes(), 0u);
  // Of so many the place is found by halves, once to find a page and once to leave it; taking one out costs none.
  EXPECT_LE(prefixes_.looks(), 2 * kTexts * 2 * 12);
}

TEST_F(PrefixesTest, AForkSharesWholePagesAndWritesItsOwn) {
  KvCache one(layout_, 4096, kMaxForwardRows, pool_);
  ASSERT_TRUE(one.reserve(100));
  one.commit(100);
  const size_t alone = pool_->used_bytes();
  KvCache two = one.fork().value();
  EXPECT_EQ(two.length(), 100);
  EXPECT_EQ(pool_->used_bytes(),
            alone + layout_.block_bytes[StateKind::paged] + layout_.block_bytes[StateKind::window]);
  for (int32_t layer = 0; layer < 6; ++layer) {
    EXPECT_EQ(one.pages(layer).keys_of(0), two.pages(layer).keys_of(0));
    EXPECT_NE(one.pages(layer).keys_of(1), two.pages(layer).keys_of(1));
  }
}

}  // namespace
}  // namespace paceline
