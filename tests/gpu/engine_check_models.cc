// Text models on the device: texts under load, speculation against plain runs, and rows alone against company.
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "engine_check.h"
#include "proof/identity.h"
#include "proof/load_identity.h"

namespace paceline::gpu {
namespace {

// How many values differ and by how much, and in which columns.
std::string difference(const float* a, const float* b, size_t count) {
  size_t first = count, last = 0, differ = 0, most = 0;
  for (size_t i = 0; i < count; ++i) {
    if (a[i] == b[i]) continue;
    first = std::min(first, i);
    last = i;
    ++differ;
    if (std::abs(a[i] - b[i]) > std::abs(a[most] - b[most])) most = i;
  }
  return ": " + std::to_string(differ) + " values of columns " + std::to_string(first) + " to " + std::to_string(last) +
         ", most in " + std::to_string(most) + ": " + std::to_string(a[most]) + ", " + std::to_string(b[most]);
}

}  // namespace

void check_subject(Machine& m, Checks& checks, const Subject& subject, int32_t requests, int32_t at_once) {
  const ModelConfig& config = subject.weights->facts();
  std::vector<TokenId> text;
  for (int32_t i = 0; i < 700; ++i) text.push_back(1 + (i * 7919 + i / 13) % (config.vocab - 1));
  for (const int32_t depth : {0, 1, 3, 8, 15, -1}) {
    // A block drafter has layers of its own in the forward's layout: each has a forward of its own.
    const std::unique_ptr<Forward> forward = subject.forward(*m.ops);
    StepCosts costs;
    std::unique_ptr<Drafter> drafter;
    if (subject.drafter != nullptr && depth != 0) drafter = subject.drafter(*forward);
    EngineParts parts{forward.get(), &m.pool, drafter.get(), &costs, nullptr, nullptr};
    EngineSettings settings;
    if (depth >= 0) settings.fixed_depth = depth;
    LoadPlan plan;
    plan.text = text;
    plan.requests = requests;
    plan.at_once = at_once;
    plan.longest_prompt = std::min(330, config.context / 2);
    plan.stop_ids = {5, 77, 130};
    plan.seed = static_cast<uint64_t>(depth + 2);
    const auto begin = Clock::now();
    const LoadResult result = check_load(parts, settings, plan);
    checks.expect(result.difference.empty(),
                  subject.name + " depth " + std::to_string(depth) + ": " + result.difference);
    checks.expect(result.requests == requests, subject.name + ": all requests ended");
    std::printf("%-24s depth %2d: %lld requests, %lld tokens, %lld of %lld drafts kept, %.1f s\n", subject.name.c_str(),
                depth, static_cast<long long>(result.requests), static_cast<long long>(result.tokens),
                static_cast<long long>(result.counters.accepted), static_cast<long long>(result.counters.drafted),
                ms_since(begin) / 1000);
    std::fflush(stdout);
  }
  expect_fine(m, checks, subject.name);
}

void check_matrix(Machine& m, Checks& checks, const Subject& subject, int32_t stride, int32_t tokens) {
  const std::unique_ptr<Forward> made = subject.forward(*m.ops);
  Forward& forward = *made;
  std::unique_ptr<Drafter> drafter;
  if (subject.drafter != nullptr) drafter = subject.drafter(forward);
  const bool is_dflash = drafter != nullptr && drafter->kind(0) == DraftedBy::dflash;
  IdentityPlan plan;
  for (int32_t i = 0; i < 300; ++i) plan.text.push_back(1 + (i * 104729) % (forward.config().vocab - 1));
  plan.prompt_tokens = {5, 130};
  plan.seeds = {1, 2};
  plan.depths = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0};
  plan.max_tokens = tokens;
  plan.stride = stride;
  const IdentityResult result =
      check_identity(forward, {is_dflash ? nullptr : drafter.get(), is_dflash ? drafter.get() : nullptr}, plan);
  int64_t runs = 0, equal = 0, compared = 0;
  for (const IdentityCount& count : result.kinds) {
    runs += count.runs;
    equal += count.runs_equal;
    compared += count.tokens;
  }
  std::string where;
  if (const auto& d = result.difference)
    where = std::string(", ") + drafter_kind_name(d->kind) + " depth " + std::to_string(d->depth) + " choice " +
            std::to_string(d->choice) + " prompt " + std::to_string(d->prompt_tokens) + " seed " +
            std::to_string(d->seed) + " from token " + std::to_string(d->at);
  checks.expect(runs == equal && compared > 0 && forward.status().ok(),
                subject.name + ": speculation equals plain" + where);
  std::printf("%-24s matrix: %lld of %lld runs equal, %lld tokens\n", subject.name.c_str(),
              static_cast<long long>(equal), static_cast<long long>(runs), static_cast<long long>(compared));
  std::fflush(stdout);
  expect_fine(m, checks, subject.name);
}

void check_rows(Machine& m, Checks& checks, const Subject& subject, int32_t prompt, int32_t repeats) {
  constexpr int32_t kMost = 16;
  const std::unique_ptr<Forward> made = subject.forward(*m.ops);
  Forward& forward = *made;
  const ModelConfig& config = subject.weights->facts();
  const int32_t layer_count = subject.weights->lent_ends().layers;
  const auto vocab = static_cast<size_t>(config.vocab), hidden = static_cast<size_t>(config.hidden);
  KvCache kv(forward.kv_layout(), prompt + kMost);
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < prompt + kMost; ++i) tokens.push_back(1 + (i * 7919) % (config.vocab - 1));
  std::vector<int32_t> all(static_cast<size_t>(std::max(layer_count + 1, kMost)));
  std::iota(all.begin(), all.end(), 0);
  const auto layers = std::span<const int32_t>(all).first(static_cast<size_t>(layer_count) + 1);
  const auto run = [&](int32_t rows, std::span<const int32_t> logit_rows, std::span<const int32_t> taps) {
    const SeqRows seq{&kv, rows, {}, logit_rows.empty() ? 0 : rows};
    const auto some =
        std::span<const TokenId>(tokens).subspan(static_cast<size_t>(kv.length()), static_cast<size_t>(rows));
    return forward.run({some, {&seq, 1}, logit_rows, taps});
  };
  while (kv.length() < prompt) (void)run(std::min(prompt - kv.length(), kMaxForwardRows), {}, {});
  std::vector<float> logits, taps;
  for (int32_t repeat = 0; repeat < repeats; ++repeat)
    for (int32_t rows = kMost; rows > 0; --rows) {
      const auto count = static_cast<size_t>(rows);
      const ForwardOutput out = run(rows, std::span<const int32_t>(all).first(count), layers);
      kv.truncate(prompt);
      if (logits.empty()) {
        logits.assign(out.logits, out.logits + count * vocab);
        taps.assign(out.taps, out.taps + layers.size() * count * hidden);
      }
      std::string where;
      for (size_t row = 0; row < count && where.empty(); ++row) {
        size_t layer = 0;
        while (layer < layers.size() && same_bits(out.taps + (layer * count + row) * hidden,
                                                  taps.data() + (layer * kMost + row) * hidden, hidden))
          ++layer;
        if (layer < layers.size())
          where = ": row " + std::to_string(row) + " differs in front of layer " + std::to_string(layer) +
                  difference(out.taps + (layer * count + row) * hidden, taps.data() + (layer * kMost + row) * hidden,
                             hidden);
        if (where.empty() && !same_bits(out.logits + row * vocab, logits.data() + row * vocab, vocab))
          where = ": logits of row " + std::to_string(row) + " differ";
      }
      checks.expect(where.empty(), subject.name + " behind " + std::to_string(prompt) + ", " + std::to_string(rows) +
                                       " rows, time " + std::to_string(repeat) + where);
    }
  std::printf("%-24s rows behind %d tokens, %d times each\n", subject.name.c_str(), prompt, repeats);
  expect_fine(m, checks, subject.name);
}

}  // namespace paceline::gpu
