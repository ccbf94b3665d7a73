// What the model of a file or folder says to a short text, in float32.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <vector>

#include "kernels/cpu_ops.h"
#include "session/text_model.h"

namespace paceline {

// [rows, vocab]
inline std::vector<float> logits_of(const std::filesystem::path& place, kernels::CpuOps& ops, ThreadPool& pool) {
  const auto model = load_model(place, pool, {});
  EXPECT_TRUE(model.ok()) << model.error().message;
  const auto forward = model->weights->placed_for(ops)->make_forward(ops, Precision::f32);
  const std::vector<TokenId> text = {2, 17, 300, 41, 5, 199, 87, 87, 12, 240, 33, 9};
  KvCache kv(forward->kv_layout(), 40);
  std::vector<int32_t> rows(text.size());
  std::iota(rows.begin(), rows.end(), 0);
  const SeqRows seq{&kv, static_cast<int32_t>(text.size())};
  const ForwardOutput output = forward->run({text, {&seq, 1}, rows, {}});
  return {output.logits, output.logits + text.size() * static_cast<size_t>(forward->config().vocab)};
}

}  // namespace paceline
