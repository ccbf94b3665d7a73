// What the engine owes a drafter: inputs of the layers that it asked for, of every row that stands, as they are where
// the text is run alone; and memory for its state, of the same account as keys and values.
#include <array>
#include <cstring>

#include "kernels/cpu_ops.h"
#include "proof/golden_engine_for_tests.h"
#include "speculate/scripted_drafters.h"

namespace paceline {
namespace {

constexpr size_t kStateBytes = 12345;

struct SeenRows : DrafterState {
  std::vector<std::vector<float>> rows;  // of each position: what the layers saw, one behind the other
};

class Watching : public RandomDrafter {
 public:
  Watching(std::array<int32_t, 2> layers, int32_t width, int32_t vocab)
      : RandomDrafter(7, vocab), layers_(layers), width_(static_cast<size_t>(width)) {}

  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return layers_; }
  [[nodiscard]] size_t state_bytes(int32_t) const override { return kStateBytes; }
  std::unique_ptr<DrafterState> start() override {
    auto state = std::make_unique<SeenRows>();
    started.push_back(state.get());
    return state;
  }
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override {
    for (const CommittedRows& one : rows) {
      auto& seen = static_cast<SeenRows*>(one.state)->rows;
      ASSERT_EQ(seen.size() + static_cast<size_t>(one.count), static_cast<size_t>(one.length));
      ASSERT_GE(one.state->units().size() * one.state->unit_bytes(), kStateBytes);
      for (int32_t i = 0; i < one.count; ++i) {
        const float* row = taps.values + static_cast<size_t>(one.first_row + i) * width_;
        seen.emplace_back(row, row + width_);
      }
      last = seen;
    }
  }

  std::vector<SeenRows*> started;
  std::vector<std::vector<float>> last;  // of the sequence that was told of last

 private:
  std::array<int32_t, 2> layers_;
  size_t width_;
};

using DrafterContract = GoldenEngineTest<kernels::CpuOps>;

TEST_P(DrafterContract, ItSeesTheRowsThatStandAsTheyAreAlone) {
  const ModelConfig& config = forward_->config();
  Watching watching({1, 2}, config.hidden, config.vocab);
  parts_.drafter = &watching;
  settings_.fixed_depth = 3;
  settings_.chunk_rows = 50;
  Engine engine(parts_, settings_);
  Request request;
  request.prompt = text_of(130);
  request.max_tokens = 40;
  request.context = 400;
  const auto texts = std::make_shared<Texts>();
  ASSERT_EQ(engine.submit(request, texts).refusal, Refusal::none);
  engine.step();
  const size_t unit = forward_->kv_layout().blocks.unit_bytes;
  EXPECT_EQ(engine.stats().running_bytes,
            forward_->kv_layout().sequence_bytes(50, kMaxForwardRows) + (kStateBytes + unit - 1) / unit * unit);
  while (engine.step()) {
  }
  ASSERT_EQ(texts->ends.size(), 1u);

  std::vector<TokenId> tokens = request.prompt;
  tokens.insert(tokens.end(), texts->tokens[0].begin(), texts->tokens[0].end());
  ASSERT_GT(watching.last.size(), request.prompt.size() + 10);
  KvCache kv(forward_->kv_layout(), 400);
  const std::array<int32_t, 1> layer{1};
  for (size_t pos = 0; pos < watching.last.size(); ++pos) {
    const SeqRows seq{&kv, 1};
    ForwardInput input;
    input.tokens = std::span(tokens).subspan(pos, 1);
    input.seqs = {&seq, 1};
    input.tap_layers = layer;
    const ForwardOutput alone = forward_->run(input);
    ASSERT_EQ(std::memcmp(alone.taps, watching.last[pos].data(), sizeof(float) * static_cast<size_t>(config.hidden)), 0)
        << "position " << pos;
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, DrafterContract, testing::Values("dense", "ple", "qwen3", "qwen35"));

}  // namespace
}  // namespace paceline
