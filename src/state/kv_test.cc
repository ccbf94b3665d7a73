#include "state/kv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "kernels/cpu_ops.h"
#include "state/states_for_tests.h"

namespace paceline {
namespace {

TEST(KvLayoutTest, SharedLayersPointAtTheirOwner) {
  const KvLayout layout(tiny_state("ple", 24), DType::bf16);
  ASSERT_EQ(layout.layers.size(), 6u);
  EXPECT_EQ(layout.owners, 3);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(layout.layers[i].owns, i < 3) << i;
  // Window layers 3 and 4 read layer 1, the last before them; paged layer 5 reads layer 2.
  const int32_t owners[] = {0, 1, 2, 1, 1, 2};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(layout.layers[i].owner, owners[i]) << i;
  EXPECT_EQ(layout.layers[5].kind, StateKind::paged);
}

// dense: four window layers of 2 KV heads of 32, two paged ones of 1 of 64.
TEST(KvLayoutTest, Bytes) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const KvLayout layout(tiny_state("dense", 24), dtype);
    const size_t element = dtype_bytes(dtype);
    EXPECT_EQ(layout.bytes_per_token(), 2u * 2 * 64 * element);
    EXPECT_EQ(layout.window_bytes(), 4u * 2 * 2 * 32 * 24 * element);
    EXPECT_EQ(layout.ring_bytes(), 4u * 2 * 2 * 32 * kPageTokens * element * static_cast<size_t>(layout.ring_pages));
    EXPECT_EQ(layout.layers[0].page_bytes, 2u * 32 * kPageTokens * element);
  }
  // Shared layers take nothing.
  EXPECT_EQ(KvLayout(tiny_state("ple", 24), DType::bf16).bytes_per_token(), 2u * 64 * 2);
}

// Positions that are as many apart as the ring is long share a place. What a row sees must not have been written over
// by rows that were taken back since: the window before it, and kMaxForwardRows from it on.
TEST(KvLayoutTest, RingHoldsWindowAndForward) {
  for (const int32_t window : {1, 2, 24, 63, 64, 65, 66, 512, 1000, 1024})
    EXPECT_GE(KvLayout(tiny_state("dense", window), DType::bf16).ring_pages * kPageTokens,
              window - 1 + kMaxForwardRows);
}

TEST(KvCacheTest, MemoryGrowsByPagesAndStaysWhenTakenBack) {
  const KvLayout layout(tiny_state("dense", 24), DType::bf16);
  KvCache kv(layout, 1000);
  EXPECT_EQ(kv.bytes(), 0u);
  EXPECT_EQ(kv.capacity(), 1000);
  // Of the window from the first page that is seen from where rows begin, or would if the most were taken back.
  const auto expected = [&](int32_t length, int32_t rows) {
    const int32_t pages = (length + rows + kPageTokens - 1) / kPageTokens;
    const int32_t first = layout.first_page_seen(std::min(length, std::max(0, length + rows - kMaxForwardRows)));
    size_t bytes = 0;
    for (const KvLayout::Layer& layer : layout.layers)
      bytes += 2 * layer.page_bytes * static_cast<size_t>(layer.kind == StateKind::paged ? pages : pages - first);
    return bytes;
  };
  for (const int32_t step : {1, 62, 1, 1, 200, 256, 256, 200, 23}) {
    const size_t bytes = expected(kv.length(), step);
    ASSERT_TRUE(kv.reserve(step));
    EXPECT_EQ(kv.bytes(), bytes);
    kv.commit(step);
    EXPECT_EQ(kv.bytes(), bytes);
  }
  EXPECT_EQ(kv.length(), 1000);
  const size_t full = kv.bytes();
  kv.truncate(900);
  EXPECT_EQ(kv.length(), 900);
  ASSERT_TRUE(kv.reserve(100));
  EXPECT_EQ(kv.bytes(), full);
  // What grows stays for the next text, the window goes.
  kv.truncate(0);
  ASSERT_TRUE(kv.reserve(1));
  EXPECT_EQ(kv.bytes(), expected(0, 1) + 15 * layout.block_bytes[StateKind::paged]);
}

// Who gives everything up has nothing, and what it takes again is zero.
TEST(KvCacheTest, AllIsGivenUpAtOnce) {
  const KvLayout layout(tiny_state("dense", 24), DType::bf16);
  const auto pool = std::make_shared<KvBlockPool>(layout.blocks, layout.sequence_bytes(1000, kMaxForwardRows));
  KvCache kv(layout, 1000, kMaxForwardRows, pool);
  for (int turn = 0; turn < 2; ++turn) {
    for (const int32_t rows : {256, 256, 200}) {
      ASSERT_TRUE(kv.reserve(rows));
      kv.commit(rows);
    }
    EXPECT_EQ(kv.room(), 768 - 712);
    for (const int32_t layer : {0, 2}) {
      auto* key = static_cast<uint16_t*>(kv.pages(layer).keys_of(10));
      EXPECT_EQ(*key, 0);
      *key = 7;
    }
    kv.release();
    EXPECT_EQ(kv.length(), 0);
    EXPECT_EQ(kv.room(), 0);
    EXPECT_EQ(kv.bytes(), 0u);
    EXPECT_EQ(pool->used_bytes(), 0u);
  }
}

void grow(KvCache& kv, int32_t count) {
  ASSERT_TRUE(kv.reserve(count));
  kv.commit(count);
}

// A pool that is full to the last byte: a ring goes round in it, also where others keep what it leaves behind, as long
// as they give it up when asked.
TEST(KvCacheTest, ARingThatWrapsNeedsNoMoreThanItsSlots) {
  const KvLayout layout(tiny_state("dense", 24), DType::bf16);
  const int32_t positions = 40 * kPageTokens;
  const auto pool = std::make_shared<KvBlockPool>(layout.blocks, layout.sequence_bytes(positions, kMaxForwardRows));
  std::vector<KvBlockRef> kept;  // the oldest first
  pool->arena().set_reclaim([&] {
    if (kept.empty()) return false;
    kept.erase(kept.begin());
    return true;
  });
  KvCache kv(layout, positions, kMaxForwardRows, pool);
  for (int32_t page = 0; page < 40; ++page) {
    SCOPED_TRACE(testing::Message() << "page " << page);
    ASSERT_NO_FATAL_FAILURE(grow(kv, kPageTokens));
    kept.push_back(kv.page_blocks(page)[StateKind::window]);
    ASSERT_LE(pool->used_bytes(), pool->capacity_bytes());
  }
}

// Nobody promised that there is enough: it is said, and nothing ends.
TEST(KvCacheTest, AFullPoolSaysSo) {
  const KvLayout layout(tiny_state("dense", 24), DType::bf16);
  const auto pool =
      std::make_shared<KvBlockPool>(layout.blocks, layout.sequence_bytes(3 * kPageTokens, kMaxForwardRows));
  KvCache kv(layout, 1000, kMaxForwardRows, pool);
  EXPECT_FALSE(kv.reserve(256));
  {
    KvCache other(layout, 1000, kMaxForwardRows, pool);
    EXPECT_FALSE(other.reserve(1));
  }
  grow(kv, 180);
  EXPECT_FALSE(kv.fork().has_value());
  EXPECT_EQ(kv.length(), 180);
  EXPECT_EQ(pool->used_bytes(), pool->capacity_bytes());
}

// As if there were no drafter, and so do those that part from it.
TEST(KvCacheTest, WithoutADraftersLayersItTakesWhatThePlainOneTakes) {
  const ModelState state = tiny_state("dense", 24);
  const KvLayout plain(state, DType::bf16), layout(with_draft_layers(state, 100), DType::bf16);
  const size_t bytes = layout.sequence_bytes(1000, kMaxForwardRows, false);
  EXPECT_EQ(bytes, plain.sequence_bytes(1000, kMaxForwardRows));
  EXPECT_LT(bytes, layout.sequence_bytes(1000, kMaxForwardRows));
  const auto pool = std::make_shared<KvBlockPool>(layout.blocks, bytes);
  KvCache kv(layout, 1000, kMaxForwardRows, pool, false);
  for (const int32_t rows : {256, 256, 256, 232}) {
    ASSERT_TRUE(kv.reserve(rows));
    kv.commit(rows);
  }
  kv.visit_blocks([](StateKind kind, const KvBlockRef&) { EXPECT_FALSE(is_drafters(kind)); });
  EXPECT_LE(pool->used_bytes(), bytes);
  KvCache other(layout, 100, kMaxForwardRows, std::make_shared<KvBlockPool>(layout.blocks, 3 * bytes), false);
  ASSERT_TRUE(other.reserve(70));
  other.commit(70);
  const auto forked = other.fork();
  ASSERT_TRUE(forked.has_value());
  EXPECT_EQ(forked->bytes(), other.bytes());
  EXPECT_EQ(other.bytes(), layout.sequence_bytes(100, kMaxForwardRows, false));
}

TEST(KvCacheTest, PagesAreAlignedAndZeroed) {
  const KvLayout layout(tiny_state("dense", 24), DType::bf16);
  KvCache kv(layout, 300);
  ASSERT_TRUE(kv.reserve(200));
  for (int32_t layer = 0; layer < 6; ++layer) {
    const kernels::KvPages pages = kv.pages(layer);
    const bool grows_on = layout.layers[static_cast<size_t>(layer)].kind == StateKind::paged;
    EXPECT_EQ(pages.slots, grows_on ? 0 : layout.ring_pages_for(kMostForwardRows));
    for (int32_t page = 0; page < 4; ++page)
      for (const void* which : {pages.keys_of(page), pages.values_of(page)}) {
        const auto* bytes = static_cast<const unsigned char*>(which);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes) % 64, 0u);
        for (size_t i = 0; i < layout.layers[static_cast<size_t>(layer)].page_bytes; ++i) ASSERT_EQ(bytes[i], 0);
      }
  }
}

// Whatever becomes of sequences: pages that once had a stamp have the same numbers whenever they have it again; and
// while none is taken, the stamp stays.
TEST(KvCacheTest, AStampTellsWhichNumbers) {
  ThreadPool threads(1);
  kernels::CpuOps ops(*kernels::cpu_tables().front(), threads);
  const KvLayout layout(tiny_state("dense", 24), DType::bf16, &ops);
  constexpr int32_t kCapacity = 2000;
  const auto pool = std::make_shared<KvBlockPool>(layout.blocks, 4 * layout.sequence_bytes(kCapacity, kMaxForwardRows));
  std::map<uint64_t, std::vector<int32_t>> seen;
  const auto look = [&](const KvCache& kv) {
    for (const int32_t layer : {0, 2}) {
      const kernels::KvPages pages = kv.pages(layer);
      const int32_t held = (kv.length() + kPageTokens - 1) / kPageTokens;
      const int32_t slots = pages.slots == 0 ? held : std::min(held, pages.slots);
      const std::vector<int32_t> now(pages.numbers, pages.numbers + slots * pages.block_units);
      if (now.empty()) continue;
      EXPECT_NE(pages.stamp, 0u);
      std::vector<int32_t>& before = seen[pages.stamp];
      const auto both = static_cast<std::ptrdiff_t>(std::min(now.size(), before.size()));
      EXPECT_TRUE(std::equal(now.begin(), now.begin() + both, before.begin()));
      if (now.size() > before.size()) before = now;
    }
  };
  KvCache kv(layout, kCapacity, kMaxForwardRows, pool);
  std::mt19937 random(7);
  for (int step = 0; step < 2000; ++step) {
    const auto count = static_cast<int32_t>(1 + random() % 100);
    const uint32_t what = random() % 16;
    if (kv.length() + count > kCapacity || what == 0) what % 2 == 0 ? kv.truncate(0) : kv.release();
    if (what == 1 && kv.length() > 50) kv.truncate(kv.length() - 50);
    if (what == 2) {
      std::optional<KvCache> other = kv.fork();
      ASSERT_TRUE(other.has_value());
      look(*other);
      kv = std::move(*other);
    }
    const uint64_t before = kv.pages(2).stamp;
    const bool has_room = kv.room() >= count;
    ASSERT_TRUE(kv.reserve(count));
    if (has_room) {
      EXPECT_EQ(kv.pages(2).stamp, before);
    }
    kv.commit(count);
    look(kv);
  }
  EXPECT_GT(seen.size(), 500u);
}

TEST(KvCacheDeathTest, RefusesWhatItCannotHold) {
  const KvLayout layout(tiny_state("dense", 24), DType::bf16);
  KvCache kv(layout, 600);
  EXPECT_DEATH((void)KvCache(layout, 4000).reserve(kMostForwardRows + 1), "CHECK failed");
  EXPECT_DEATH(KvCache(layout, 600, kMostForwardRows + 1), "CHECK failed");
  for (const int32_t step : {256, 256, 80}) {
    ASSERT_TRUE(kv.reserve(step));
    kv.commit(step);
  }
  EXPECT_DEATH((void)kv.reserve(9), "CHECK failed");
  EXPECT_DEATH(kv.truncate(593), "CHECK failed");
  EXPECT_DEATH(kv.truncate(-1), "CHECK failed");
  EXPECT_DEATH(kv.truncate(592 - kMaxForwardRows - 1), "CHECK failed");
  // The limit counts from the longest the sequence has been, however often it is taken back.
  kv.truncate(592 - kMaxForwardRows);
  EXPECT_DEATH(kv.truncate(592 - kMaxForwardRows - 1), "CHECK failed");
}

// Many rows at once hold the window and themselves; the next one holds what the window needs again.
TEST(KvCacheTest, WhatManyRowsTookOfTheWindowGoesBack) {
  const KvLayout layout(tiny_state("dense", 24), DType::bf16);
  KvCache kv(layout, 5000, kMostForwardRows);
  const auto window_pages = [&] {
    int32_t count = 0;
    kv.visit_blocks([&](StateKind kind, const KvBlockRef&) { count += kind == StateKind::window ? 1 : 0; });
    return count;
  };
  for (int turn = 0; turn < 2; ++turn) {
    grow(kv, kMostForwardRows);
    EXPECT_GE(window_pages() * kPageTokens, kMostForwardRows);
    EXPECT_LE(window_pages(), layout.ring_pages_for(kMostForwardRows));
    grow(kv, 1);
    EXPECT_LE(window_pages(), layout.ring_pages);
  }
}

// A stand-in for forward: writes a stamp where a key and a value would lie, and knows what each position should hold.
class Stamps {
 public:
  // drafts: whether it has a drafter's layers.
  explicit Stamps(KvCache& kv, bool drafts = true) : kv_(kv), drafts_(drafts) {}

  void append(int32_t count) {
    ASSERT_TRUE(kv_.reserve(count));
    for (int32_t pos = kv_.length(); pos < kv_.length() + count; ++pos) {
      const auto stamp = static_cast<float>(++last_);
      stamps_.resize(static_cast<size_t>(pos));
      stamps_.push_back(stamp);
      for (int32_t layer = 0; layer < layers(); ++layer)
        if (has(layer) && kv_.layout().layers[static_cast<size_t>(layer)].owns)
          *key(layer, pos) = *value(layer, pos) = stamp;
    }
    kv_.commit(count);
  }

  // Everything that the next row may see.
  void check() const {
    const int32_t next = kv_.length();
    for (int32_t layer = 0; layer < layers(); ++layer) {
      if (!has(layer)) continue;
      const StateKind kind = kv_.layout().layers[static_cast<size_t>(layer)].kind;
      for (int32_t pos = grows(kind) ? 0 : std::max(0, next - kv_.layout().window_of(kind) + 1); pos < next; ++pos) {
        ASSERT_EQ(*key(layer, pos), stamps_[static_cast<size_t>(pos)]) << "layer " << layer << " position " << pos;
        ASSERT_EQ(*value(layer, pos), stamps_[static_cast<size_t>(pos)]) << "layer " << layer << " position " << pos;
      }
    }
  }

 private:
  [[nodiscard]] int32_t layers() const { return static_cast<int32_t>(kv_.layout().layers.size()); }
  [[nodiscard]] bool has(int32_t layer) const {
    return drafts_ || !is_drafters(kv_.layout().layers[static_cast<size_t>(layer)].kind);
  }
  [[nodiscard]] float* key(int32_t layer, int32_t pos) const {
    const kernels::KvPages pages = kv_.pages(layer);
    return static_cast<float*>(pages.keys_of(pos / kPageTokens)) +
           static_cast<int64_t>(pos % kPageTokens) * kv_.layout().layers[static_cast<size_t>(layer)].head_dim;
  }
  [[nodiscard]] float* value(int32_t layer, int32_t pos) const {
    const kernels::KvPages pages = kv_.pages(layer);
    return static_cast<float*>(pages.values_of(pos / kPageTokens)) + pos % kPageTokens;
  }

  KvCache& kv_;
  bool drafts_;
  std::vector<float> stamps_;
  int last_ = 0;
};

TEST(KvCacheTest, TruncateIsExactOnEveryStateKind) {
  std::mt19937 random(3);
  const auto pick = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  for (const char* model : {"dense", "ple"})
    for (const int32_t window : {1, 24, 64, 65, 200}) {
      // A drafter beside it that sees further, or less far; or whose layers it does without.
      const KvLayout layout(with_draft_layers(tiny_state(model, window), 265 - window), DType::f32);
      const bool drafts = window != 65;
      KvCache kv(layout, 9000, kMostForwardRows, nullptr, drafts);
      Stamps stamps(kv, drafts);
      for (int32_t longest = 0, step = 0; step < 60 && kv.length() + kMostForwardRows <= 9000; ++step) {
        SCOPED_TRACE(testing::Message() << model << " window " << window << " step " << step);
        const int32_t many = pick(0, 9) == 0 ? kMostForwardRows : kMaxForwardRows;
        ASSERT_NO_FATAL_FAILURE(stamps.append(pick(0, 3) == 0 ? many : pick(1, 100)));
        longest = std::max(longest, kv.length());
        ASSERT_NO_FATAL_FAILURE(stamps.check());
        const int32_t furthest = std::max(0, longest - kMaxForwardRows);
        if (step == 30) {
          kv.truncate(0);
          longest = 0;
        } else if (pick(0, 1) == 0) {
          kv.truncate(pick(0, 2) == 0 ? furthest : pick(furthest, kv.length()));
          // To nothing is a fresh start.
          if (kv.length() == 0) longest = 0;
        }
        ASSERT_NO_FATAL_FAILURE(stamps.check());
      }
    }
}

}  // namespace
}  // namespace paceline
