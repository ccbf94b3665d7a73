// Tokens chosen on the device, against the host's: settings and rows of many kinds, in chains of drafts.
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "engine_check.h"
#include "sample/choose.h"
#include "sample/device_choice.h"

namespace paceline::gpu {
namespace {

struct Masked : TokenConstraint, ConstraintCursor {
  std::vector<uint64_t> words;
  std::span<const uint64_t> allowed(std::span<const TokenId>) override { return words; }
  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override { return std::make_unique<Masked>(*this); }
};

std::vector<SampleSettings> settings_of(int32_t vocab, std::mt19937_64& random) {
  std::vector<SampleSettings> all;
  const auto add = [&](float temperature, int32_t top_k, float top_p, float min_p) {
    SampleSettings s;
    s.temperature = temperature;
    s.top_k = top_k;
    s.top_p = top_p;
    s.min_p = min_p;
    s.seed = random();
    all.push_back(s);
  };
  add(0, 0, 1, 0);
  add(1, 0, 1, 0);
  add(1, 64, 0.95f, 0);
  add(0.7f, 1, 1, 0);
  add(1.3f, 0, 0.9f, 0);
  add(0.8f, 0, 1, 0.05f);
  add(2.0f, 900, 0.99f, 0.01f);
  add(1.0f, 5000, 0.97f, 0);
  add(3.0f, 0, 0.999f, 0);
  add(1e-3f, 20, 0.5f, 0);
  const size_t plain = all.size();
  for (size_t i = 0; i < plain; ++i) {
    SampleSettings s = all[i];
    s.repetition_penalty = 1.3f;
    s.presence_penalty = 0.4f;
    s.frequency_penalty = 0.2f;
    s.seed = random();
    all.push_back(s);
    s.logit_bias = {{3, 4.0f}, {17, -100.0f}, {vocab - 1, 2.5f}};
    s.suppressed = std::make_shared<const std::vector<TokenId>>(std::vector<TokenId>{0, 5, 63, 64});
    all.push_back(s);
    auto masked = std::make_shared<Masked>();
    masked->words.resize((static_cast<size_t>(vocab) + 63) / 64);
    for (uint64_t& word : masked->words) word = i % 2 == 0 ? random() & random() & random() : random();
    s.constraint = masked;
    all.push_back(s);
  }
  return all;
}

// Rows of many kinds: like a model's, flat, with ties, with holes, with what is not a number.
std::vector<float> logits_of(int kind, int32_t vocab, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> row(static_cast<size_t>(vocab));
  for (float& x : row) {
    x = normal(random) * (kind == 1 ? 0.01f : kind == 2 ? 12.0f : 4.0f);
    if (kind == 3) x = std::round(x);
    if (kind == 4 && random() % 3 == 0) x = NAN;
    if (kind == 5 && random() % 2 == 0) x = -INFINITY;
    if (kind == 6) x = random() % 2 == 0 ? 0.0f : -0.0f;
    if (kind == 7) x = -INFINITY;
  }
  if (kind == 8 || kind == 9) row[random() % row.size()] = kind == 8 ? NAN : INFINITY;
  return row;
}

}  // namespace

void check_choices(Machine& m, Checks& checks, int32_t vocab, int rounds) {
  std::mt19937_64 random(7);
  ChooseScratch scratch;
  int64_t tokens = 0;
  for (int round = 0; round < rounds; ++round)
    for (int kind = 0; kind < 10; ++kind) {
      // A chain of three rows: two drafts, which stand in front of the later choices.
      constexpr int32_t kRows = 3, kWidth = 40;
      std::vector<float> logits;
      for (int32_t r = 0; r < kRows; ++r) {
        const std::vector<float> row = logits_of(kind, vocab, random);
        logits.insert(logits.end(), row.begin(), row.end());
      }
      const Block device_logits(*m.ops, logits);
      const std::vector<TokenId> prompt{1, 7, 7, vocab - 1}, generated{2, 7, 9, 2, 2};
      for (const SampleSettings& settings : settings_of(vocab, random)) {
        std::vector<TokenId> drafts;
        std::vector<TokenId> want;
        std::vector<TokenId> standing = generated;
        for (int32_t r = 0; r < kRows; ++r) {
          scratch.constraint = nullptr;
          const TokenId token =
              choose(std::span(logits).subspan(static_cast<size_t>(r) * static_cast<size_t>(vocab),
                                               static_cast<size_t>(vocab)),
                     {prompt, standing, nullptr}, settings, static_cast<int64_t>(generated.size()) + r, scratch);
          want.push_back(token);
          // Every second chain's first draft is wrong; the choices behind it still follow from the drafts. Behind what
          // is no choice any draft is.
          const TokenId draft = token < 0 || (r == 0 && random() % 2 == 0) ? (token + 1) % vocab : token;
          if (r + 1 < kRows) drafts.push_back(draft);
          standing.push_back(draft);
        }
        DeviceChoice how(*m.ops, settings, vocab, {prompt, generated, nullptr});
        const std::vector<TokenId> row_tokens{4, drafts[0], drafts[1]};
        const Block tokens_block(*m.ops, std::span(reinterpret_cast<const float*>(row_tokens.data()), kRows));
        std::vector<float> hidden(kRows * kWidth);
        for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = static_cast<float>(i);
        const Block hidden_block(*m.ops, hidden), last(*m.ops, kWidth), chosen(*m.ops, 2 * kRows);
        std::vector<kernels::ChoiceRow> rows;
        for (int32_t r = 0; r < kRows; ++r) {
          kernels::ChoiceRow row = how.row(static_cast<int64_t>(generated.size()) + r);
          row.logits_row = r;
          row.first_draft = 1;
          row.drafts = r;
          if (settings.constraint != nullptr)
            row.allowed =
                how.allow(*m.ops, static_cast<size_t>(r), static_cast<const Masked*>(settings.constraint.get())->words);
          rows.push_back(row);
        }
        const kernels::ChoiceChain chain{0, kRows - 1, 0, last.at(), how.counts()};
        m.ops->choosing()->choose({device_logits.at(),
                                   reinterpret_cast<const TokenId*>(tokens_block.at()),
                                   hidden_block.at(),
                                   vocab,
                                   kWidth,
                                   rows,
                                   {&chain, 1},
                                   reinterpret_cast<TokenId*>(chosen.at())});
        const std::vector<float> raw = chosen.read();
        std::vector<TokenId> got(raw.size());
        std::memcpy(got.data(), raw.data(), raw.size() * sizeof(float));
        int32_t accepted = 0;
        while (accepted < kRows - 1 && got[static_cast<size_t>(accepted)] == drafts[static_cast<size_t>(accepted)])
          ++accepted;
        const std::string name = "choice vocab " + std::to_string(vocab) + " kind " + std::to_string(kind) +
                                 " temperature " + std::to_string(settings.temperature) + " top_k " +
                                 std::to_string(settings.top_k) + " top_p " + std::to_string(settings.top_p) +
                                 (settings.penalised() ? " penalised" : "") +
                                 (settings.constraint != nullptr ? " masked" : "");
        for (size_t r = 0; r < kRows; ++r) checks.expect(got[r] == want[r], name + " row " + std::to_string(r));
        checks.expect(got[3] == drafts[0] && got[4] == drafts[1] && got[5] == -1, name + ", drafts");
        checks.expect(last.read()[0] == static_cast<float>(accepted * kWidth), name + ", hidden state");
        tokens += kRows;
      }
    }
  std::printf("%lld choices of %d tokens\n", static_cast<long long>(tokens), vocab);
}

}  // namespace paceline::gpu
