#include "session/found_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu_ops.h"
#include "model/load.h"
#include "weights/gguf/gguf_writer_for_tests.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(DrafterPlaces, WithinTheTargetAndBesideIt) {
  EXPECT_THAT(drafter_places("/models/gemma", {}),
              ElementsAre("/models/gemma/assistant", "/models/gemma-assistant", "/models/assistant",
                          "/models/gemma/dflash", "/models/gemma-DFlash", "/models/dflash"));
}

TEST(DrafterPlaces, InTheHubCacheUnderTheTargetsName) {
  const ScratchFolder scratch;
  const fs::path hub = scratch.path() / "hub";
  const fs::path target = hub / "models--google--gemma-4-E2B-it" / "snapshots" / "abc";
  fs::create_directories(target);
  const fs::path drafter = hub / "models--google--gemma-4-E2B-it-assistant" / "snapshots" / "def";
  EXPECT_THAT(drafter_places(target, {{hub}}), Not(Contains(drafter)));
  fs::create_directories(drafter);
  scratch.write("hub/models--google--gemma-4-E2B-it-assistant/refs/main", "def\n");
  EXPECT_THAT(drafter_places(target, {{hub}}), Contains(drafter));
}

TEST(DrafterPlaces, OfAGgufFileWhereItsNameLies) {
  const ScratchFolder scratch;
  const auto write = [&](const char* name, const char* architecture) {
    return scratch.write(name, GgufBytes().string("general.architecture", architecture).bytes());
  };
  const fs::path blob = write("blobs/1", "gemma4"), drafter = write("snapshot/MTP/d.gguf", "gemma4-assistant");
  const fs::path target = scratch.path() / "snapshot/m.gguf";
  fs::create_symlink(blob, target);
  EXPECT_THAT(drafter_places(target, {}), Contains(drafter));
}

// Found beside the file, and drafting for it.
TEST(LoadDrafter, FromAGgufFile) {
  const fs::path goldens = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens";
  ThreadPool pool(1);
  kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
  const auto made = load_model(goldens / "ple/target", pool)->weights->make_forward(ops, Precision::bf16);
  const auto found = FoundDrafter::load(goldens / "gguf/ple-assistant-q8_0.gguf", *made, pool, ops);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->kind(), DraftedBy::mtp);
  EXPECT_EQ(found->mtp()->head.format, WeightFormat::q8_0);
}

TEST(LoadDrafter, SaysWhatDoesNotFit) {
  const fs::path goldens = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens";
  ThreadPool pool(1);
  kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
  const auto made = load_model(goldens / "dense/target", pool)->weights->make_forward(ops, Precision::bf16);
  Forward& target = *made;
  EXPECT_TRUE(FoundDrafter::load(goldens / "dense/assistant", target, pool, ops).ok());
  const auto other = FoundDrafter::load(goldens / "ple/assistant", target, pool, ops);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("does not fit the model"));
  EXPECT_EQ(FoundDrafter::load(goldens / "dense/dflash", target, pool, ops)->kind(), DraftedBy::dflash);
  const auto of_another = FoundDrafter::load(goldens / "moe/dflash", target, pool, ops);
  EXPECT_TRUE(of_another.ok());  // of the same form
  const auto no_drafter = FoundDrafter::load(goldens / "dense/target", target, pool, ops);
  ASSERT_FALSE(no_drafter.ok());
  EXPECT_THAT(no_drafter.error().message, HasSubstr("assistant"));
}

}  // namespace
}  // namespace paceline
