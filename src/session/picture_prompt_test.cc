// Pictures in prompts: where they stand, and what the shipped model says of some, against transformers' tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <boost/json.hpp>
#include <filesystem>
#include <numeric>

#include "base/regular_file.h"
#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "session/generate.h"
#include "session/media_places.h"
#include "session/patches_for_tests.h"
#include "session/vision.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<TokenId> ids_of(const boost::json::value& list) {
  std::vector<TokenId> ids;
  for (const auto& id : list.as_array()) ids.push_back(static_cast<TokenId>(id.as_int64()));
  return ids;
}

TEST(PicturePlacesTest, GrowToTheirTokensBetweenDelimiters) {
  TokenIds ids;
  ids.image_begin = 5, ids.image = 7, ids.image_end = 6;
  const auto prompt = place_media(ids, {2, 7, 100, 7}, std::vector<Medium>{patches_with(3), patches_with(2)});
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_EQ(prompt->tokens, (std::vector<TokenId>{2, 5, 7, 7, 7, 6, 100, 5, 7, 7, 6}));
  ASSERT_EQ(prompt->pictures.size(), 2u);
  EXPECT_EQ(prompt->pictures[0].first_pos, 2);
  EXPECT_EQ(prompt->pictures[0].count, 3);
  EXPECT_EQ(prompt->pictures[1].first_pos, 8);
  EXPECT_EQ(prompt->pictures[1].count, 2);
}

TEST(PicturePlacesTest, AreAsManyAsThePictures) {
  TokenIds ids;
  ids.image = 7;
  for (const size_t given : {0, 1, 3}) {
    const auto prompt = place_media(ids, {2, 7, 100, 7}, std::vector<Medium>(given, patches_with(1)));
    ASSERT_FALSE(prompt.ok());
    EXPECT_THAT(prompt.error().message, HasSubstr("places for 2 pictures"));
  }
}

// Rows of prompts, step by step.
class PromptRows : public StepObserver {
 public:
  void observe(const StepReport& report) override {
    if (report.prompt_rows > 0) steps.push_back(report.prompt_rows);
  }
  std::vector<int32_t> steps;
};

class DefaultModelTest : public testing::Test {
 protected:
  DefaultModelTest()
      : pool_(2),
        ops_(**kernels::find_cpu_table(""), pool_),
        model_(*load_text_model(source() / "models/default", pool_)),
        vision_(std::move(*Vision::load(model_.loaded, Precision::bf16, pool_, ops_))),
        forward_(as_gemma4(model_.loaded.weights), ops_, Precision::bf16),
        engine_({&forward_, &pool_, nullptr, nullptr, &rows_, &vision_->forward()}, {}) {
    request_.sampling.temperature = 0;
    request_.max_tokens = 64;
  }

  GenerateRequest asking(const fs::path& picture, std::string question) {
    GenerateRequest request = request_;
    auto patches = vision_->read(picture, 0);
    EXPECT_TRUE(patches.ok()) << patches.error().message;
    request.media.push_back(std::make_shared<const Patches>(std::move(*patches)));
    request.prompt = std::move(question);
    return request;
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  TextModel model_;
  std::unique_ptr<Vision> vision_;
  Gemma4Forward forward_;
  PromptRows rows_;
  Engine engine_;
  GenerateRequest request_;
};

TEST_F(DefaultModelTest, AnswersAboutPicturesAsTransformersDoes) {
  const auto text = read_file(source() / "tests/default_model/golden-q4.json", 1 << 24);
  const boost::json::value golden = boost::json::parse(*text);
  int asked = 0;
  for (const auto& image : golden.at("images").as_array()) {
    const auto& content = image.at("messages").at(0).at("content").as_array();
    const fs::path file = source() / "tests/default_model" / image.at("file").as_string().c_str();
    auto prepared = prepare(model_, asking(file, content.back().at("text").as_string().c_str()));
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    EXPECT_EQ(prepared->request.prompt, ids_of(image.at("ids")));
    // Eight-bit activations may turn what is closer than this.
    if (image.at("min_gap").to_number<double>() < 0.1) continue;
    ++asked;
    const GenerateResult result = generate(model_, engine_, *prepared, {}).value();
    std::vector<TokenId> expected = ids_of(image.at("greedy"));
    if (result.finish == FinishReason::stop) expected.pop_back();
    EXPECT_EQ(result.tokens, expected) << file;
  }
  EXPECT_GE(asked, 5);
}

// Said by its length alone: of these bytes none can be read.
TEST_F(DefaultModelTest, ATextThatIsTooLongToEncodeIsAnError) {
  constexpr size_t kBytes = size_t{1} << 31;
  void* const nowhere = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(nowhere, MAP_FAILED);
  const auto prompt = encode_with_media(model_, {static_cast<const char*>(nowhere), kBytes}, true, {});
  ASSERT_FALSE(prompt.ok());
  EXPECT_THAT(prompt.error().message, HasSubstr("found 2147483648"));
  ::munmap(nowhere, kBytes);
}

TEST_F(DefaultModelTest, APlaceInThePromptIsTaken) {
  const fs::path file = source() / "tests/default_model/picture0.png";
  const auto before = prepare(model_, asking(file, "What shape is green?"));
  const auto inside = prepare(model_, asking(file, "What shape<|image|> is green?"));
  ASSERT_TRUE(before.ok() && inside.ok());
  EXPECT_EQ(before->request.pictures[0].count, 64);
  EXPECT_EQ(inside->request.pictures[0].count, 64);
  EXPECT_LT(before->request.pictures[0].first_pos, inside->request.pictures[0].first_pos);
  GenerateRequest none = request_;
  none.prompt = "What shape<|image|> is green?";
  EXPECT_THAT(prepare(model_, none).error().message, HasSubstr("places for 1 pictures, and 0 were given"));
}

// Larger than any chunk: the image runs in one call, and the budget is what was asked for.
TEST_F(DefaultModelTest, ALargeBudgetRunsInOneCall) {
  GenerateRequest request = request_;
  auto patches = vision_->read(source() / "tests/default_model/picture0.png", 280);
  ASSERT_TRUE(patches.ok()) << patches.error().message;
  EXPECT_EQ(patches->tokens, 256);
  auto larger = vision_->read(source() / "tests/default_model/picture0.png", 560);
  ASSERT_TRUE(larger.ok()) << larger.error().message;
  EXPECT_EQ(larger->tokens, 23 * 23);
  request.media.push_back(std::make_shared<const Patches>(std::move(*larger)));
  request.prompt = "What shape is green?";
  request.max_tokens = 4;
  auto prepared = prepare(model_, request);
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  const auto size = static_cast<int64_t>(prepared->request.prompt.size());
  EXPECT_EQ(generate(model_, engine_, *prepared, {})->prompt_tokens, size);
  // Nothing but a picture makes a step of a prompt longer than a chunk.
  EXPECT_THAT(rows_.steps, Contains(testing::Ge(23 * 23)).Times(1));
  EXPECT_EQ(std::accumulate(rows_.steps.begin(), rows_.steps.end(), int64_t{0}), size);
}

TEST_F(DefaultModelTest, FilesThatAreNoPicturesAreNamedWithTheReason) {
  const auto result = vision_->read(source() / "README.md", 0);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("README.md: expected a picture"));
}

}  // namespace
}  // namespace paceline
