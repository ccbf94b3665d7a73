#include "weights/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "weights/safetensors/safetensors_writer.h"
#include "weights/safetensors/shard_index.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

void write_shard(const ScratchFolder& folder, const std::string& file, const std::vector<std::string>& names) {
  std::vector<TensorPlan> plan;
  for (const auto& name : names) plan.push_back({name, DType::f32, {2}});
  auto writer = SafetensorsWriter::create(folder.path() / file, plan, {});
  ASSERT_TRUE(writer.ok());
  const std::vector<float> values = {1.0f, 2.0f};
  for (size_t i = 0; i < names.size(); ++i) ASSERT_TRUE(writer->write(i, 0, std::as_bytes(std::span(values))).ok());
  ASSERT_TRUE(writer->finish().ok());
}

std::string error_of(const ScratchFolder& folder) {
  const auto opened = Checkpoint::open(folder.path());
  EXPECT_FALSE(opened.ok());
  return opened.ok() ? "" : opened.error().message;
}

TEST(Checkpoint, OpensOneFile) {
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  folder.write("tokenizer.json", "[1]");
  write_shard(folder, "model.safetensors", {"a", "b"});
  const auto opened = Checkpoint::open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Checkpoint& checkpoint = **opened;
  ASSERT_NE(checkpoint.find("b"), nullptr);
  EXPECT_TRUE(checkpoint.find("b")->aligned());
  EXPECT_EQ(checkpoint.find("c"), nullptr);
  EXPECT_EQ(checkpoint.generation_config_json(), "");
  EXPECT_EQ(checkpoint.side_file("tokenizer.json")->value(), "[1]");
  EXPECT_FALSE(checkpoint.side_file("chat_template.jinja")->has_value());

  TensorUse use(checkpoint);
  EXPECT_NE(use.take("a"), nullptr);
  EXPECT_EQ(use.take("none"), nullptr);
  ASSERT_EQ(use.untaken().size(), 1u);
  EXPECT_EQ(use.untaken()[0]->name, "b");
}

TEST(Checkpoint, OpensShards) {
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  write_shard(folder, "model-00002-of-00002.safetensors", {"c"});
  write_shard(folder, "model-00001-of-00002.safetensors", {"a", "b"});
  folder.write("model.safetensors.index.json", R"({"metadata":{"total_size":24},"weight_map":{
    "c":"model-00002-of-00002.safetensors","a":"model-00001-of-00002.safetensors","b":"model-00001-of-00002.safetensors"}})");
  const auto opened = Checkpoint::open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ((*opened)->files().size(), 2u);
  EXPECT_EQ((*opened)->files()[0].path().filename(), "model-00001-of-00002.safetensors");
  EXPECT_NE((*opened)->find("c"), nullptr);
}

TEST(Checkpoint, NamesWhatIsMissing) {
  const ScratchFolder folder;
  EXPECT_THAT(error_of(folder), HasSubstr("config.json"));
  folder.write("config.json", "{}");
  EXPECT_THAT(error_of(folder), HasSubstr("found neither"));
  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"one.safetensors"}})");
  EXPECT_THAT(error_of(folder), HasSubstr("one.safetensors: cannot open"));
  write_shard(folder, "one.safetensors", {"b"});
  EXPECT_THAT(error_of(folder), HasSubstr("\"a\" should be in one.safetensors"));
  folder.write("model.safetensors.index.json", R"({"weight_map":{}})");
  write_shard(folder, "one.safetensors", {"a", "b"});
  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"one.safetensors"}})");
  EXPECT_THAT(error_of(folder), HasSubstr("\"b\" is in a shard, but not in the index"));
  const auto nowhere = Checkpoint::open(folder.path() / "nowhere");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_THAT(nowhere.error().message, HasSubstr("expected a checkpoint folder"));
}

TEST(Checkpoint, NamesTheFileOfABadHeader) {
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", "short");
  EXPECT_THAT(error_of(folder), HasSubstr("model.safetensors: expected at least 8 bytes"));
}

TEST(ShardIndex, RefusesPaths) {
  for (const char* shard : {"../x.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
    const auto index = parse_shard_index(std::string(R"({"weight_map":{"t":")") + shard + "\"}}");
    ASSERT_FALSE(index.ok()) << shard;
    EXPECT_THAT(index.error().message, HasSubstr("weight_map.t: expected the name of a file")) << shard;
  }
  EXPECT_THAT(parse_shard_index("{}").error().message, HasSubstr("weight_map: expected an object, found nothing"));
  EXPECT_THAT(parse_shard_index(R"({"weight_map":{"t":1}})").error().message,
              HasSubstr("weight_map.t: expected a string"));
  EXPECT_THAT(parse_shard_index("[").error().message, HasSubstr("expected JSON"));
  EXPECT_FALSE(parse_shard_index(std::string(100000, '[')).ok());
}

TEST(ShardIndex, BearsRandomChanges) {
  const std::string good = R"({"metadata":{"total_size":24},"weight_map":{"a":"x.safetensors","b":"y.safetensors"}})";
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (int changes = 0; changes < 3; ++changes) text[random() % text.size()] = static_cast<char>(random());
    const auto index = parse_shard_index(text);
    if (!index.ok()) continue;
    for (const auto& [name, shard] : index->shard_of) ASSERT_LT(shard, index->shards.size());
  }
}

}  // namespace
}  // namespace paceline
