// A Qwen model's own drafter in an engine: it drafts, and nobody can tell from the text.
#include <gtest/gtest.h>

#include <map>

#include "engine/engine.h"
#include "kernels/cpu_ops.h"
#include "model/qwen/mtp_checkpoint_for_tests.h"
#include "proof/device_like_ops_for_tests.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/load_identity.h"
#include "speculate/qwen_mtp/qwen_mtp_drafter.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

// Writes down what is drafted.
class Recorder : public Drafter {
 public:
  explicit Recorder(Drafter& drafter) : drafter_(drafter) {}
  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return drafter_.tap_layers(); }
  std::unique_ptr<DrafterState> start() override { return drafter_.start(); }
  void propose(std::span<DraftAsk> asks) override {
    drafter_.propose(asks);
    for (const DraftAsk& ask : asks)
      if (ask.drafted > 0) drafts[ask.context.tokens.size()].assign(ask.out.begin(), ask.out.begin() + ask.drafted);
  }
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override { drafter_.committed(rows, taps); }

  std::map<size_t, std::vector<TokenId>> drafts;  // by how many tokens stood

 private:
  Drafter& drafter_;
};

// Backend: the processor's Ops, or one that behaves otherwise.
template <class Backend>
class QwenMtpEngine : public testing::TestWithParam<const char*> {
 protected:
  QwenMtpEngine() : pool_(2), ops_(**kernels::find_cpu_table(""), pool_) {
    with_random_mtp(GetParam()).write(folder_);
    model_ = load_model(folder_.path(), pool_).value();
    forward_ = model_.weights->make_forward(ops_, Precision::bf16);
    auto weights = qwen::bind_mtp(*qwen::as_qwen(model_.weights), pool_).value();
    drafter_ = std::make_unique<QwenMtpDrafter>(std::make_unique<qwen::MtpForward>(std::move(weights), *forward_));
    parts_ = {forward_.get(), &pool_, drafter_.get(), &costs_, nullptr};
    settings_.kv_bytes = size_t{64} << 20;
    settings_.fixed_depth = 3;
  }

  void expect_identity(int32_t requests) {
    LoadPlan plan;
    plan.text = text_of(700);
    plan.requests = requests;
    plan.at_once = 16;
    plan.longest_prompt = 200;
    plan.stop_ids = {5, 77, 130};
    const LoadResult result = check_load(parts_, settings_, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, requests);
    EXPECT_GT(result.counters.drafted, 0);
  }

  ScratchFolder folder_;
  ThreadPool pool_;
  Backend ops_;
  LoadedModel model_;
  std::unique_ptr<Forward> forward_;
  std::unique_ptr<Drafter> drafter_;
  StepCosts costs_;
  EngineParts parts_;
  EngineSettings settings_;
};

using QwenMtpTest = QwenMtpEngine<kernels::CpuOps>;
using QwenMtpOnDeviceTest = QwenMtpEngine<DeviceLikeOps>;

TEST_P(QwenMtpTest, UnderLoadEachGetsWhatItGetsAlone) { expect_identity(12); }

TEST_P(QwenMtpTest, WhoGivesWayComesBackWithoutItsDrafts) {
  settings_.gives_way = [](int64_t step) { return step % 5 == 4 ? static_cast<int32_t>(step / 5 % 3) : -1; };
  expect_identity(8);
}

// What it would draft had it read all of the text itself.
TEST_P(QwenMtpTest, KnowsABeginningThatIsKnown) {
  Recorder recorder(*drafter_);
  parts_.drafter = &recorder;
  Engine engine(parts_, settings_);
  const auto run = [&] {
    Request request;
    request.prompt = text_of(333);
    request.sampling.temperature = 0;
    request.max_tokens = 40;
    request.context = model_.config.context;
    recorder.drafts.clear();
    const auto texts = std::make_shared<Texts>();
    engine.submit(request, texts);
    while (engine.step()) {
    }
    EXPECT_EQ(texts->tokens.at(0).size(), 40u);
    return texts;
  };
  const auto first = run();
  EXPECT_EQ(first->cached, 0);
  const auto drafts = recorder.drafts;
  const auto second = run();
  EXPECT_GT(second->cached, 200);
  EXPECT_EQ(second->tokens, first->tokens);
  EXPECT_GT(recorder.drafts.size(), 10u);
  EXPECT_EQ(recorder.drafts, drafts);
}

TEST_P(QwenMtpOnDeviceTest, DraftsThatOnlyTheBackendKnows) { expect_identity(12); }

INSTANTIATE_TEST_SUITE_P(Goldens, QwenMtpOnDeviceTest, testing::Values("qwen35"), golden_name);
INSTANTIATE_TEST_SUITE_P(Goldens, QwenMtpTest, testing::Values("qwen35", "qwen35-moe"), golden_name);

}  // namespace
}  // namespace paceline
