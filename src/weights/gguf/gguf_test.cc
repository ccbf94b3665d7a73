#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/gguf/gguf_checkpoint.h"
#include "weights/gguf/gguf_header.h"
#include "weights/gguf/gguf_tensors.h"
#include "weights/gguf/gguf_writer_for_tests.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& file) {
  const auto parsed = parse_gguf(std::as_bytes(std::span(file)));
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(GgufHeader, ReadsKeysAndTensors) {
  for (const uint32_t version : {2u, 3u}) {
    GgufBytes made;
    made.version = version;
    made.u32("a.count", 7).f32("a.eps", 0.5f).string("a.name", "x").booleans("a.flags", {true, false});
    made.strings("a.words", {"one", "", "three"}).key("a.small", 1, GgufBytes::raw<int8_t>(-3));
    made.tensor("first", {32, 2}, 8, std::string(68, '\1')).tensor("second", {3}, 0, std::string(12, '\2'));
    const std::string file = made.bytes();
    const auto parsed = parse_gguf(std::as_bytes(std::span(file)));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const GgufMetadata& metadata = parsed->metadata;
    EXPECT_EQ(metadata.integer("a.count", 0, 10).value(), 7);
    EXPECT_EQ(metadata.integer("a.small", -10, 10).value(), -3);
    EXPECT_EQ(metadata.number_or("a.eps", 0, 0, 1).value(), 0.5);
    EXPECT_EQ(metadata.text("a.name").value(), "x");
    EXPECT_EQ(metadata.booleans("a.flags", 2).value(), (std::vector<bool>{true, false}));
    uint64_t count = 0;
    auto words = metadata.strings("a.words", &count);
    ASSERT_TRUE(words.ok());
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(words->next(), "one");
    EXPECT_EQ(words->next(), "");
    EXPECT_EQ(words->next(), "three");
    ASSERT_EQ(parsed->tensors.size(), 2u);
    EXPECT_EQ(parsed->tensors[0].shape, (std::vector<int64_t>{2, 32}));
    EXPECT_EQ(parsed->tensors[0].type.blocks, WeightFormat::q8_0);
    EXPECT_EQ(file[parsed->tensors[1].begin], '\2');
    EXPECT_EQ(parsed->tensors[1].bytes, 12u);
  }
}

TEST(GgufHeader, AWrongValueIsNamed) {
  GgufBytes made;
  made.u32("a.count", 7).string("a.name", "x");
  const std::string file = made.bytes();
  const auto parsed = parse_gguf(std::as_bytes(std::span(file)));
  EXPECT_EQ(parsed->metadata.integer("a.count", 0, 5).error().message,
            "key \"a.count\": expected an integer from 0 to 5, found 7");
  EXPECT_EQ(parsed->metadata.integer("a.none", 0, 5).error().message,
            "key \"a.none\": expected an integer from 0 to 5, found none");
  EXPECT_EQ(parsed->metadata.integer("a.name", 0, 5).error().message,
            "key \"a.name\": expected an integer from 0 to 5, found \"x\"");
}

TEST(GgufHeader, RefusesWhatTheFileCannotHold) {
  EXPECT_THAT(error_of("GGML"), HasSubstr("begins with \"GGUF\""));
  EXPECT_THAT(error_of("GGUF"), HasSubstr("the version"));
  for (const uint32_t version : {0u, 1u, 4u, 0x03000000u}) {
    GgufBytes made;
    made.version = version;
    EXPECT_THAT(error_of(made.bytes()), HasSubstr(version == 0x03000000u ? "big-endian" : "version 2 or 3"));
  }
  std::string many = GgufBytes().bytes();
  many[15] = '\x7f';
  EXPECT_THAT(error_of(many), HasSubstr("as many tensors"));
  EXPECT_THAT(
      error_of(GgufBytes().key("a", 9, GgufBytes::raw<uint32_t>(8) + GgufBytes::raw<uint64_t>(1u << 30)).bytes()),
      HasSubstr("key \"a\": expected an array within"));
  EXPECT_THAT(error_of(GgufBytes().key("a", 9, GgufBytes::raw<uint32_t>(9) + GgufBytes::raw<uint64_t>(1)).bytes()),
              HasSubstr("an array of arrays"));
  EXPECT_THAT(error_of(GgufBytes().key("a", 13, "").bytes()), HasSubstr("key \"a\": expected a type from 0 to 12"));
  EXPECT_THAT(error_of(GgufBytes().u32("a", 1).u32("a", 2).bytes()), HasSubstr("key \"a\": expected it once"));
}

TEST(GgufHeader, RefusesWrongTensors) {
  const std::string row(34, '\0');
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {32}, 18, row).bytes()), HasSubstr("type IQ3_XXS of t is not read"));
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {32}, 77, row).bytes()), HasSubstr("type 77 of t is not read"));
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {31}, 8, row).bytes()), HasSubstr("a multiple of 32, as Q8_0 has it"));
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {0}, 0, row).bytes()), HasSubstr("dimensions of at least 1"));
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {1, 1, 1, 1, 1}, 0, row).bytes()), HasSubstr("1 to 4 dimensions"));
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {1ull << 40, 1ull << 40}, 0, row).bytes()), HasSubstr("below 2^63"));
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {1000}, 0, row).bytes()), HasSubstr("its 4000 bytes within"));
  EXPECT_THAT(error_of(GgufBytes().tensor("t", {32}, 8, row).tensor("t", {32}, 8, row).bytes()),
              HasSubstr("the name once"));
}

TEST(GgufHeader, AnyCutIsRefused) {
  GgufBytes made;
  made.u32("a.count", 7).strings("a.words", {"one", "two"}).tensor("t", {32, 3}, 2, std::string(54, 'x'));
  const std::string file = made.bytes();
  const size_t values_end = file.size() - 10;  // 54 bytes, padded to 64
  for (size_t length = 0; length < values_end; ++length) EXPECT_NE(error_of(file.substr(0, length)), "") << length;
  EXPECT_EQ(error_of(file), "");
}

// A whole model would be needed to open it: what is missing is said by name, and files are found by what they are.
TEST(GgufCheckpoint, SaysWhatIsMissing) {
  const ScratchFolder folder;
  const auto message = [&](const std::string& bytes) {
    const auto opened = Checkpoint::open(folder.write("model.gguf", bytes));
    return opened.ok() ? "" : opened.error().message;
  };
  EXPECT_THAT(message("GGUF"), HasSubstr("model.gguf: byte 4: expected the version"));
  EXPECT_THAT(message(GgufBytes().string("general.architecture", "llama").bytes()),
              HasSubstr("key \"general.architecture\": expected gemma4"));
  EXPECT_THAT(message(GgufBytes().string("general.architecture", "gemma4_mtp").bytes()),
              HasSubstr("found \"gemma4_mtp\""));
  EXPECT_THAT(message(GgufBytes().string("general.architecture", "gemma4").bytes()), HasSubstr("token_embd.weight"));
}

TEST(GgufFiles, PartsBelongTogether) {
  const ScratchFolder folder;
  const auto part = [&](uint16_t number, uint16_t count, int32_t tensors, const std::string& tensor) {
    GgufBytes made;
    made.key("split.no", 2, GgufBytes::raw(number)).key("split.count", 2, GgufBytes::raw(count));
    made.key("split.tensors.count", 5, GgufBytes::raw(tensors));
    if (!tensor.empty()) made.tensor(tensor, {1}, 0, std::string(4, '\0'));
    return made.bytes();
  };
  const auto first = folder.write("m-00001-of-00002.gguf", part(0, 2, 1, ""));
  EXPECT_THAT(GgufFiles::open(first).error().message, HasSubstr("m-00002-of-00002.gguf: cannot open"));
  const auto second = folder.write("m-00002-of-00002.gguf", part(1, 2, 1, "t"));
  for (const auto& file : {first, second}) {
    const auto opened = GgufFiles::open(file);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened->files.size(), 2u);
    EXPECT_TRUE(opened->has("t"));
  }
  EXPECT_FALSE(is_later_part(first));
  EXPECT_TRUE(is_later_part(second));
  folder.write("m-00002-of-00002.gguf", part(0, 2, 1, "t"));
  EXPECT_THAT(GgufFiles::open(first).error().message, HasSubstr("split.no"));
  folder.write("m-00002-of-00002.gguf", part(1, 2, 1, ""));
  EXPECT_THAT(GgufFiles::open(first).error().message, HasSubstr("expected 1 tensors in all files, found 0"));
  EXPECT_THAT(GgufFiles::open(folder.write("other.gguf", part(0, 2, 1, ""))).error().message,
              HasSubstr("one of 2 files"));
}

TEST(GgufPlace, FindsQuantisationsByName) {
  const ScratchFolder folder;
  const std::string model = GgufBytes().string("general.architecture", "gemma4").bytes();
  const auto medium = folder.write("m-Q4_K_M.gguf", model);
  const auto small = folder.write("m-Q4_K_S.gguf", model);
  const auto large = folder.write("BF16/m-00001-of-00002.gguf", model);
  EXPECT_EQ(gguf_named(folder.path(), "q4_k_m").value(), medium);
  EXPECT_EQ(gguf_named(folder.path(), "Q4_K_S").value(), small);
  EXPECT_EQ(gguf_named(folder.path(), "bf16").value(), large);
  EXPECT_THAT(gguf_named(folder.path(), "Q4_K").error().message, HasSubstr("m-Q4_K_M.gguf"));
  EXPECT_THAT(GgufPlace::find(folder.path()).error().message, HasSubstr("expected one GGUF model in it, found 2"));
}

TEST(GgufPlace, DraftersAndProjectorsAreKnownByWhatTheyAre) {
  const ScratchFolder folder;
  const auto model = folder.write("a.gguf", GgufBytes().string("general.architecture", "gemma4").bytes());
  const auto drafter =
      folder.write("MTP/b.gguf", GgufBytes().string("general.architecture", "gemma4-assistant").bytes());
  const auto beside = folder.write("c.gguf", GgufBytes().string("general.architecture", "gemma4_assistant").bytes());
  const auto half = folder.write("mmproj-F16.gguf", GgufBytes().string("general.architecture", "clip").bytes());
  const auto found = GgufPlace::find(folder.path());
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->model, model);
  EXPECT_EQ(found->vision, half);
  const auto better = folder.write("mmproj-BF16.gguf", GgufBytes().string("general.architecture", "clip").bytes());
  folder.write("mmproj-0.gguf", model.string());
  EXPECT_EQ(GgufPlace::find(model)->vision, better);
  EXPECT_EQ(gguf_drafters_beside(model), (std::vector<std::filesystem::path>{beside, drafter}));
}

// NVFP4's last scale, one for each matrix of a stack.
TEST(GgufTensors, AScaleBesideAStackIsEachMatrixsOwn) {
  const std::vector<float> scales = {0.5f, 3.0f};
  const ScratchFolder folder;
  const auto path = folder.write(
      "m.gguf",
      GgufBytes()
          .string("general.architecture", "gemma4")
          .tensor("blk.0.ffn_gate_up_exps.weight", {64, 3, 2}, 40, std::string(6 * 36, '\0'))
          .tensor("blk.0.ffn_gate_up_exps.scale", {2}, 0, GgufBytes::raw(scales[0]) + GgufBytes::raw(scales[1]))
          .bytes());
  const auto files = GgufFiles::open(path);
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_TRUE(is_matrix_scale(*files, "blk.0.ffn_gate_up_exps.scale"));
  EXPECT_FALSE(is_matrix_scale(*files, "blk.0.ffn_gate_up_exps.weight"));
  GgufTensors tensors;
  ASSERT_TRUE(tensors.add_scaled("experts", *files, *files->find("blk.0.ffn_gate_up_exps.weight")).ok());
  const auto views = tensors.take();
  const auto owners = tensors.take_owners();
  ASSERT_NE(views.front().factors, nullptr);
  for (int row = 0; row < 6; ++row) EXPECT_EQ(views.front().factors[row], row < 3 ? 0.5 : 3.0);
}

}  // namespace
}  // namespace paceline
