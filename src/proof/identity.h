// The promise as something to run: the same requests with every kind of drafter, at every depth, and plain; the tokens
// have to be equal. `paceline check --speculation` and the tests both call this.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "proof/decode.h"

namespace paceline {

// half_right: of a perfect one's drafts, every second by chance is spoilt.
enum class DrafterKind : uint8_t { mtp, dflash, ngram, random, perfect, half_right };
inline constexpr DrafterKind kDrafterKinds[] = {DrafterKind::mtp,    DrafterKind::dflash,  DrafterKind::ngram,
                                                DrafterKind::random, DrafterKind::perfect, DrafterKind::half_right};
const char* drafter_kind_name(DrafterKind kind);

// The five ways of choosing that are compared: greedy; top-k with top-p; min-p with repetition penalty and bias (on two
// tokens of the prompt); presence and frequency penalties; hot.
inline constexpr int kChoiceKinds = 5;
SampleSettings choice_settings(int kind, uint64_t seed, std::span<const TokenId> prompt);

struct IdentityPlan {
  std::vector<TokenId> text;           // prompts are its beginnings, repeated as needed; not empty
  std::vector<int32_t> prompt_tokens;  // lengths
  std::vector<uint64_t> seeds;         // for each length and way of choosing
  std::vector<int32_t> depths;         // 0: by the policy
  int32_t max_tokens = 40;
  // Every so manieth cell of the matrix is run; a prime meets every value of every dimension.
  int32_t stride = 1;
};

struct IdentityCount {
  DrafterKind kind{};
  int64_t runs = 0, runs_equal = 0;
  int64_t tokens = 0;  // compared
  SpeculationCounters counters;
};

struct IdentityResult {
  std::vector<IdentityCount> kinds;
  // The first run that differed.
  struct Difference {
    DrafterKind kind{};
    int32_t depth = 0, choice = 0, prompt_tokens = 0;
    uint64_t seed = 0;
    size_t at = 0;  // the first token that differs
  };
  std::optional<Difference> difference;
};

// Those made for the model; may be none.
struct OwnDrafters {
  Drafter* mtp = nullptr;
  Drafter* dflash = nullptr;
};

// progress(done, total) after each cell; false: end here.
IdentityResult check_identity(Forward& forward, const OwnDrafters& own, const IdentityPlan& plan,
                              const std::function<bool(int64_t, int64_t)>& progress = {});

}  // namespace paceline
