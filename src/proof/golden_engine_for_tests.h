// What an engine needs around a golden model, for tests that take the model's name as their parameter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "kernels/cpu_table.h"
#include "model/forward.h"
#include "model/gemma4/mtp_binding.h"
#include "model/load.h"
#include "speculate/dflash/dflash_drafter.h"
#include "speculate/drafter_set.h"
#include "speculate/mtp/mtp_drafter.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {

// As a part of a test's name.
inline std::string golden_name(const testing::TestParamInfo<const char*>& golden) {
  std::string name = golden.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// A text of so many tokens; `first` sets it apart from others.
inline std::vector<TokenId> text_of(size_t tokens, TokenId first = 2) {
  constexpr std::string_view kText =
      "The reader opens a file and reads its lines one by one; for each line it counts the words, and at the end it "
      "prints how many there were. An empty line counts for nothing. ";
  std::vector<TokenId> text{first};
  for (size_t i = 0; text.size() < tokens; ++i)
    text.push_back(128 + static_cast<unsigned char>(kText[i % kText.size()]));
  return text;
}

// What a request was told, all choices.
class Texts : public Listener {
 public:
  Heard hear(const Event& event) override {
    if (tokens.size() <= static_cast<size_t>(event.choice)) tokens.resize(static_cast<size_t>(event.choice) + 1);
    for (const NewToken& token : event.tokens) tokens[static_cast<size_t>(event.choice)].push_back(token.id);
    cached = event.cached;
    if (event.end != nullptr) ends.push_back(*event.end);
    return {event.tokens.size(), false};
  }
  std::vector<std::vector<TokenId>> tokens;
  std::vector<SequenceEnd> ends;
  int32_t cached = 0;
};

// Backend: the processor's Ops, or one that behaves otherwise.
template <class Backend>
class GoldenEngineTest : public testing::TestWithParam<const char*> {
 protected:
  GoldenEngineTest()
      : pool_(2), ops_(**kernels::find_cpu_table(""), pool_), model_(*load_model(folder("target"), pool_)) {
    forward_ = model_.weights->make_forward(ops_, Precision::bf16);
    parts_ = {&*forward_, &pool_, nullptr, &costs_, nullptr};
    settings_.kv_bytes = size_t{64} << 20;
  }

  static std::filesystem::path folder(const char* part) {
    return std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam() / part;
  }

  // Where a golden has none, prompts are looked up.
  void use_mtp() {
    mtp_ = std::make_unique<NgramDrafter>();
    parts_.drafter = mtp_.get();
    if (!std::filesystem::exists(folder("assistant"))) return;
    mtp_ = std::make_unique<MtpDrafter>(std::make_unique<MtpForward>(
        load_mtp(folder("assistant"), pool_).value(), as_gemma4(forward_->weights()), ops_, forward_->precision()));
    parts_.drafter = mtp_.get();
  }

  // Its layers lie beside the model's from then on.
  void use_dflash() {
    dflash_ = std::make_unique<DflashDrafter>(
        std::make_unique<DflashForward>(load_dflash(dflash_folder(), *forward_->weights(), pool_).value(), *forward_));
    parts_.drafter = dflash_.get();
  }
  // All that the model has, and prompt lookup.
  void use_all() {
    use_mtp();
    if (has_dflash()) use_dflash();
    std::vector<std::unique_ptr<Drafter>> all;
    all.push_back(std::move(mtp_));
    if (dflash_ != nullptr) all.push_back(std::move(dflash_));
    all.push_back(std::make_unique<NgramDrafter>());
    all_costs_.resize(all.size());
    all_ = std::make_unique<DrafterSet>(std::move(all), model_.config.hidden);
    parts_.drafter = all_.get();
    parts_.costs = all_costs_.data();
  }
  // The first, or the second where there is no other.
  static std::filesystem::path dflash_folder() {
    return std::filesystem::exists(folder("dflash")) ? folder("dflash") : folder("dflash2");
  }
  static bool has_dflash() { return std::filesystem::exists(dflash_folder()); }

  ThreadPool pool_;
  Backend ops_;
  LoadedModel model_;
  std::unique_ptr<Forward> forward_;
  StepCosts costs_;
  std::unique_ptr<Drafter> mtp_, dflash_, all_;
  std::vector<StepCosts> all_costs_;
  EngineParts parts_;
  EngineSettings settings_;
};

}  // namespace paceline
