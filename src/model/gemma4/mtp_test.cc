// The MTP drafter's proposals: alone or with others, after tokens were taken back, from quantised weights. What it
// proposes is compared with the reference's in session/goldens_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/cpu_ops.h"
#include "model/changed_checkpoint.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/load_gemma4.h"
#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/mtp_forward.h"
#include "model/quantize.h"

namespace paceline {
namespace {

constexpr int32_t kDepth = 7;
using Drafts = std::vector<TokenId>;

// Source text like that which the goldens were trained on, without end.
std::vector<TokenId> source_tokens(int32_t count) {
  constexpr std::string_view kText =
      "def parse_line(self, line):\n    if line is None:\n        return None\n    for name in self.names:\n"
      "        self.values[name] = line.split(',')\n    return self.values\n\n";
  std::vector<TokenId> tokens{2};
  while (static_cast<int32_t>(tokens.size()) < count)
    tokens.push_back(128 + static_cast<unsigned char>(kText[tokens.size() % kText.size()]));
  return tokens;
}

std::shared_ptr<const MtpWeights> load_drafter(const std::filesystem::path& folder) {
  ThreadPool pool(1);
  auto weights = load_mtp(folder, pool);
  EXPECT_TRUE(weights.ok()) << (weights.ok() ? "" : weights.error().message);
  return weights.value();
}

// A golden's target and drafter on one table.
struct Pair {
  ThreadPool pool{2};
  kernels::CpuOps ops;
  Gemma4Forward forward;
  MtpForward drafter;

  Pair(const std::string& golden, const kernels::CpuTable& table, Precision precision,
       std::shared_ptr<const MtpWeights> weights = nullptr)
      : ops(table, pool),
        forward(load_gemma4(kGoldens + golden + "/target", pool).value().weights, ops, precision),
        drafter(weights ? weights : load_drafter(kGoldens + golden + "/assistant"), as_gemma4(forward.weights()), ops,
                precision) {}

  Drafts propose(const MtpContext& at, int32_t depth = kDepth) {
    Drafts drafts(static_cast<size_t>(depth), -1);
    drafter.propose(at, depth, drafts.data());
    return drafts;
  }
};

// A sequence in which some tokens stand; others may follow.
struct Standing {
  std::vector<TokenId> tokens;
  KvCache kv;
  std::vector<float> hidden;

  // skip: so many tokens of the text are left out, for sequences that differ.
  Standing(Forward& forward, int32_t length, int32_t skip = 0)
      : tokens(source_tokens(length + skip + kMaxForwardRows)), kv(forward.kv_layout(), length + kMaxForwardRows) {
    tokens.erase(tokens.begin() + 1, tokens.begin() + 1 + skip);
    grow(forward, length);
  }

  void grow(Forward& forward, int32_t length) {
    const auto width = static_cast<size_t>(forward.config().hidden);
    while (kv.length() < length - 1) {
      const int32_t rows = std::min(length - 1 - kv.length(), kMaxForwardRows);
      const SeqRows seq{&kv, rows};
      const auto some = std::span(tokens).subspan(static_cast<size_t>(kv.length()), static_cast<size_t>(rows));
      const float* last = forward.run({some, {&seq, 1}, {}, {}}).hidden + static_cast<size_t>(rows - 1) * width;
      hidden.assign(last, last + width);
    }
  }

  [[nodiscard]] MtpContext context() const { return {&kv, tokens[static_cast<size_t>(kv.length())], hidden.data()}; }
};

struct MtpCase {
  std::string golden;
  const kernels::CpuTable* table;
  Precision precision;
};

std::string name_of(const MtpCase& one) {
  std::string name = one.golden + "_" + one.table->name + (one.precision == Precision::f32 ? "_f32" : "_bf16");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// What gtest shows of a parameter; without it, its bytes.
// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const MtpCase& one, std::ostream* out) { *out << name_of(one); }

std::vector<MtpCase> all_cases() {
  std::vector<MtpCase> cases;
  for (const kernels::CpuTable* table : kernels::cpu_tables())
    for (const char* golden : {"dense", "moe", "ple"})
      for (const Precision precision : {Precision::f32, Precision::bf16}) cases.push_back({golden, table, precision});
  return cases;
}

class Mtp : public testing::TestWithParam<MtpCase> {
 protected:
  Pair pair_{GetParam().golden, *GetParam().table, GetParam().precision};
};

INSTANTIATE_TEST_SUITE_P(All, Mtp, testing::ValuesIn(all_cases()), [](const auto& one) { return name_of(one.param); });

// Around the window's length (16), a page's (64) and the ring's (384).
constexpr int32_t kLengths[] = {2, 15, 17, 18, 64, 65, 66, 129, 385, 500};

TEST_P(Mtp, SeveralSequencesGetWhatEachGetsAlone) {
  std::vector<Standing> seqs;
  seqs.reserve(std::size(kLengths));
  for (const int32_t length : kLengths) seqs.emplace_back(pair_.forward, length, length % 5);
  std::vector<Drafts> together;
  std::vector<MtpProposal> proposals;
  for (size_t i = 0; i < seqs.size(); ++i) together.emplace_back((i * 3) % 8, -1);
  for (size_t i = 0; i < seqs.size(); ++i)
    proposals.push_back({seqs[i].context(), static_cast<int32_t>(together[i].size()), together[i].data()});
  pair_.drafter.propose(proposals);
  for (size_t i = 0; i < seqs.size(); ++i) {
    const Drafts alone = pair_.propose(seqs[i].context());
    EXPECT_EQ(together[i], Drafts(alone.begin(), alone.begin() + static_cast<std::ptrdiff_t>(together[i].size())))
        << "sequence of " << kLengths[i];
  }
}

TEST_P(Mtp, TokensTakenBackLeaveNoTrace) {
  for (const int32_t length : {30, 64, 390}) {
    Standing seq(pair_.forward, length);
    const Drafts clean = pair_.propose(seq.context());
    const std::vector<float> hidden = seq.hidden;
    for (int32_t i = 0; i < 40; ++i) seq.tokens[static_cast<size_t>(length + i)] = 128 + i % 100;
    seq.grow(pair_.forward, length + 40);
    seq.kv.truncate(length - 1);
    seq.hidden = hidden;
    EXPECT_EQ(pair_.propose(seq.context()), clean) << length;
  }
}

TEST_P(Mtp, NoDepthNoDrafts) {
  const Standing seq(pair_.forward, 20);
  EXPECT_TRUE(pair_.propose(seq.context(), 0).empty());
  pair_.drafter.propose({});
}

// Written into a scratch folder and loaded again.
std::shared_ptr<const MtpWeights> changed(const ChangedCheckpoint& checkpoint) {
  const ScratchFolder folder;
  checkpoint.write(folder);
  return load_drafter(folder.path());
}

// With all clusters scored, the order of the vocabulary does not matter.
TEST(MtpOrdered, EveryClusterIsTheWholeVocabulary) {
  ChangedCheckpoint all("ple/assistant"), plain("ple/assistant");
  replace(all.config, "\"centroid_intermediate_top_k\": 8", "\"centroid_intermediate_top_k\": 32");
  replace(plain.config, "\"use_ordered_embeddings\": true", "\"use_ordered_embeddings\": false");
  plain.erase("masked_embedding.centroids.weight");
  plain.erase("masked_embedding.token_ordering");
  for (const kernels::CpuTable* table : kernels::cpu_tables()) {
    Pair a("ple", *table, Precision::f32, changed(all)), b("ple", *table, Precision::f32, changed(plain));
    for (const int32_t length : {20, 40, 60, 80, 100}) {
      const Standing seq_a(a.forward, length), seq_b(b.forward, length);
      EXPECT_EQ(a.propose(seq_a.context()), b.propose(seq_b.context())) << table->name << ", length " << length;
    }
  }
}

TEST(MtpOrdered, OfEqualTokensTheLowest) {
  for (const bool ordered : {true, false}) {
    ChangedCheckpoint checkpoint(ordered ? "ple/assistant" : "dense/assistant");
    if (ordered)
      replace(checkpoint.config, "\"centroid_intermediate_top_k\": 8", "\"centroid_intermediate_top_k\": 32");
    auto& embedding = checkpoint.at("model.embed_tokens.weight").bytes;
    std::fill(embedding.begin(), embedding.end(), std::byte{0});
    Pair pair(ordered ? "ple" : "dense", *kernels::cpu_tables()[0], Precision::f32, changed(checkpoint));
    const Standing seq(pair.forward, 30);
    EXPECT_EQ(pair.propose(seq.context()), Drafts(kDepth, 0)) << ordered;
  }
}

// Not a number anywhere still gives tokens of the vocabulary.
TEST(MtpOrdered, NotANumberGivesAToken) {
  for (const char* golden : {"dense", "ple"}) {
    Pair pair(golden, *kernels::cpu_tables()[0], Precision::f32);
    Standing seq(pair.forward, 30);
    std::fill(seq.hidden.begin(), seq.hidden.end(), std::numeric_limits<float>::quiet_NaN());
    for (const TokenId id : pair.propose(seq.context())) {
      EXPECT_GE(id, 0);
      EXPECT_LT(id, 384);
    }
  }
}

// Eight bits move scores a little: most drafts stay.
TEST(MtpQuantised, ProposesAlmostTheSame) {
  for (const char* golden : {"dense", "moe", "ple"}) {
    const ScratchFolder folder;
    ThreadPool pool(2);
    const auto out = folder.path() / "q8";
    ASSERT_TRUE(quantize_checkpoint(kGoldens + golden + "/assistant", out, {8, 32}, pool).ok());
    const auto weights = load_drafter(out);
    EXPECT_EQ(weights->layers[0].q.format, WeightFormat::q8);
    EXPECT_EQ(weights->post_projection.format, WeightFormat::q8);
    EXPECT_EQ((weights->head.present() ? weights->head : weights->clusters.first).format, WeightFormat::q8);
    EXPECT_LT(weights->total_bytes(), load_drafter(kGoldens + golden + "/assistant")->total_bytes());
    for (const kernels::CpuTable* table : kernels::cpu_tables()) {
      Pair plain(golden, *table, Precision::f32), quantised(golden, *table, Precision::f32, weights);
      int same = 0, all = 0;
      Standing seq(plain.forward, 20);
      for (int32_t length = 20; length < 180; length += 4) {
        seq.grow(plain.forward, length);
        const Drafts a = plain.propose(seq.context()), b = quantised.propose(seq.context());
        same += static_cast<int>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
        all += kDepth;
      }
      std::printf("%s on %s: of %d drafts %d are the same with 8 bits\n", golden, table->name, all, same);
      EXPECT_GE(same * 10, all * 8);
    }
  }
}

}  // namespace
}  // namespace paceline
