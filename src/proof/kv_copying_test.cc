// What has to be copied is copied in every format of keys and values: a name, a number, a line, as the shipped model
// was taught to, behind up to 3,700 tokens of other text. PACELINE_TEST_LONG=1: three hundred of them. (From further
// back than about a hundred tokens this model finds nothing, in float32 neither.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/long_form_for_tests.h"
#include "session/text_model.h"

namespace paceline {
namespace {

struct CopyingTask {
  std::string question, answer;
};

class CopyingTasks {
 public:
  explicit CopyingTasks(uint32_t seed) : random_(seed) {}

  CopyingTask next(int number) {
    switch (number % 3) {
      case 0: return place();
      case 1: return weight();
      default: return line();
    }
  }

 private:
  const char* one_of(std::span<const char* const> words) {
    return words[std::uniform_int_distribution<size_t>(0, words.size() - 1)(random_)];
  }
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  const char* name() {
    static constexpr const char* kNames[] = {"Anna",  "Ben",  "Clara", "David", "Emma",
                                             "Grace", "Jack", "Lily",  "Max",   "Tom"};
    return one_of(kNames);
  }
  const char* thing() {
    static constexpr const char* kThings[] = {"ball", "box", "cup", "hat", "book", "kite", "boat", "lamp"};
    return one_of(kThings);
  }
  const char* animal() {
    static constexpr const char* kAnimals[] = {"cat", "dog", "bird", "frog", "horse", "rabbit", "mouse", "fox"};
    return one_of(kAnimals);
  }

  CopyingTask place() {
    static constexpr const char* kCities[] = {"Paris", "Rome", "Berlin", "Tokyo", "London", "Madrid", "Oslo", "Lima"};
    const std::string who = name(), fact = fmt::format("{} lives in {}.", who, one_of(kCities));
    return {fmt::format("{} Zoe has a {}. Where does {} live?", fact, animal(), who), fact};
  }

  CopyingTask weight() {
    const std::string who = name();
    const int kilos = number(20, 99);
    return {
        fmt::format("Fill in this form from the text: {{\"name\": string, \"weight_kg\": number}}\n\n{} weighs {} kg.",
                    who, kilos),
        fmt::format("{{\"name\": \"{}\", \"weight_kg\": {}}}", who, kilos)};
  }

  CopyingTask line() {
    std::string text = fmt::format("{} gave the {} to {}.", name(), thing(), name());
    for (int more = number(0, 2); more > 0; --more)
      text += fmt::format(" The {} saw a {} near the {}.", animal(), thing(), thing());
    return {"Copy this text: " + text, text};
  }

  std::mt19937 random_;
};

class KvCopying : public testing::Test {
 protected:
  KvCopying()
      : pool_(2),
        ops_(**kernels::find_cpu_table(""), pool_),
        model_(load_text_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "models" / "default", pool_).value()),
        tasks_(long_form() ? 300 : 18) {}

  // Other conversations, each with its answer, until there are so many tokens.
  std::vector<TokenId> history(size_t tokens) const {
    CopyingTasks others(7);
    std::vector<TokenId> all;
    for (int i = 0; all.size() < tokens; ++i) {
      const CopyingTask task = others.next(i);
      const std::vector<TokenId> more =
          model_.tokenizer.encode(render_chat(model_, "", {task.question}).value() + task.answer + "<turn|>\n", false);
      all.insert(all.end(), more.begin(), more.end());
    }
    all.resize(tokens);
    return all;
  }

  [[nodiscard]] Request request(const CopyingTask& task, std::vector<TokenId> before) const {
    Request made;
    made.prompt = std::move(before);
    const auto own = model_.tokenizer.encode(render_chat(model_, "", {task.question}).value(), false);
    made.prompt.insert(made.prompt.end(), own.begin(), own.end());
    made.sampling.temperature = 0;
    made.stop_ids = model_.loaded.config.stop_ids;
    made.max_tokens = 60;
    made.context = model_.loaded.config.context;
    return made;
  }

  int found_in(const KvFormats& formats) {
    Gemma4Forward forward(as_gemma4(model_.loaded.weights), ops_, Precision::bf16, formats);
    StepCosts costs;
    EngineSettings settings;
    settings.kv_bytes = size_t{256} << 20;
    Engine engine({&forward, &pool_, nullptr, &costs, nullptr}, settings);
    const std::vector<size_t> lengths =
        long_form() ? std::vector<size_t>{0, 640, 2048, 3700} : std::vector<size_t>{0, 640};
    CopyingTasks tasks(3);
    std::vector<CopyingTask> asked;
    std::vector<std::shared_ptr<Texts>> heard;
    for (int i = 0; i < tasks_; ++i) {
      asked.push_back(tasks.next(i));
      heard.push_back(std::make_shared<Texts>());
      const size_t before = lengths[static_cast<size_t>(i / 3) % lengths.size()];
      EXPECT_EQ(engine.submit(request(asked.back(), history(before)), heard.back()).refusal, Refusal::none);
    }
    while (engine.step()) {
    }
    int found = 0;
    for (size_t i = 0; i < asked.size(); ++i)
      found +=
          !heard[i]->tokens.empty() && model_.tokenizer.decode(heard[i]->tokens[0], true) == asked[i].answer ? 1 : 0;
    return found;
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  TextModel model_;
  const int tasks_;
};

TEST_F(KvCopying, EveryFormatFindsWhatBf16Finds) {
  KvFormats apart = DType::bf16;
  apart.joined = false;
  const int plain = found_in(apart), joined = found_in(DType::bf16), q8 = found_in({DType::i8, DType::bf16}),
            all_q8 = found_in(DType::i8);
  fmt::print("of {}: bf16 copies {}, joined {}, q8 {}, q8 in all layers {}\n", tasks_, plain, joined, q8, all_q8);
  EXPECT_GE(plain, 6 * tasks_ / 10);
  const int less = (tasks_ + 99) / 100;
  EXPECT_NEAR(joined, plain, long_form() ? 1 : 0);
  EXPECT_GE(q8, plain - less);
  EXPECT_GE(all_q8, plain - less);
}

}  // namespace
}  // namespace paceline
