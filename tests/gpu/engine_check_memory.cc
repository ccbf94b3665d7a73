// The device's memory, dealt out to the last block: what was promised is there, and steps run beside it.
#include <algorithm>
#include <vector>

#include "engine_check.h"
#include "session/kv_size.h"
#include "session/largest_steps.h"

namespace paceline::gpu {
namespace {

constexpr int32_t kLong = 100'000;

double gigabytes(size_t bytes) { return static_cast<double>(bytes) / 1e9; }

// As far as the pool lets it, up to so many positions.
bool grow(KvCache& kv, int32_t length) {
  while (kv.length() < length) {
    const int32_t rows = std::min(kMaxForwardRows, length - kv.length());
    if (!kv.reserve(rows)) return false;
    kv.commit(rows);
  }
  return true;
}

// Sequences of unlike lengths until there is no block left; every third is given back once and its place filled by
// others.
std::vector<KvCache> fill(const KvLayout& layout, const std::shared_ptr<KvBlockPool>& pool) {
  std::vector<KvCache> held;
  uint32_t chance = 1;
  for (const bool again : {false, true}) {
    for (int32_t longest = 60'000; longest > 0; longest /= 2)
      for (bool fits = true; fits;) {
        chance = chance * 1664525u + 1013904223u;
        KvCache kv(layout, longest + kMaxForwardRows, kMaxForwardRows, pool);
        fits = grow(kv, 1 + static_cast<int32_t>((chance >> 8) % static_cast<uint32_t>(longest)));
        if (fits || longest == 1) held.push_back(std::move(kv));
      }
    if (again) break;
    std::vector<KvCache> stay;
    for (size_t i = 0; i < held.size(); ++i)
      if (i % 3 != 0) stay.push_back(std::move(held[i]));
    held = std::move(stay);
  }
  return held;
}

// A token for each of those that have room for one. Milliseconds of the second time.
double step(Forward& forward, std::span<KvCache* const> caches) {
  std::vector<SeqRows> seqs;
  std::vector<int32_t> logit_rows;
  for (KvCache* kv : caches) {
    logit_rows.push_back(static_cast<int32_t>(seqs.size()));
    seqs.push_back({kv, 1});
  }
  const std::vector<TokenId> tokens(seqs.size(), 1);
  double ms = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begin = Clock::now();
    (void)forward.run({tokens, seqs, logit_rows, {}});
    ms = ms_since(begin);
    for (KvCache* kv : caches) kv->truncate(kv->length() - 1);
  }
  return ms;
}

void check_long_sequences(Machine& m, Checks& checks, Forward& forward, const std::shared_ptr<KvBlockPool>& pool) {
  std::vector<KvCache> held;
  for (bool fits = true; fits;) {
    KvCache kv(forward.kv_layout(), kLong + 1, kMaxForwardRows, pool);
    fits = grow(kv, kLong);
    if (fits) held.push_back(std::move(kv));
  }
  std::vector<KvCache*> some;
  for (KvCache& kv : held)
    if (some.size() < 256) some.push_back(&kv);
  if (held.size() < 256 && !held.empty()) {
    // The last one's pages are room for a token of each of the others.
    some.pop_back();
    held.pop_back();
  }
  const double ms = some.empty() ? 0 : step(forward, some);
  std::printf("  %zu sequences of %d tokens beside it; a step of all of them %.1f ms\n", some.size(), kLong, ms);
  expect_fine(m, checks, "a step of long sequences");
}

}  // namespace

void check_memory(Machine& m, Checks& checks, const Subject& subject) {
  const std::unique_ptr<Forward> made = subject.forward(*m.ops);
  Forward& forward = *made;
  const std::unique_ptr<Drafter> drafter = subject.drafter(forward);
  EngineSettings settings;
  settings.chunk_rows = kMostForwardRows;
  const Status ran = run_largest_steps({&forward, drafter.get(), nullptr}, settings);
  checks.expect(ran.ok(), subject.name + ": the largest steps run" + (ran.ok() ? "" : ": " + ran.error().message));
  const size_t before = m.ops->free_bytes(), budget = automatic_kv_bytes(forward, settings);
  const auto pool = std::make_shared<KvBlockPool>(forward.kv_layout().blocks, budget);
  checks.expect(!pool->arena().is_missing(), subject.name + ": the budget is there");
  std::vector<KvCache> held = fill(forward.kv_layout(), pool);
  const size_t used = pool->used_bytes();
  std::vector<KvCache*> with_room;
  for (KvCache& kv : held)
    if (kv.room() > 0 && with_room.size() < static_cast<size_t>(settings.batch_rows)) with_room.push_back(&kv);
  const double ms = with_room.empty() ? 0 : step(forward, with_room);
  expect_fine(m, checks, subject.name + ": a step with memory full");
  const size_t taken = before - m.ops->free_bytes();
  std::printf(
      "%-24s budget %.2f GB: %zu sequences hold %.4f of it, the device gave %.4f of it; a step of %zu %.1f ms\n",
      subject.name.c_str(), gigabytes(budget), held.size(), gigabytes(used) / gigabytes(budget),
      gigabytes(taken) / gigabytes(budget), with_room.size(), ms);
  checks.expect(static_cast<double>(used) >= 0.999 * static_cast<double>(budget), subject.name + ": all is dealt out");
  checks.expect(static_cast<double>(taken) <= 1.005 * static_cast<double>(budget),
                subject.name + ": no more is taken than was said");
  held.clear();
  checks.expect(pool->used_bytes() == 0, subject.name + ": all came back");
  check_long_sequences(m, checks, forward, pool);
}

}  // namespace paceline::gpu
