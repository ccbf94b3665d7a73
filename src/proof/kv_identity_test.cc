// Within one format of keys and values a text is the same bytes: with any drafts, in any company, for any chunks of the
// prompt and any number of threads, from kept pages or not, and however often it gives way. What each gets alone is
// computed by a forward of its own on one thread, without drafts. PACELINE_TEST_LONG=1: more than 200,000 tokens.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/load_identity.h"
#include "proof/long_form_for_tests.h"
#include "session/found_drafter.h"
#include "session/text_model.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {
namespace {

struct KvFormatCase {
  const char* name;
  KvFormats formats;
};

KvFormats apart(DType dtype) {
  KvFormats formats = dtype;
  formats.joined = false;
  return formats;
}

std::vector<KvFormatCase> format_cases() {
  return {{"bf16", apart(DType::bf16)},
          {"joined", DType::bf16},
          {"q8", {DType::i8, DType::bf16}},
          {"q8_sliding", DType::i8}};
}

struct IdentityCase {
  std::string model;  // a golden, or the one that ships with the program
  KvFormatCase format;
};

// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const IdentityCase& c, std::ostream* out) { *out << c.model << " " << c.format.name; }

std::filesystem::path model_folder(const std::string& name) {
  const std::filesystem::path source = PACELINE_SOURCE_DIR;
  return name == "shipped" ? source / "models/default" : source / "tests/goldens" / name / "target";
}

std::filesystem::path drafter_folder(const std::string& name) {
  const std::filesystem::path source = PACELINE_SOURCE_DIR;
  return name == "shipped" ? source / "models/default/assistant" : source / "tests/goldens" / name / "assistant";
}

enum class Drafts : uint8_t { none, policy, mtp, lookup };

// One cell: how the engine runs.
struct IdentityCell {
  Drafts drafts = Drafts::none;
  int threads = 1;
  int32_t chunk_rows = 0;
  bool keeps_prefixes = true;
  bool gives_way = false;
};

// Every value of each dimension meets every value of each other one over the formats and models.
IdentityCell cell_of(int number) {
  constexpr int32_t kChunks[] = {0, 37, 64, 200};
  IdentityCell cell;
  cell.drafts = static_cast<Drafts>(number % 4);
  cell.threads = 1 + (number + number / 4) % 3;
  cell.chunk_rows = kChunks[(number / 2 + number / 8) % 4];
  cell.keeps_prefixes = (number + number / 8) % 2 == 0;
  cell.gives_way = number / 4 % 2 == 0;
  return cell;
}

class KvIdentity : public testing::TestWithParam<IdentityCase> {
 protected:
  KvIdentity() : one_(1), alone_ops_(table_, one_), model_(*load_model(model_folder(GetParam().model), one_)) {
    text_ = text_of(700);
    // Stories such as it knows, so that drafts hold.
    if (shipped()) {
      const auto shipped = load_text_model(model_folder("shipped"), one_).value();
      const std::string story =
          "Once upon a time, there was a little girl named Lily. She had a red ball. One day, Lily "
          "went to the park with her mom. She saw a big dog. The dog took the ball and ran away. ";
      text_ = shipped.tokenizer.encode(story + story + story, true);
    }
    alone_.emplace(as_gemma4(model_.weights), alone_ops_, Precision::bf16, GetParam().format.formats);
  }

  [[nodiscard]] bool shipped() const { return GetParam().model == "shipped"; }

  LoadResult run(const IdentityCell& cell, uint64_t seed) {
    ThreadPool pool(cell.threads);
    kernels::CpuOps ops(table_, pool);
    Gemma4Forward forward(as_gemma4(model_.weights), ops, Precision::bf16, GetParam().format.formats);
    const auto mtp = FoundDrafter::load(drafter_folder(GetParam().model), forward, pool, ops)->drafter();
    NgramDrafter ngrams;
    StepCosts costs;
    EngineParts parts{&forward, &pool, nullptr, &costs, nullptr};
    if (cell.drafts == Drafts::lookup) parts.drafter = &ngrams;
    if (cell.drafts == Drafts::mtp || cell.drafts == Drafts::policy) parts.drafter = mtp.get();
    EngineSettings settings;
    settings.kv_bytes = size_t{64} << 20;
    settings.keeps_prefixes = cell.keeps_prefixes;
    settings.chunk_rows = cell.chunk_rows;
    if (cell.chunk_rows > 0) settings.chunk_rows_beside = std::max(5, cell.chunk_rows / 3);
    if (cell.drafts == Drafts::mtp || cell.drafts == Drafts::lookup) settings.fixed_depth = cell.threads + 2;
    // The newest, or one behind it, every few steps.
    if (cell.gives_way)
      settings.gives_way = [](int64_t step) { return step % 5 == 4 ? static_cast<int32_t>(step / 5 % 3) : -1; };
    LoadPlan plan;
    plan.text = text_;
    plan.requests = long_form() ? 7 : (shipped() ? 4 : 8);
    plan.at_once = 12;
    plan.longest_prompt = shipped() ? (long_form() ? 700 : 200) : 330;
    plan.most_tokens = long_form() ? 300 : 30;
    plan.cancels_every = long_form() ? 400 : 16;
    plan.seed = seed;
    plan.alone = &*alone_;
    return check_load(parts, settings, plan);
  }

  const kernels::CpuTable& table_ = **kernels::find_cpu_table("");
  ThreadPool one_;
  kernels::CpuOps alone_ops_;
  LoadedModel model_;
  std::vector<TokenId> text_;
  std::optional<Gemma4Forward> alone_;
};

TEST_P(KvIdentity, EachGetsWhatItGetsAlone) {
  const int cells = long_form() ? (shipped() ? 8 : 24) : (shipped() ? 1 : 4);
  int64_t tokens = 0, gave_way = 0, found = 0, accepted = 0;
  for (int i = 0; i < cells; ++i) {
    // Every fifth or third, so that a part of them meets all values, too; the shipped model's own drafter first.
    const int number = shipped() ? 2 + 3 * i : i * (long_form() ? 1 : 5);
    SCOPED_TRACE(testing::Message() << "cell " << number);
    const LoadResult result = run(cell_of(number), static_cast<uint64_t>(number) + 1);
    ASSERT_EQ(result.difference, "");
    tokens += result.tokens;
    gave_way += result.gave_way;
    found += result.prefix_hits;
    accepted += result.counters.accepted;
  }
  EXPECT_GT(gave_way, 0);
  EXPECT_GT(accepted, 0);
  if (cells > 1) {
    EXPECT_GT(found, 0);
  }
  // Of the twelve goldens' together more than 200,000.
  EXPECT_GE(tokens, long_form() ? (shipped() ? 3'000 : 16'700) : 20);
  fmt::print("{} {}: {} tokens compared, {} of them accepted drafts; {} times somebody gave way, {} tokens found\n",
             GetParam().model, GetParam().format.name, tokens, accepted, gave_way, found);
}

std::vector<IdentityCase> identity_cases() {
  std::vector<IdentityCase> cases;
  for (const char* model : {"dense", "moe", "ple", "shipped"})
    for (const KvFormatCase& format : format_cases()) cases.push_back({model, format});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Formats, KvIdentity, testing::ValuesIn(identity_cases()),
                         [](const auto& run) { return run.param.model + "_" + run.param.format.name; });

}  // namespace
}  // namespace paceline
