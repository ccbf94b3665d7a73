// Chances that were asked for are met, for texts that were seen before.
#include "speculate/scripted/scripted_drafter.h"

#include <gtest/gtest.h>

#include <array>

#include "base/thread_pool.h"
#include "kernels/cpu_ops.h"
#include "kernels/cpu_table.h"
#include "speculate/scripted_drafters.h"

namespace paceline {
namespace {

constexpr int32_t kVocab = 50000;

std::vector<TokenId> text(size_t tokens) {
  std::vector<TokenId> made;
  for (size_t i = 0; i < tokens; ++i)
    made.push_back(static_cast<TokenId>(random_block(3, i, 0, 0)[0] % static_cast<uint32_t>(kVocab)));
  return made;
}

TEST(ScriptedDrafterTest, HoldsAsOftenAsTheScriptSays) {
  ThreadPool pool(1);
  kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
  const std::vector<double> chances{0.8, 0.6, 0.3};
  ScriptedDrafter drafter(std::make_unique<RandomDrafter>(1, kVocab), ops, {chances, kVocab});
  const std::vector<TokenId> known = text(6000);
  const auto seen = drafter.start();
  std::array<int, 4> held{};
  const auto round = [&](size_t stand) {
    std::array<TokenId, 4> out{};
    DraftAsk ask{{std::span(known).first(stand)}, seen.get(), out};
    drafter.propose({&ask, 1});
    EXPECT_EQ(ask.drafted, 4);
    for (size_t i = 0; i < out.size() && out[i] == known[stand + i]; ++i) ++held[i];
  };
  round(100);
  EXPECT_EQ(held[0], 0) << "nobody has seen that text";
  // As steps tell it: some tokens more each time.
  for (size_t stand = 50; stand <= known.size(); stand += 50) {
    CommittedRows rows;
    rows.state = seen.get();
    rows.standing = std::span(known).first(stand);
    drafter.committed({&rows, 1}, {});
  }
  constexpr int kRounds = 5000;
  for (int i = 0; i < kRounds; ++i) round(20 + static_cast<size_t>(i));
  for (size_t i = 0; i < chances.size(); ++i) EXPECT_NEAR(held[i], chances[i] * kRounds, 0.03 * kRounds) << i;
  EXPECT_EQ(held[3], 0) << "beyond the script nothing holds";
}

TEST(ScriptedDrafterTest, ReadsScripts) {
  EXPECT_TRUE(is_scripted("scripted:1"));
  EXPECT_FALSE(is_scripted("ngram"));
  EXPECT_EQ(*read_script("scripted:0.80,0.68,.57"), (std::vector<double>{0.80, 0.68, 0.57}));
  for (const char* wrong : {"scripted:", "scripted:0.8,", "scripted:1.1", "scripted:0.5,0.6", "scripted:a",
                            "scripted:-1", "scripted:nan", "scripted:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"})
    EXPECT_FALSE(read_script(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace paceline
