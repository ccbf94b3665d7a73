// Pictures in prompts: drafts, company and kept pages change no token; what was seen once is not looked at again; and
// the same tokens with another picture behind them are another text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>

#include "engine/engine.h"
#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/mtp_binding.h"
#include "model/load.h"
#include "proof/load_identity.h"
#include "proof/long_form_for_tests.h"
#include "speculate/dflash/dflash_drafter.h"
#include "speculate/mtp/mtp_drafter.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

Picture striped_picture(int32_t width, int32_t height, int step) {
  Picture picture{width, height, {}};
  for (int32_t i = 0; i < width * height * 3; ++i) picture.rgb.push_back(static_cast<uint8_t>(i / 16 * step));
  return picture;
}

class PictureText : public Listener {
 public:
  Heard hear(const Event& event) override {
    for (const NewToken& token : event.tokens) tokens.push_back(token.id);
    cached = event.cached;
    return {event.tokens.size(), false};
  }
  std::vector<TokenId> tokens;
  int32_t cached = 0;
};

class PictureIdentity : public testing::TestWithParam<const char*> {
 protected:
  PictureIdentity() : pool_(2), ops_(**kernels::find_cpu_table(""), pool_) {}

  void SetUp() override {
    if (!fs::exists(folder())) GTEST_SKIP() << "PACELINE_SHARED names the folder that holds goldens/";
    model_ = load_model(folder(), pool_).value();
    forward_.emplace(as_gemma4(model_.weights), ops_, Precision::bf16);
    vision_.emplace(load_vision_weights(model_.checkpoint, model_.config.hidden, pool_).value(), ops_, Precision::bf16);
    parts_ = {&*forward_, &pool_, nullptr, &costs_, nullptr, &*vision_};
    settings_.kv_bytes = size_t{256} << 20;
    for (int i = 0; i < 4; ++i) pictures_.push_back(picture(i));
  }

  static bool is_shipped() { return std::string(GetParam()) == "default"; }
  static fs::path folder() {
    const fs::path source = PACELINE_SOURCE_DIR;
    if (is_shipped()) return source / "models/default";
    // Those that are too large for the project lie where PACELINE_SHARED says, or beside it.
    const fs::path own = source / "tests/goldens" / GetParam() / "target";
    if (fs::exists(own / "model.safetensors")) return own;
    const char* shared = std::getenv("PACELINE_SHARED");
    return (shared != nullptr ? fs::path(shared) : source / "../shared") / "goldens" / GetParam() / "target";
  }

  // Two grids, so that places of equal length hold different pictures.
  RequestPicture picture(int number) {
    const VisionConfig& config = vision_->weights().config;
    const Picture pixels = number < 3 ? striped_picture(96, 96, 3 + number) : striped_picture(200, 60, 5);
    auto patches =
        std::make_shared<const Patches>(make_patches(pixels, config.shape, config.side(), kBudgets[0]).value());
    return {0, patches->tokens, patches, {static_cast<uint64_t>(number) + 1, 7}};
  }

  // Only the shipped model has a drafter of its own; elsewhere what was said before is said again.
  void use_drafts() {
    if (is_shipped()) {
      drafter_ = std::make_unique<MtpDrafter>(
          std::make_unique<MtpForward>(load_mtp(folder() / "assistant", pool_).value(), as_gemma4(forward_->weights()),
                                       ops_, forward_->precision()));
    } else {
      drafter_ = std::make_unique<NgramDrafter>();
    }
    parts_.drafter = drafter_.get();
  }

  [[nodiscard]] std::vector<TokenId> words(int32_t count) const {
    std::vector<TokenId> tokens{model_.config.ids.bos};
    for (int32_t i = 0; i < count; ++i) tokens.push_back(140 + i * i % 60);
    return tokens;
  }

  void expect_identity(int32_t requests) {
    LoadPlan plan;
    plan.text = words(400);
    plan.requests = requests;
    plan.at_once = 6;  // so that later ones find what earlier ones left
    plan.longest_prompt = 300;
    plan.pictures = pictures_;
    const LoadResult result = check_load(parts_, settings_, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, requests);
    EXPECT_GT(result.pictures_known, 0);
    EXPECT_LE(result.pictures_seen, 4);
    if (long_form()) {
      EXPECT_GT(result.prefix_hits, 0);
    }
    if (settings_.fixed_depth.value_or(0) > 0) {
      EXPECT_GT(result.counters.drafted, 0);
    }
    fmt::print("{} tokens compared, {} drafts accepted, {} tokens from kept pages\n", result.tokens,
               result.counters.accepted, result.prefix_hits);
  }

  [[nodiscard]] Request asking(const RequestPicture& shown) const {
    const TokenIds& ids = model_.config.ids;
    Request request;
    request.prompt = words(10);
    request.prompt.push_back(ids.image_begin);
    request.pictures.push_back(shown);
    request.pictures[0].first_pos = static_cast<int32_t>(request.prompt.size());
    request.prompt.insert(request.prompt.end(), static_cast<size_t>(shown.count), ids.image);
    request.prompt.push_back(ids.image_end);
    for (const TokenId id : words(150)) request.prompt.push_back(id);
    request.sampling.temperature = 0;
    request.max_tokens = 12;
    request.context = model_.config.context;
    return request;
  }

  static std::shared_ptr<const PictureText> finish(Engine& engine, const Request& request) {
    const auto text = std::make_shared<PictureText>();
    EXPECT_EQ(engine.submit(request, text).refusal, Refusal::none);
    while (engine.step()) {
    }
    EXPECT_STREQ(engine.integrity_problem(), "");
    return text;
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  LoadedModel model_;
  std::optional<Gemma4Forward> forward_;
  std::optional<VisionForward> vision_;
  StepCosts costs_;
  std::unique_ptr<Drafter> drafter_;
  EngineParts parts_;
  EngineSettings settings_;
  std::vector<RequestPicture> pictures_;
};

// In the long form over 20,000 tokens in all.
TEST_P(PictureIdentity, DraftsAndCompanyChangeNothing) {
  use_drafts();
  settings_.fixed_depth = 4;
  expect_identity(long_form() ? 300 : 12);
}

// A drafter that remembers what layers made of pictures, too; made for another model of the same form.
TEST_P(PictureIdentity, NorDoBlocksOfDrafts) {
  const auto weights =
      load_dflash(fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/dflash", *forward_->weights(), pool_);
  if (!weights.ok()) GTEST_SKIP() << weights.error().message;
  drafter_ = std::make_unique<DflashDrafter>(std::make_unique<DflashForward>(*weights, *forward_));
  parts_.drafter = drafter_.get();
  settings_.fixed_depth = 5;
  expect_identity(long_form() ? 300 : 12);
}

TEST_P(PictureIdentity, NorDoesThePolicyOrShortChunks) {
  use_drafts();
  settings_.chunk_rows = 50;
  settings_.chunk_rows_beside = 9;
  expect_identity(long_form() ? 300 : 12);
}

TEST_P(PictureIdentity, APictureIsLookedAtOnce) {
  Engine engine(parts_, settings_);
  Request request = asking(pictures_[0]);
  const auto first = finish(engine, request);
  EXPECT_EQ(engine.stats().pictures_seen, 1);
  // Nothing of the pages, but what the tower made of it.
  request.reads_prefixes = false;
  const auto second = finish(engine, request);
  EXPECT_EQ(second->cached, 0);
  EXPECT_EQ(engine.stats().pictures_seen, 1);
  EXPECT_EQ(engine.stats().pictures_known, 1);
  EXPECT_EQ(second->tokens, first->tokens);
}

// A picture of many patches is looked at in pieces; whoever writes beside it writes on between them. One that goes away
// in the middle is looked at no further.
TEST_P(PictureIdentity, OthersGoOnWhileOneIsLookedAt) {
  if (!is_shipped()) GTEST_SKIP() << "the others' towers take no time";
  const VisionConfig& config = vision_->weights().config;
  const auto patches = std::make_shared<const Patches>(
      make_patches(striped_picture(300, 300, 3), config.shape, config.side(), kBudgets[2]).value());
  const Request large = asking({0, patches->tokens, patches, {99, 7}});
  const auto alone = [&] {
    Engine engine(parts_, settings_);
    return finish(engine, large)->tokens;
  }();

  Engine engine(parts_, settings_);
  Request words_only;
  words_only.prompt = words(10);
  words_only.max_tokens = 300;
  words_only.context = model_.config.context;
  const auto beside = std::make_shared<PictureText>(), gone = std::make_shared<PictureText>(),
             seen = std::make_shared<PictureText>();
  ASSERT_EQ(engine.submit(words_only, beside).refusal, Refusal::none);
  while (beside->tokens.empty()) engine.step();

  const Submission leaving = engine.submit(large, gone);
  for (int i = 0; i < 3; ++i) engine.step();
  EXPECT_EQ(engine.stats().pictures_seen, 0);
  engine.cancel(leaving.id);
  for (int i = 0; i < 3; ++i) engine.step();
  EXPECT_EQ(engine.stats().pictures_seen, 0);

  const size_t before = beside->tokens.size();
  ASSERT_EQ(engine.submit(large, seen).refusal, Refusal::none);
  while (engine.stats().pictures_seen == 0) engine.step();
  EXPECT_GE(beside->tokens.size(), before + 2);
  while (engine.step()) {
  }
  EXPECT_EQ(seen->tokens, alone);
  EXPECT_STREQ(engine.integrity_problem(), "");
}

TEST_P(PictureIdentity, PagesAreFoundByThePictureNotByItsTokens) {
  Engine engine(parts_, settings_);
  const auto first = finish(engine, asking(pictures_[0]));
  EXPECT_EQ(first->cached, 0);
  const auto again = finish(engine, asking(pictures_[0]));
  EXPECT_GT(again->cached, pictures_[0].count);
  EXPECT_EQ(again->tokens, first->tokens);
  // Token for token the same prompt.
  const Request other = asking(pictures_[1]);
  ASSERT_EQ(other.prompt, asking(pictures_[0]).prompt);
  const auto second = finish(engine, other);
  EXPECT_EQ(second->cached, 0);
  EXPECT_EQ(engine.stats().pictures_seen, 2);
  Engine fresh(parts_, settings_);
  EXPECT_EQ(finish(fresh, other)->tokens, second->tokens);
}

TEST_P(PictureIdentity, APictureThatIsNotInThePromptIsRefused) {
  Engine engine(parts_, settings_);
  const auto refused = [&](const std::function<void(Request&)>& change) {
    Request request = asking(pictures_[0]);
    change(request);
    const Submission submission = engine.submit(request, std::make_shared<PictureText>());
    EXPECT_FALSE(submission.problem.empty());
    return submission.refusal == Refusal::invalid;
  };
  EXPECT_TRUE(refused([](Request& r) { r.pictures[0].first_pos = static_cast<int32_t>(r.prompt.size()) - 2; }));
  EXPECT_TRUE(refused([](Request& r) { r.pictures[0].first_pos = -1; }));
  EXPECT_TRUE(refused([](Request& r) { r.pictures.push_back(r.pictures[0]); }));
  EXPECT_TRUE(refused([](Request& r) { r.pictures[0].patches = nullptr; }));
  EXPECT_TRUE(refused([](Request& r) { --r.pictures[0].count; }));
  EXPECT_TRUE(refused([](Request& r) {
    Patches other = *r.pictures[0].patches;
    other.side += 1;
    r.pictures[0].patches = std::make_shared<const Patches>(std::move(other));
  }));
  EXPECT_TRUE(refused([](Request& r) {
    Patches other = *r.pictures[0].patches;
    other.values.pop_back();
    r.pictures[0].patches = std::make_shared<const Patches>(std::move(other));
  }));
}

// Every picture in budgets of exactly what its request needs.
TEST_P(PictureIdentity, PicturesInAFullBudget) {
  Request request = asking(pictures_[0]);
  request.max_tokens = 40;
  Engine roomy(parts_, settings_);
  const auto expected = finish(roomy, request);
  const auto positions = static_cast<int32_t>(request.prompt.size()) + request.max_tokens;
  settings_.kv_bytes = 2 * forward_->kv_layout().sequence_bytes(positions, kMaxForwardRows);
  Engine engine(parts_, settings_);
  std::vector<std::shared_ptr<PictureText>> texts;
  for (int i = 0; i < 6; ++i) {
    texts.push_back(std::make_shared<PictureText>());
    request.scope = {static_cast<uint64_t>(i % 2), 0};
    ASSERT_EQ(engine.submit(request, texts.back()).refusal, Refusal::none);
  }
  while (engine.step()) {
  }
  EXPECT_FALSE(engine.stats().failed) << engine.stats().failure;
  for (const auto& text : texts) EXPECT_EQ(text->tokens, expected->tokens);
}

// Those that give way in front of a picture, within it and behind it see it again, or remember what it was.
TEST_P(PictureIdentity, WhoGivesWaySeesTheSame) {
  settings_.chunk_rows = 30;
  settings_.gives_way = [](int64_t step) { return step % 3 == 2 ? static_cast<int32_t>(step / 3 % 2) : -1; };
  for (const size_t feature_bytes : {size_t{64} << 20, size_t{0}}) {
    settings_.feature_bytes = feature_bytes;
    LoadPlan plan;
    plan.text = words(400);
    plan.requests = long_form() ? 40 : 8;
    plan.at_once = 3;
    plan.longest_prompt = 120;
    plan.most_tokens = 12;
    plan.pictures = pictures_;
    const LoadResult result = check_load(parts_, settings_, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, plan.requests);
    EXPECT_GT(result.gave_way, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PictureIdentity, testing::Values("vlm", "vlm-ple", "unified", "default"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace paceline
