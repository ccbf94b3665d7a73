#include "weights/safetensors/safetensors_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/regular_file.h"
#include "weights/mapped_file.h"
#include "weights/safetensors/safetensors.h"
#include "weights/scratch_folder.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const ScratchFolder folder;
  const auto path = folder.path() / "w.safetensors";
  auto writer = SafetensorsWriter::create(path, {{"s", DType::u8, {3}}, {"f", DType::u32, {1, 2}}}, {{"format", "pt"}});
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE(writer->write(1, 4, bytes_of("5678")).ok());
  ASSERT_TRUE(writer->write(0, 0, bytes_of("abc")).ok());
  ASSERT_TRUE(writer->write(1, 0, bytes_of("1234")).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->finish().ok());

  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  const auto header = parse_safetensors(file->bytes());
  ASSERT_TRUE(header.ok()) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->tensors[0].name, "f");  // the larger elements first: aligned
  EXPECT_EQ(header->tensors[0].begin % 64, 0u);
  EXPECT_EQ(header->metadata.at("format"), "pt");
  const std::string_view all(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  EXPECT_TRUE(all.ends_with("12345678abc"));
}

TEST(SafetensorsWriter, LeavesNothingWhenNotFinished) {
  const ScratchFolder folder;
  {
    auto writer = SafetensorsWriter::create(folder.path() / "w.safetensors", {{"s", DType::u8, {3}}}, {});
    ASSERT_TRUE(writer.ok());
    const auto finished = writer->finish();
    ASSERT_FALSE(finished.ok());
    EXPECT_THAT(finished.error().message, testing::HasSubstr("expected 3 bytes, got 0"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(SafetensorsWriter::create(folder.path() / "no" / "w", {}, {}).ok());
  EXPECT_FALSE(SafetensorsWriter::create(folder.path() / "w", {{"s", DType::u8, {1}}, {"s", DType::u8, {1}}}, {}).ok());
}

TEST(MappedFile, SaysWhatIsWrong) {
  const ScratchFolder folder;
  EXPECT_THAT(MappedFile::open(folder.path() / "none").error().message, testing::HasSubstr("No such file"));
  EXPECT_THAT(MappedFile::open(folder.path()).error().message, testing::HasSubstr("regular file"));
  folder.write("empty", "");
  EXPECT_EQ(MappedFile::open(folder.path() / "empty")->bytes().size(), 0u);
  folder.write("three", "abc");
  EXPECT_EQ(read_file(folder.path() / "three", 3).value(), "abc");
  EXPECT_THAT(read_file(folder.path() / "three", 2).error().message, testing::HasSubstr("at most 2 bytes, found 3"));
}

TEST(Sha256, OfKnownBytesAndOfFilesInOrder) {
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(sha256_hex(bytes_of("abc")).value(), abc);
  const ScratchFolder folder;
  std::vector<MappedFile> files;
  files.push_back(MappedFile::open(folder.write("1", "a")).value());
  files.push_back(MappedFile::open(folder.write("2", "bc")).value());
  EXPECT_EQ(sha256_hex(files).value(), abc);
}

}  // namespace
}  // namespace paceline
