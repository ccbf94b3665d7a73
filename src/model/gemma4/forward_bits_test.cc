// A row's logits and hidden state have the same bits whatever it is computed with. The oracle is plain decoding: one
// row a call, one thread. Everything else is compared with it bit by bit, along sequences that are long enough for the
// sliding layers' rings to come round.
//
// PACELINE_TEST_LONG=1 runs every table with every model, format and window.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <ostream>
#include <random>

#include "base/sanitized.h"
#include "kernels/cpu_ops.h"
#include "model/forward.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/synthetic.h"
#include "model/gemma4/tiny_config.h"

namespace paceline {
namespace {

using Tokens = std::vector<TokenId>;
// One row's logits, then its hidden state. Logits are missing where nobody asked for them.
struct RowResult {
  std::vector<float> logits, hidden;
};
using Results = std::vector<RowResult>;

bool long_form() {
  const char* value = std::getenv("PACELINE_TEST_LONG");  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string_view(value) == "1";
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The first row that differs.
testing::AssertionResult same_rows(std::span<const RowResult> got, std::span<const RowResult> want, int32_t first_pos) {
  for (size_t i = 0; i < got.size(); ++i) {
    const auto pos = first_pos + static_cast<int32_t>(i);
    if (!same_bits(got[i].hidden, want[i].hidden)) return testing::AssertionFailure() << "hidden at position " << pos;
    if (!got[i].logits.empty() && !same_bits(got[i].logits, want[i].logits))
      return testing::AssertionFailure() << "logits at position " << pos;
  }
  return testing::AssertionSuccess();
}

struct BitsCase {
  std::string model;
  int32_t window;
  WeightFormat format;
  Precision precision;
  const kernels::CpuTable* table;
  std::optional<DType> kv = {};  // none: the precision's
};

std::string name_of(const BitsCase& c) {
  std::string name = fmt::format("{}_{}{}_{}_{}", c.table->name, c.model, c.window, weight_format_name(c.format),
                                 c.precision == Precision::f32 ? "f32" : "bf16");
  if (c.kv) name += "_codes";
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void PrintTo(const BitsCase& c, std::ostream* out) { *out << name_of(c); }  // NOLINT(readability-identifier-naming)

// Rows of one sequence in one call.
struct Part {
  KvCache* kv;
  std::span<const TokenId> tokens;
};

// A model on some threads.
class Runner {
 public:
  Runner(const BitsCase& c, std::shared_ptr<const Gemma4Weights> weights, int threads)
      : pool_(threads), ops_(*c.table, pool_), forward_(std::move(weights), ops_, c.precision, c.kv) {}

  [[nodiscard]] KvCache new_kv() const { return {forward_.kv_layout(), kCapacity}; }

  // All rows' results, part after part; logits of every `logits_every`-th row.
  Results run(std::span<const Part> parts, int32_t logits_every = 1) {
    Tokens tokens;
    std::vector<SeqRows> seqs;
    for (const Part& part : parts) {
      tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
      seqs.push_back({part.kv, static_cast<int32_t>(part.tokens.size())});
    }
    std::vector<int32_t> wanted;
    for (int32_t r = 0; r < static_cast<int32_t>(tokens.size()); r += logits_every) wanted.push_back(r);
    const ForwardOutput out = forward_.run({tokens, seqs, wanted, {}});
    const auto hidden = static_cast<size_t>(forward_.config().hidden);
    const auto vocab = static_cast<size_t>(forward_.config().vocab);
    Results results(tokens.size());
    for (size_t r = 0; r < tokens.size(); ++r)
      results[r].hidden.assign(out.hidden + r * hidden, out.hidden + (r + 1) * hidden);
    for (size_t i = 0; i < wanted.size(); ++i)
      results[static_cast<size_t>(wanted[i])].logits.assign(out.logits + i * vocab, out.logits + (i + 1) * vocab);
    return results;
  }
  Results run(KvCache& kv, std::span<const TokenId> tokens) {
    const Part part{&kv, tokens};
    return run({&part, 1});
  }

 private:
  static constexpr int32_t kCapacity = 1024;
  ThreadPool pool_;
  kernels::CpuOps ops_;
  Gemma4Forward forward_;
};

// A sequence and what plain decoding makes of it.
struct Oracle {
  Tokens tokens;
  Results results;

  [[nodiscard]] int32_t length() const { return static_cast<int32_t>(tokens.size()); }
  [[nodiscard]] std::span<const TokenId> slice(int32_t first, int32_t count) const {
    return std::span(tokens).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  }
  [[nodiscard]] std::span<const RowResult> want(int32_t first, int32_t count) const {
    return std::span(results).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  }
};

class ForwardBitsTest : public testing::TestWithParam<BitsCase> {
 protected:
  ForwardBitsTest() {
    ThreadPool pool(1);
    const Gemma4Config config = tiny_config(GetParam().model, GetParam().window);
    weights_ = make_synthetic(config, {GetParam().format, GetParam().model == "dense" ? 64 : 32}, pool);
    runner_ = std::make_unique<Runner>(GetParam(), weights_, 1);
  }

  int32_t pick(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }

  Oracle decoded(int32_t length) {
    Oracle oracle;
    for (int32_t i = 0; i < length; ++i) oracle.tokens.push_back(pick(0, weights_->config.vocab - 1));
    KvCache kv = runner_->new_kv();
    for (int32_t i = 0; i < length; ++i) oracle.results.push_back(std::move(runner_->run(kv, oracle.slice(i, 1))[0]));
    return oracle;
  }

  // Runs positions kv.length() … end in chunks, each compared.
  void go_on(Runner& runner, const Oracle& oracle, KvCache& kv, int32_t end, int32_t chunk) {
    while (kv.length() < end) {
      const int32_t first = kv.length(), count = std::min(chunk, end - first);
      ASSERT_TRUE(same_rows(runner.run(kv, oracle.slice(first, count)), oracle.want(first, count), first))
          << "in chunks of " << chunk;
    }
  }

  // Runs `count` rows of which only the first `kept` have the right tokens, and takes the others back.
  void verify(Runner& runner, const Oracle& oracle, KvCache& kv, int32_t count, int32_t kept) {
    const int32_t first = kv.length();
    const auto right = oracle.slice(first, count);
    Tokens tokens(right.begin(), right.end());
    for (int32_t i = kept; i < count; ++i) {
      TokenId& token = tokens[static_cast<size_t>(i)];
      token = (token + pick(1, weights_->config.vocab - 1)) % weights_->config.vocab;
    }
    Results got = runner.run(kv, tokens);
    got.resize(static_cast<size_t>(kept));
    ASSERT_TRUE(same_rows(got, oracle.want(first, kept), first)) << count << " rows, " << kept << " kept";
    kv.truncate(first + kept);
  }

  // Several sequences side by side: any of them, in any order, with any number of rows.
  void run_company(Runner& runner, std::span<const Oracle> oracles, int32_t most_rows) {
    std::vector<KvCache> caches;
    for (size_t i = 0; i < oracles.size(); ++i) caches.push_back(runner.new_kv());
    for (;;) {
      std::vector<size_t> order;
      for (size_t i = 0; i < oracles.size(); ++i)
        if (caches[i].length() < oracles[i].length()) order.push_back(i);
      if (order.empty()) return;
      std::shuffle(order.begin(), order.end(), random_);
      if (order.size() > 1 && pick(0, 3) == 0) order.pop_back();
      std::vector<Part> parts;
      for (const size_t i : order) {
        const int32_t first = caches[i].length(), left = oracles[i].length() - first;
        const int32_t count = std::min(left, pick(0, 2) == 0 ? 1 : pick(1, most_rows));
        parts.push_back({&caches[i], oracles[i].slice(first, count)});
      }
      const Results got = runner.run(parts, pick(1, 3));
      size_t row = 0;
      for (size_t p = 0; p < parts.size(); ++p) {
        const auto count = static_cast<int32_t>(parts[p].tokens.size());
        const int32_t first = parts[p].kv->length() - count;
        ASSERT_TRUE(
            same_rows(std::span(got).subspan(row, parts[p].tokens.size()), oracles[order[p]].want(first, count), first))
            << count << " rows as part " << p << " of " << parts.size();
        row += parts[p].tokens.size();
      }
    }
  }

  // The portable table is slow and simple; what it is spared runs in the long form.
  [[nodiscard]] static bool thorough() {
    // Sanitized builds look for other faults; they take the shortest slice.
    return long_form() || (!kSanitized && GetParam().table != kernels::cpu_tables().back());
  }

  // Past the end of the rings, whose pages number (window + kMaxForwardRows) / kPageTokens and one.
  [[nodiscard]] static int32_t full_length() {
    const int32_t ring = GetParam().window + kMaxForwardRows + 2 * kPageTokens;
    return thorough() ? ring + 3 * GetParam().window + 11 : ring + 11;
  }

  std::mt19937 random_{20};
  std::shared_ptr<const Gemma4Weights> weights_;
  std::unique_ptr<Runner> runner_;
};

TEST_P(ForwardBitsTest, ChunksDoNotMatter) {
  const Oracle oracle = decoded(full_length());
  for (const int32_t chunk : {1, 7, 16, 64, kMaxForwardRows}) {
    // Where less is run: 16 and all at once are what ThreadsDoNotMatter and TakingBackLeavesNoTrace run.
    if (!thorough() && chunk != 64) continue;
    KvCache kv = runner_->new_kv();
    ASSERT_NO_FATAL_FAILURE(go_on(*runner_, oracle, kv, oracle.length(), chunk));
  }
}

TEST_P(ForwardBitsTest, TakingBackLeavesNoTrace) {
  const Oracle oracle = decoded(full_length());
  KvCache kv = runner_->new_kv();
  // Verifies of all widths, after a prompt.
  ASSERT_NO_FATAL_FAILURE(go_on(*runner_, oracle, kv, 21, 64));
  std::vector<int32_t> widths(16);
  while (kv.length() + 16 <= oracle.length()) {
    std::iota(widths.begin(), widths.end(), 1);
    std::shuffle(widths.begin(), widths.end(), random_);
    for (const int32_t width : widths) {
      if (kv.length() + width > oracle.length()) continue;
      ASSERT_NO_FATAL_FAILURE(verify(*runner_, oracle, kv, width, pick(1, width)));
    }
  }
  // As far back as it goes, and on in another stride. From here on written is the full length.
  ASSERT_NO_FATAL_FAILURE(go_on(*runner_, oracle, kv, oracle.length(), 64));
  kv.truncate(oracle.length() - kMaxForwardRows);
  ASSERT_NO_FATAL_FAILURE(go_on(*runner_, oracle, kv, oracle.length(), 13));
  // A whole forward of wrong tokens at the end of the ring.
  kv.truncate(oracle.length() - kMaxForwardRows);
  ASSERT_NO_FATAL_FAILURE(verify(*runner_, oracle, kv, kMaxForwardRows, 0));
  ASSERT_NO_FATAL_FAILURE(go_on(*runner_, oracle, kv, oracle.length(), 50));
  // To nothing.
  kv.truncate(0);
  ASSERT_NO_FATAL_FAILURE(verify(*runner_, oracle, kv, 100, 0));
  ASSERT_NO_FATAL_FAILURE(go_on(*runner_, oracle, kv, oracle.length(), kMaxForwardRows));
}

TEST_P(ForwardBitsTest, CompanyDoesNotMatter) {
  std::vector<Oracle> oracles;
  oracles.push_back(decoded(full_length()));
  for (const int32_t length : {150, 65, 9}) oracles.push_back(decoded(length));
  for (const size_t count : {2, 4}) {
    for (const int32_t most_rows : {3, 16, 60}) {
      if (!thorough() && (most_rows != 16 || count == 2)) continue;
      ASSERT_NO_FATAL_FAILURE(run_company(*runner_, std::span(oracles).first(count), most_rows));
    }
  }
}

// With more threads than cores a loop waits for whoever is not running, so: few and wide calls.
TEST_P(ForwardBitsTest, ThreadsDoNotMatter) {
  std::vector<Oracle> oracles;
  for (const int32_t length : {full_length(), 70, 33}) oracles.push_back(decoded(length));
  for (const int threads : {2, 4}) {
    if (!thorough() && threads == 2) continue;
    SCOPED_TRACE(fmt::format("{} threads", threads));
    Runner runner(GetParam(), weights_, threads);
    KvCache kv = runner.new_kv();
    ASSERT_NO_FATAL_FAILURE(go_on(runner, oracles[0], kv, 380, kMaxForwardRows));
    ASSERT_NO_FATAL_FAILURE(go_on(runner, oracles[0], kv, 388, 1));
    ASSERT_NO_FATAL_FAILURE(verify(runner, oracles[0], kv, 5, 2));
    ASSERT_NO_FATAL_FAILURE(go_on(runner, oracles[0], kv, full_length(), 16));
    ASSERT_NO_FATAL_FAILURE(run_company(runner, oracles, 60));
  }
}

constexpr struct {
  WeightFormat format;
  Precision precision;
  std::optional<DType> kv = {};
} kArithmetics[] = {{WeightFormat::bf16, Precision::bf16},
                    {WeightFormat::bf16, Precision::f32},
                    {WeightFormat::q8, Precision::bf16},
                    {WeightFormat::q4, Precision::bf16},
                    {WeightFormat::q8, Precision::f32},
                    {WeightFormat::q4, Precision::f32},
                    {WeightFormat::q8, Precision::bf16, DType::i8}};

// The usual slice leaves out what differs least: quantised weights with float32 keys, and one window of each model.
// Tables other than the best take the models with fewer formats; the portable one each model once.
bool in_short_form(const BitsCase& c) {
  const bool quantised = c.format != WeightFormat::bf16, f32 = c.precision == Precision::f32;
  const bool best = c.table == kernels::cpu_tables().front(), portable = c.table == kernels::cpu_tables().back();
  if (c.window != (c.model == "moe" ? 64 : 24) || (quantised && f32)) return false;
  if (kSanitized && !best) return false;
  if (portable || kSanitized) {
    const WeightFormat only =
        c.model == "dense" ? WeightFormat::bf16 : (c.model == "moe" ? WeightFormat::q4 : WeightFormat::q8);
    return c.format == only && (quantised || f32);
  }
  if (best) return true;
  return c.model == "dense" ? f32 || c.format == WeightFormat::q8 : quantised;
}

std::vector<BitsCase> bits_cases() {
  std::vector<BitsCase> all;
  for (const kernels::CpuTable* table : kernels::cpu_tables())
    for (const char* model : {"dense", "moe", "ple"})
      for (const int32_t window : {24, 64})
        for (const auto& [format, precision, kv] : kArithmetics) {
          const BitsCase c{model, window, format, precision, table, kv};
          if (long_form() || in_short_form(c)) all.push_back(c);
        }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, ForwardBitsTest, testing::ValuesIn(bits_cases()),
                         [](const auto& run) { return name_of(run.param); });

}  // namespace
}  // namespace paceline
