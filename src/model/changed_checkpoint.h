// For tests: a golden's checkpoint, to be changed and written again.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "weights/checkpoint.h"
#include "weights/safetensors/safetensors_writer.h"
#include "weights/scratch_folder.h"

namespace paceline {

inline const std::string kGoldens = PACELINE_SOURCE_DIR "/tests/goldens/";

inline void replace(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

struct ChangedCheckpoint {
  struct One {
    TensorPlan plan;
    std::vector<std::byte> bytes;
  };
  std::string config;
  std::vector<One> all;

  // name: "dense/target", "ple/assistant", …
  explicit ChangedCheckpoint(const std::string& name) {
    const auto checkpoint = Checkpoint::open(kGoldens + name).value();
    config = checkpoint->config_json();
    for (const TensorView& t : checkpoint->tensors()) {
      all.push_back({{t.name, t.dtype, t.shape}, {t.values, t.values + t.bytes}});
    }
  }

  void erase(std::string_view name) {
    std::erase_if(all, [&](const One& one) { return one.plan.name == name; });
  }
  One& at(std::string_view name) {
    for (One& one : all) {
      if (one.plan.name == name) return one;
    }
    ADD_FAILURE() << name;
    return all[0];
  }
  void add(const std::string& name, DType dtype, std::vector<int64_t> shape) {
    TensorPlan plan{name, dtype, std::move(shape)};
    std::vector<std::byte> zeros(plan.bytes());
    all.push_back({std::move(plan), std::move(zeros)});
  }
  void reshape(std::string_view name, std::vector<int64_t> shape, DType dtype) {
    One& one = at(name);
    one.plan.shape = std::move(shape);
    one.plan.dtype = dtype;
    one.bytes.resize(one.plan.bytes());
  }

  void write(const ScratchFolder& folder) const {
    folder.write("config.json", config);
    std::vector<TensorPlan> plans;
    for (const One& one : all) plans.push_back(one.plan);
    auto writer = SafetensorsWriter::create(folder.path() / "model.safetensors", plans, {}).value();
    for (size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(writer.write(i, 0, all[i].bytes).ok());
    ASSERT_TRUE(writer.finish().ok());
  }
};

}  // namespace paceline
