#include "session/cost_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "weights/scratch_folder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

StepCosts some_costs() {
  StepCosts costs;
  costs.at(0).step.set(1, 10, 3);
  costs.at(0).step.set(8, 14.5, 2);
  costs.at(0).draft.set(4, 1.25, 100);
  costs.at(5000).step.set(1, 12, 4);
  for (int i = 0; i < 50; ++i) costs.typical.observe(2, 4);
  return costs;
}

const CostKey kKey{"model", "drafter", "device", "build"};

fs::path only_file(const fs::path& folder) { return fs::directory_iterator(folder)->path(); }

TEST(CostStore, ComesBackAsItWasKept) {
  const ScratchFolder scratch;
  const CostStore store(scratch.path() / "a" / "b");
  EXPECT_EQ(store.load(kKey), nullptr);
  ASSERT_TRUE(store.save(kKey, some_costs()).ok());
  auto costs = store.load(kKey);
  ASSERT_NE(costs, nullptr);
  EXPECT_DOUBLE_EQ(costs->at(0).step.ms(8), 14.5);
  EXPECT_EQ(costs->at(0).step.samples(8), 2);
  EXPECT_EQ(costs->at(0).step.samples(2), 0);
  EXPECT_DOUBLE_EQ(costs->at(0).draft.ms(4), 1.25);
  EXPECT_DOUBLE_EQ(costs->at(5000).step.ms(1), 12);
  EXPECT_FALSE(costs->of_class(7).has_value());
  for (const int32_t position : {0, 1, 2, 7}) {
    EXPECT_DOUBLE_EQ(costs->typical.acceptance(position), some_costs().typical.acceptance(position));
  }
}

TEST(CostStore, IsOfOneModelDrafterDeviceAndBuild) {
  const ScratchFolder scratch;
  const CostStore store(scratch.path());
  ASSERT_TRUE(store.save(kKey, some_costs()).ok());
  EXPECT_EQ(store.load({"other", "drafter", "device", "build"}), nullptr);
  EXPECT_EQ(store.load({"model", "other", "device", "build"}), nullptr);
  EXPECT_EQ(store.load({"model", "drafter", "other", "build"}), nullptr);
  EXPECT_EQ(store.load({"model", "drafter", "device", "other"}), nullptr);
}

TEST(CostStore, ABrokenFileIsAsGoodAsNone) {
  const ScratchFolder scratch;
  const CostStore store(scratch.path());
  ASSERT_TRUE(store.save(kKey, some_costs()).ok());
  const fs::path file = only_file(scratch.path());
  std::string whole;
  std::getline(std::ifstream(file), whole);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& broken :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"), with("\"step\":[[1,", "\"step\":[[-1,"),
        with("\"step\":[[1,", "\"step\":[[99,"), with("1.45E1", "-1"), with("1.45E1", "\"x\""),
        with("\"typical\":[", "\"typical\":[7,"), with("\"class\":0", "\"class\":10"),
        with("\"build\":\"build\"", "\"build\":\"bulid\"")}) {
    std::ofstream(file) << broken;
    EXPECT_EQ(store.load(kKey), nullptr) << broken;
  }
  std::ofstream(file) << whole;
  EXPECT_NE(store.load(kKey), nullptr);
}

TEST(CostStore, WhereNothingCanBeKeptNothingIs) {
  EXPECT_FALSE(CostStore("").save(kKey, some_costs()).ok());
  EXPECT_FALSE(CostStore("/dev/null/no").save(kKey, some_costs()).ok());
  EXPECT_EQ(CostStore("/dev/null/no").load(kKey), nullptr);
}

// A disk that is full: files may grow to so many bytes and not further.
TEST(CostStore, WhatCannotBeWrittenWholeLeavesNothingBehind) {
  const ScratchFolder scratch;
  const CostStore store(scratch.path());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool saved = store.save(kKey, some_costs()).ok();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(saved);
  EXPECT_TRUE(fs::is_empty(scratch.path())) << only_file(scratch.path());

  // Something is in the place of the file.
  ASSERT_TRUE(store.save(kKey, some_costs()).ok());
  const fs::path file = only_file(scratch.path());
  fs::remove(file);
  fs::create_directories(file / "taken");
  EXPECT_FALSE(store.save(kKey, some_costs()).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1);
}

TEST(CostStore, AnotherCheckpointInTheSamePlaceIsAnother) {
  const ScratchFolder scratch;
  scratch.write("config.json", "{}");
  scratch.write("model.safetensors", "12345");
  const std::string before = checkpoint_identity(scratch.path());
  EXPECT_EQ(checkpoint_identity(scratch.path()), before);
  scratch.write("model.safetensors", "123456");
  EXPECT_NE(checkpoint_identity(scratch.path()), before);
  EXPECT_NE(build_identity(), "");
}

}  // namespace
}  // namespace paceline
