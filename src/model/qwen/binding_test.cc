// Tensors by name: what is bound, in which forms it may come, and what is said where it does not fit.
#include "model/qwen/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "model/changed_checkpoint.h"
#include "model/load.h"
#include "model/qwen/weights.h"

namespace paceline::qwen {
namespace {

using testing::HasSubstr;

class QwenBinding : public testing::Test {
 protected:
  std::shared_ptr<const QwenWeights> bound(const ChangedCheckpoint& made) {
    const ScratchFolder folder;
    made.write(folder);
    auto loaded = load_model(folder.path(), pool_);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    return loaded.ok() ? as_qwen(loaded->weights) : nullptr;
  }
  std::string error_of(const ChangedCheckpoint& made) {
    const ScratchFolder folder;
    made.write(folder);
    const auto loaded = load_model(folder.path(), pool_);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? "" : loaded.error().message;
  }

  ThreadPool pool_{2};
};

// Of the golden with one tensor for all experts' gates and ups, a tensor for each expert instead.
ChangedCheckpoint with_single_experts() {
  ChangedCheckpoint made("qwen35-moe/target");
  std::vector<ChangedCheckpoint::One> singles;
  for (const ChangedCheckpoint::One& one : made.all) {
    const std::string& name = one.plan.name;
    const bool both = name.ends_with("experts.gate_up_proj");
    if (!both && !name.ends_with("experts.down_proj")) continue;
    const std::string prefix = name.substr(0, name.rfind('.') + 1);
    const int64_t experts = one.plan.shape[0], rows = one.plan.shape[1] / (both ? 2 : 1), cols = one.plan.shape[2];
    const auto bytes = static_cast<size_t>(rows * cols) * dtype_bytes(one.plan.dtype);
    const std::byte* from = one.bytes.data();
    for (int64_t e = 0; e < experts; ++e)
      for (const char* part :
           both ? std::vector<const char*>{"gate_proj", "up_proj"} : std::vector<const char*>{"down_proj"}) {
        singles.push_back({{prefix + std::to_string(e) + "." + part + ".weight", one.plan.dtype, {rows, cols}},
                           {from, from + bytes}});
        from += bytes;
      }
  }
  std::erase_if(made.all, [](const ChangedCheckpoint::One& one) {
    return one.plan.name.ends_with("experts.gate_up_proj") || one.plan.name.ends_with("experts.down_proj");
  });
  for (ChangedCheckpoint::One& one : singles) made.all.push_back(std::move(one));
  return made;
}

bool same_bytes(const Matrix& a, const Matrix& b) {
  return a.format == b.format && a.rows == b.rows && a.cols == b.cols &&
         std::memcmp(a.values, b.values, static_cast<size_t>(a.rows) * a.row_value_bytes()) == 0;
}

TEST_F(QwenBinding, ExpertsInBothForms) {
  const auto together = bound(ChangedCheckpoint("qwen35-moe/target")), single = bound(with_single_experts());
  ASSERT_TRUE(together != nullptr && single != nullptr);
  for (size_t i = 0; i < together->layers.size(); ++i) {
    const FeedForwardWeights &a = together->layers[i].ffn, &b = single->layers[i].ffn;
    ASSERT_EQ(a.expert_gate.count, 8);
    for (int32_t e = 0; e < 8; ++e) {
      EXPECT_TRUE(same_bytes(a.expert_gate.at(e), b.expert_gate.at(e))) << i << " " << e;
      EXPECT_TRUE(same_bytes(a.expert_up.at(e), b.expert_up.at(e))) << i << " " << e;
      EXPECT_TRUE(same_bytes(a.expert_down.at(e), b.expert_down.at(e))) << i << " " << e;
    }
  }
}

// Without the wrapper's part of their names.
TEST_F(QwenBinding, TextOnlyNames) {
  ChangedCheckpoint made("qwen35-moe/target");
  const auto wrapped = bound(made);
  for (ChangedCheckpoint::One& one : made.all)
    if (one.plan.name.starts_with("model.language_model.")) one.plan.name = "model." + one.plan.name.substr(21);
  const auto text_only = bound(made);
  ASSERT_TRUE(wrapped != nullptr && text_only != nullptr);
  EXPECT_TRUE(same_bytes(wrapped->embedding, text_only->embedding));
  EXPECT_TRUE(same_bytes(wrapped->layers[0].delta.qkv, text_only->layers[0].delta.qkv));
}

TEST_F(QwenBinding, WhatVectorsBecome) {
  const auto plain = bound(ChangedCheckpoint("qwen3/target"));
  ChangedCheckpoint stretched("qwen3/target");
  replace(stretched.config, "\"rope_type\": \"default\"",
          R"("rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096)");
  const auto yarn = bound(stretched);
  ASSERT_TRUE(plain != nullptr && yarn != nullptr);
  const double factor = std::pow(1 + 0.1 * std::log(4.0), 2);
  for (size_t i = 0; i < 32; ++i)
    EXPECT_FLOAT_EQ(yarn->layers[0].attention.q_norm[i],
                    plain->layers[0].attention.q_norm[i] * static_cast<float>(factor));
  EXPECT_EQ(yarn->layers[0].attention.k_norm, plain->layers[0].attention.k_norm);
  const auto recurrent = bound(ChangedCheckpoint("qwen35/target"));
  for (const float rate : recurrent->layers[0].delta.rate) EXPECT_LT(rate, 0.0f);
}

TEST_F(QwenBinding, WhatDoesNotFit) {
  ChangedCheckpoint missing("qwen35/target");
  const std::string name = "model.layers.0.linear_attn.in_proj_b.weight";
  missing.erase(name);
  EXPECT_THAT(error_of(missing), HasSubstr("in_proj_b"));
  ChangedCheckpoint wide("qwen35/target");
  wide.reshape(name, {5, 96}, DType::bf16);
  EXPECT_THAT(error_of(wide), HasSubstr("in_proj_b"));
  ChangedCheckpoint odd("qwen35/target");
  odd.add("model.layers.0.linear_attn.in_proj_c.weight", DType::bf16, {4, 96});
  EXPECT_THAT(error_of(odd), HasSubstr("in_proj_c"));
  ChangedCheckpoint kernel("qwen35/target");
  kernel.reshape("model.layers.0.linear_attn.conv1d.weight", {128, 1, 3}, DType::bf16);
  EXPECT_THAT(error_of(kernel), HasSubstr("conv1d"));
}

// A backend that takes less than the model has says so by name.
TEST_F(QwenBinding, Limits) {
  const auto weights = bound(ChangedCheckpoint("qwen35-moe/target"));
  kernels::Limits limits;
  limits.recurrent = limits.undivided_shares = true;
  EXPECT_TRUE(weights->check(limits).ok());
  const auto problem = [&](auto change) {
    kernels::Limits less = limits;
    change(less);
    const Status status = weights->check(less);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_THAT(problem([](kernels::Limits& l) { l.delta_head = 8; }), HasSubstr("16"));
  EXPECT_THAT(problem([](kernels::Limits& l) { l.delta_head_step = 32; }), HasSubstr("32"));
  EXPECT_THAT(problem([](kernels::Limits& l) { l.delta_kernel = 3; }), HasSubstr("taps"));
  EXPECT_THAT(problem([](kernels::Limits& l) { l.experts = 4; }), HasSubstr("experts"));
  EXPECT_THAT(problem([](kernels::Limits& l) { l.recurrent = false; }), HasSubstr("DeltaNet"));
}

}  // namespace
}  // namespace paceline::qwen
