// Clips in prompts: from a file's bytes to the tokens that transformers gives for the same frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/cpu_ops.h"
#include "media/clips_for_tests.h"
#include "model/gemma4/gemma4_forward.h"
#include "proof/golden_file.h"
#include "session/engine_request.h"
#include "session/generate.h"
#include "session/media_places.h"
#include "session/patches_for_tests.h"
#include "session/vision.h"

namespace paceline {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

Medium clip_of(const std::vector<double>& seconds, int32_t tokens) {
  auto clip = std::make_shared<Clip>();
  for (const double second : seconds) clip->frames.push_back({patches_with(tokens), 0, second});
  return std::shared_ptr<const Clip>(clip);
}

TEST(ClipPlacesTest, HaveTheTimeBeforeEachFrame) {
  const std::vector<Medium> media{clip_of({0, 0.4, 61.9}, 2), clip_of({6000}, 1)};
  const auto text = with_frame_places("a <v> b<v>", "<v>", media);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(*text, "a 00:00 <v> 00:00 <v> 01:01 <v> b100:00 <v>");
  EXPECT_THAT(with_frame_places("a <v> b", "<v>", media).error().message, HasSubstr("places for 1 clips, and 2 were"));
  EXPECT_THAT(with_frame_places("<v><v><v>", "<v>", media).error().message, HasSubstr("places for 3 clips"));
  EXPECT_THAT(with_frame_places("a", "", media).error().message, HasSubstr("takes no clips"));
}

TEST(ClipPlacesTest, StandAmongPictures) {
  TokenIds ids;
  ids.image_begin = 5, ids.image = 7, ids.image_end = 6, ids.video = 8;
  const std::vector<Medium> media{clip_of({0, 1}, 2), patches_with(1)};
  const auto prompt = place_media(ids, {2, 7, 100, 8, 8}, media);
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_EQ(prompt->tokens, (std::vector<TokenId>{2, 5, 7, 6, 100, 5, 8, 8, 6, 5, 8, 8, 6}));
  ASSERT_EQ(prompt->pictures.size(), 3u);
  EXPECT_EQ(prompt->pictures[1].first_pos, 6);
  EXPECT_FALSE(place_media(ids, {2, 7, 100, 8}, media).ok());
}

// Those that are too large for the project lie where PACELINE_SHARED says, or beside it.
fs::path golden_folder(const std::string& name) {
  const fs::path own = source() / "tests/goldens" / name;
  if (fs::exists(own / "golden.json")) return own;
  const char* shared = std::getenv("PACELINE_SHARED");
  return (shared != nullptr ? fs::path(shared) : source() / "../shared") / "goldens" / name;
}

class GoldenClips : public testing::TestWithParam<const char*> {};

TEST_P(GoldenClips, AreReadAndAnsweredAsByTransformers) {
  const fs::path folder = golden_folder(GetParam());
  if (!fs::exists(folder)) GTEST_SKIP() << "PACELINE_SHARED names the folder that holds goldens/";
  ThreadPool pool(2);
  kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
  std::ifstream file(source() / "tests/goldens/tokenizer.json", std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Tokenizer tokenizer = std::move(*Tokenizer::load(json));
  SpecialTokens special_tokens = default_special_tokens(tokenizer);
  const TextModel model =
      make_text_model(*load_model(folder / "target", pool), std::move(tokenizer), std::move(special_tokens));
  const auto vision = Vision::load(model.loaded, Precision::f32, pool, ops).value();
  const GoldenFile golden = GoldenFile::open(folder).value();
  const GoldenClip& expected = golden.clips().at(0);

  // The golden's frames, through a file without a loss.
  const auto values = golden.bytes("video0.frames").value();
  const auto height = static_cast<int32_t>(values.shape[1]), width = static_cast<int32_t>(values.shape[2]);
  const size_t size = static_cast<size_t>(width) * static_cast<size_t>(height) * 3;
  std::vector<Picture> frames;
  for (size_t at = 0; at < values.values.size(); at += size)
    frames.push_back({width,
                      height,
                      {values.values.begin() + static_cast<std::ptrdiff_t>(at),
                       values.values.begin() + static_cast<std::ptrdiff_t>(at + size)}});
  auto clip = vision->read_clip(FileBytes(encode_clip({}, frames)), static_cast<int32_t>(expected.frames.size()));
  ASSERT_TRUE(clip.ok()) << clip.error().message;
  std::vector<int32_t> numbers;
  for (const Clip::Frame& frame : clip->frames) numbers.push_back(static_cast<int32_t>(frame.number));
  EXPECT_EQ(numbers, expected.frames);

  GenerateRequest request;
  request.raw = true;
  request.prompt = "Clip: <|video|> Then ";
  request.media.emplace_back(std::make_shared<const Clip>(std::move(*clip)));
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  request.max_tokens = static_cast<int32_t>(expected.prompt.greedy.size());
  const auto prepared = prepare(model, request);
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  EXPECT_EQ(prepared->request.prompt, expected.prompt.ids);
  Gemma4Forward forward(as_gemma4(model.loaded.weights), ops, Precision::f32);
  Engine engine({&forward, &pool, nullptr, nullptr, nullptr, &vision->forward()}, {});
  EXPECT_EQ(generate(model, engine, *prepared, {})->tokens, expected.prompt.greedy);
  EXPECT_EQ(engine.stats().pictures_seen, static_cast<int64_t>(expected.frames.size()));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenClips, testing::Values("vlm", "vlm-ple", "unified"), [](const auto& param) {
  std::string name = param.param;
  std::erase(name, '-');
  return name;
});

// The shipped model's folder without what it says of clips, and with what is written into it.
class ClipBudgetFiles : public testing::Test {
 protected:
  ClipBudgetFiles() : folder_(fs::temp_directory_path() / ("paceline_clip_budget_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    for (const auto& entry : fs::directory_iterator(source() / "models/default")) {
      if (entry.is_regular_file() && entry.path().filename() != "processor_config.json")
        fs::create_symlink(entry.path(), folder_ / entry.path().filename());
    }
  }
  ~ClipBudgetFiles() override { fs::remove_all(folder_); }

  // Of a clip of 40 frames: how many are shown, and the tokens of the first.
  std::pair<size_t, int32_t> shown() {
    const LoadedModel model = load_model(folder_, pool_).value();
    const auto vision = Vision::load(model, Precision::bf16, pool_, ops_).value();
    const Clip clip = vision->read_clip(FileBytes(file_)).value();
    return {clip.frames.size(), clip.frames[0].patches->tokens};
  }

  ThreadPool pool_{2};
  kernels::CpuOps ops_{**kernels::find_cpu_table(""), pool_};
  fs::path folder_;
  Bytes file_ = encode_clip({}, test_frames(40, 96, 96));
};

TEST_F(ClipBudgetFiles, SayHowManyFramesAndTokensThereAre) {
  EXPECT_EQ(shown(), std::pair(size_t{32}, 64));
  std::ofstream(folder_ / "video_preprocessor_config.json") << R"({"num_frames": 3, "max_soft_tokens": 140})";
  EXPECT_EQ(shown(), std::pair(size_t{3}, 121));
  // What the newer file says of pictures alone changes nothing; what it says of clips goes first.
  std::ofstream(folder_ / "processor_config.json") << R"({"image_processor": {"max_soft_tokens": 280}})";
  EXPECT_EQ(shown(), std::pair(size_t{3}, 121));
  std::ofstream(folder_ / "processor_config.json") << R"({"video_processor": {"num_frames": 39}})";
  EXPECT_EQ(shown(), std::pair(size_t{39}, 64));
  std::ofstream(folder_ / "processor_config.json") << R"({"video_processor": {"num_frames": 0}})";
  const LoadedModel model = load_model(folder_, pool_).value();
  EXPECT_THAT(Vision::load(model, Precision::bf16, pool_, ops_).error().message, HasSubstr("num_frames"));
}

// As the server does it: parts of a conversation, and what they show.
TEST(ClipChatTest, PartsOfAMessageTakeTheirPlaces) {
  ThreadPool pool(2);
  const TextModel model = load_text_model(source() / "models/default", pool).value();
  ChatRequest chat;
  chat.messages.push_back({{"role", "user"},
                           {"content",
                            {{{"type", "text"}, {"text", "Before"}},
                             {{"type", "video"}},
                             {{"type", "image"}},
                             {{"type", "text"}, {"text", "after."}}}}});
  const std::vector<Medium> media{clip_of({0, 2.5}, 3), patches_with(4)};
  const auto prompt = encode_chat(model, chat, media);
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  const TokenIds& ids = model.loaded.config.ids;
  EXPECT_EQ(std::count(prompt->tokens.begin(), prompt->tokens.end(), ids.video), 6);
  EXPECT_EQ(std::count(prompt->tokens.begin(), prompt->tokens.end(), ids.image), 4);
  ASSERT_EQ(prompt->pictures.size(), 3u);
  EXPECT_LT(prompt->pictures[1].first_pos, prompt->pictures[2].first_pos);
  EXPECT_EQ(prompt->pictures[2].count, 4);
  EXPECT_FALSE(encode_chat(model, chat, std::span(media).first(1)).ok());
}

}  // namespace
}  // namespace paceline
