#include "weights/safetensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace paceline {
namespace {

using testing::HasSubstr;

std::string file_of(std::string_view header, size_t data_bytes) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  file += header;
  file.append(data_bytes, 'x');
  return file;
}

Result<SafetensorsHeader> parse(const std::string& file) { return parse_safetensors(std::as_bytes(std::span(file))); }

std::string error_of(std::string_view header, size_t data_bytes) {
  auto parsed = parse(file_of(header, data_bytes));
  EXPECT_FALSE(parsed.ok()) << header;
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Safetensors, ReadsTensorsInTheOrderTheyLie) {
  const auto parsed = parse(file_of(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
                                    R"("__metadata__":{"format":"pt"},)"
                                    R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}   )",
                                    12));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->tensors.size(), 2u);
  EXPECT_EQ(parsed->tensors[0].name, "a");
  EXPECT_EQ(parsed->tensors[0].dtype, DType::bf16);
  EXPECT_EQ(parsed->tensors[0].shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(parsed->tensors[1].end - parsed->tensors[1].begin, 8u);
  EXPECT_EQ(parsed->metadata.at("format"), "pt");
}

TEST(Safetensors, ReadsScalarsEmptyTensorsAndEscapedNames) {
  const auto parsed = parse(file_of(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                    R"("\u00e4\n":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]}})",
                                    4));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->tensors[1].name, "\xc3\xa4\n");
}

TEST(Safetensors, RefusesFilesThatAreTooShort) {
  EXPECT_THAT(parse("").error().message, HasSubstr("at least 8 bytes"));
  EXPECT_THAT(parse(std::string(7, '\0')).error().message, HasSubstr("found 7"));
  EXPECT_THAT(parse(std::string("\x10\0\0\0\0\0\0\0{}", 10)).error().message, HasSubstr("should have 16 bytes"));
  EXPECT_THAT(parse(std::string(8, '\xff')).error().message, HasSubstr("at most 100000000"));
}

TEST(Safetensors, NamesTheTensorAndWhatWasFound) {
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
              HasSubstr("\"w\": F32 [2] takes 8 bytes, but data_offsets [0, 4] hold 4"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"Q3","shape":[2],"data_offsets":[0,4]}})", 4), HasSubstr("\"Q3\""));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 4), HasSubstr("not inside the 4"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", 8), HasSubstr("not inside"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", 4),
              HasSubstr("larger than any file"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4),
              HasSubstr("at most 63 bits"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
              HasSubstr("negative number -1"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4), HasSubstr("1.5"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4),
              HasSubstr("at most 8 dimensions"));
}

TEST(Safetensors, RefusesOverlapsHolesAndRemainders) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                       6),
              HasSubstr("they overlap"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
                       9),
              HasSubstr("there is a hole"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5), HasSubstr("but 5 follow"));
  EXPECT_THAT(error_of("{}", 1), HasSubstr("take 0 bytes"));
}

TEST(Safetensors, RefusesHeadersOfAnotherForm) {
  EXPECT_THAT(error_of("[]", 0), HasSubstr("expected an object, found an array"));
  EXPECT_THAT(error_of("7", 0), HasSubstr("expected an object"));
  EXPECT_THAT(error_of("{", 0), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("{} x", 0), HasSubstr("only spaces after it"));
  EXPECT_THAT(error_of(R"({"w":3})", 0), HasSubstr("\"w\": expected an object, found a number"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":[]}})", 0), HasSubstr("dtype: expected a string, found an array"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[1]}})", 0), HasSubstr("\"data_offsets\" is missing"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 0), HasSubstr("needs two numbers"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4), HasSubstr("more than two"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4), HasSubstr("found an array"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","extra":1}})", 0), HasSubstr("found \"extra\""));
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":1}})", 0), HasSubstr("__metadata__: \"a\": expected a string"));
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":{}}})", 0), HasSubstr("found an object"));
  EXPECT_THAT(error_of(R"({"w":{"dtype":"F32","dtype":"F32"}})", 0), HasSubstr("\"dtype\" is written twice"));
  std::string deep = "{\"w\":";
  deep.append(1000, '[');
  EXPECT_THAT(error_of(deep, 0), HasSubstr("found an array"));
}

TEST(Safetensors, RefusesANameWrittenTwice) {
  EXPECT_THAT(error_of(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                       R"("w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                       4),
              HasSubstr("\"w\" is written twice"));
}

// Whatever is changed, what comes back is inside the file, or an error.
TEST(Safetensors, BearsRandomChanges) {
  const std::string good = file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,3],)"
                                   R"("data_offsets":[0,12]},"b":{"dtype":"F32","shape":[4],"data_offsets":[12,28]}})",
                                   28);
  std::mt19937 random(7);
  const std::string_view pool = "{}[]\",:0123456789-e.+abFNU\\n\xff";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string file = good;
    for (unsigned changes = random() % 4 + 1; changes > 0; --changes) {
      const size_t at = random() % file.size();
      switch (random() % 4) {
        case 0: file[at] = pool[random() % pool.size()]; break;
        case 1: file[at] = static_cast<char>(random()); break;
        case 2: file.erase(at, random() % 8 + 1); break;
        default: file.insert(at, file.substr(random() % file.size(), random() % 16)); break;
      }
      if (file.empty()) file = good;
    }
    const auto parsed = parse(file);
    if (!parsed.ok()) continue;
    ++accepted;
    for (const TensorEntry& tensor : parsed->tensors) {
      ASSERT_LE(tensor.begin, tensor.end);
      ASSERT_LE(tensor.end, file.size());
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace paceline
