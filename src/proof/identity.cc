#include "proof/identity.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "speculate/adaptive.h"
#include "speculate/ngram/ngram_drafter.h"
#include "speculate/scripted_drafters.h"

namespace paceline {
namespace {

DecodeRequest request_of(const IdentityPlan& plan, int32_t context, int32_t prompt_tokens, int choice, uint64_t seed) {
  DecodeRequest request;
  for (size_t i = 0; request.prompt.size() < static_cast<size_t>(prompt_tokens); ++i) {
    request.prompt.push_back(plan.text[i % plan.text.size()]);
  }
  request.sampling = choice_settings(choice, seed, request.prompt);
  request.max_tokens = plan.max_tokens;
  request.context = context;
  return request;
}

// Owns what it makes; the model's own drafter is the caller's.
struct MadeDrafter {
  std::unique_ptr<Drafter> own;
  Drafter* drafter = nullptr;
};

MadeDrafter make(DrafterKind kind, const OwnDrafters& own, const DecodeRequest& request,
                 const std::vector<TokenId>& output, int32_t vocab) {
  MadeDrafter made;
  switch (kind) {
    case DrafterKind::mtp: made.drafter = own.mtp; return made;
    case DrafterKind::dflash: made.drafter = own.dflash; return made;
    case DrafterKind::ngram: made.own = std::make_unique<NgramDrafter>(); break;
    case DrafterKind::random: made.own = std::make_unique<RandomDrafter>(request.sampling.seed, vocab); break;
    case DrafterKind::perfect: made.own = std::make_unique<KnowingDrafter>(request.prompt, output, vocab, 1.0); break;
    case DrafterKind::half_right:
      made.own = std::make_unique<KnowingDrafter>(request.prompt, output, vocab, 0.5);
      break;
  }
  made.drafter = made.own.get();
  return made;
}

bool same(const DecodeOutcome& a, const DecodeOutcome& b) {
  if (a.end == DecodeEnd::failed || b.end == DecodeEnd::failed) return false;
  return a.tokens == b.tokens && a.end == b.end && a.stop_token == b.stop_token;
}

size_t first_difference(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

const char* drafter_kind_name(DrafterKind kind) {
  switch (kind) {
    case DrafterKind::mtp: return "mtp";
    case DrafterKind::dflash: return "dflash";
    case DrafterKind::ngram: return "ngram";
    case DrafterKind::random: return "random";
    case DrafterKind::perfect: return "perfect";
    case DrafterKind::half_right: return "half right";
  }
  return "";
}

SampleSettings choice_settings(int kind, uint64_t seed, std::span<const TokenId> prompt) {
  SampleSettings settings;
  settings.seed = seed;
  switch (kind) {
    case 0: settings.temperature = 0; break;
    case 1:
      settings.top_k = 64;
      settings.top_p = 0.95f;
      break;
    case 2:
      settings.temperature = 0.7f;
      settings.min_p = 0.05f;
      settings.repetition_penalty = 1.2f;
      settings.logit_bias = {{prompt.front(), -1.5f}};
      if (prompt.back() != prompt.front()) settings.logit_bias.push_back({prompt.back(), 2.0f});
      sort_biases(settings.logit_bias);
      break;
    case 3:
      settings.temperature = 0.8f;
      settings.presence_penalty = 0.5f;
      settings.frequency_penalty = 0.3f;
      break;
    default: settings.temperature = 1.5f;
  }
  return settings;
}

IdentityResult check_identity(Forward& forward, const OwnDrafters& own, const IdentityPlan& plan,
                              const std::function<bool(int64_t, int64_t)>& progress) {
  CHECK(!plan.text.empty() && plan.stride > 0);
  const ModelConfig& config = forward.config();
  IdentityResult result;
  for (const DrafterKind kind : kDrafterKinds) {
    const bool lacks =
        (kind == DrafterKind::mtp && own.mtp == nullptr) || (kind == DrafterKind::dflash && own.dflash == nullptr);
    if (!lacks) result.kinds.push_back({kind, 0, 0, 0, {}});
  }
  StepCosts costs;
  AdaptiveDepth adaptive(costs);
  const auto per_request = static_cast<int64_t>(result.kinds.size() * plan.depths.size());
  const int64_t total =
      static_cast<int64_t>(plan.prompt_tokens.size() * plan.seeds.size()) * kChoiceKinds * per_request;
  int64_t cell = 0;
  for (const int32_t prompt_tokens : plan.prompt_tokens) {
    for (int choice = 0; choice < kChoiceKinds; ++choice) {
      for (const uint64_t seed : plan.seeds) {
        const DecodeRequest request = request_of(plan, config.context, prompt_tokens, choice, seed);
        std::optional<DecodeOutcome> plain;
        for (IdentityCount& count : result.kinds) {
          for (const int32_t depth : plan.depths) {
            if (cell++ % plan.stride != 0) continue;
            if (!plain) plain = decode(forward, request, {});
            const MadeDrafter made = make(count.kind, own, request, plain->tokens, config.vocab);
            FixedDepth fixed(depth);
            DepthPolicy& policy = depth > 0 ? static_cast<DepthPolicy&>(fixed) : adaptive;
            const DecodeOutcome outcome = decode(forward, request, {}, {made.drafter, &policy});
            ++count.runs;
            count.tokens += static_cast<int64_t>(plain->tokens.size());
            count.counters += outcome.counters;
            if (same(outcome, *plain)) {
              ++count.runs_equal;
            } else if (!result.difference) {
              result.difference = {count.kind,    depth, choice,
                                   prompt_tokens, seed,  first_difference(outcome.tokens, plain->tokens)};
            }
            if (progress && !progress(cell, total)) return result;
          }
        }
      }
    }
  }
  return result;
}

}  // namespace paceline
