// The engine on the CUDA device: choices against the host's, texts under load against the bare loop, speculation
// against plain runs, and what a round costs.
//
//   engine_check choose                          the device's choices against the host's
//   engine_check goldens FOLDER [NAME]           the golden models of the folder, or one of them
//   engine_check pictures FOLDER...              soft tokens of checkpoints that see, against the processor's
//   engine_check model FOLDER [REQUESTS]         a checkpoint, with its drafter if it has one
//   engine_check synthetic NAME[+dflash] FORMAT [TOKENS [LAYERS]]
//                                                random weights of a named shape: what a round costs, and identity; of
//                                                so many layers identity alone, with more of it
//   engine_check long NAME FORMAT KV CONTEXT...  what steps and rounds cost at long contexts; KV: bf16 or q8
//   engine_check memory NAME FORMAT KV           all memory dealt out
#include "engine_check.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/synthetic.h"
#include "model/load.h"
#include "model/qwen/synthetic.h"
#include "session/found_drafter.h"
#include "session/own_drafter.h"
#include "speculate/dflash/dflash_drafter.h"
#include "speculate/dflash/dflash_synthetic.h"
#include "speculate/mtp/mtp_drafter.h"

namespace paceline::gpu {
namespace {

namespace fs = std::filesystem;

// drafter: its folder; one that lies in the model's own files where that holds none; else none.
Subject load_subject(Machine& m, const fs::path& target, const fs::path& drafter) {
  Subject subject;
  subject.name = target.string();
  subject.weights = must(load_model(target, m.pool)).weights;
  if (const Status takes = subject.weights->check(m.ops->limits()); !takes.ok()) {
    std::printf("%s: %s\n", subject.name.c_str(), takes.error().message.c_str());
    std::exit(2);
  }
  if (fs::exists(drafter / "config.json")) {
    subject.name += " with " + drafter.filename().string();
    subject.drafter = [&m, drafter](Forward& forward) {
      return must(FoundDrafter::load(drafter, forward, m.pool, *m.ops)).drafter();
    };
  } else if (must(make_own_drafter(*subject.forward(*m.ops), m.pool)) != nullptr) {
    subject.name += " with its own";
    subject.drafter = [&m](Forward& forward) { return must(make_own_drafter(forward, m.pool)); };
  }
  return subject;
}

// Of the folder those that have a text model, each with every drafter that it has.
void check_goldens(Machine& m, Checks& checks, const fs::path& folder, const std::string& named) {
  for (const std::string name : {"dense", "moe", "ple", "qwen3", "qwen3-moe", "qwen35", "qwen35-moe"}) {
    if ((!named.empty() && name != named) || !fs::exists(folder / name / "target")) continue;
    std::vector<fs::path> drafters;
    for (const char* one : {"assistant", "dflash", "dflash2"})
      if (fs::exists(folder / name / one)) drafters.push_back(folder / name / one);
    if (drafters.empty()) drafters.emplace_back();
    for (const fs::path& drafter : drafters) {
      Subject subject = load_subject(m, folder / name / "target", drafter);
      for (const Precision precision : {Precision::bf16, Precision::f32}) {
        subject.precision = precision;
        check_subject(m, checks, subject, precision == Precision::bf16 ? 100 : 20);
      }
      subject.precision = Precision::bf16;
      if (drafter == drafters.front()) check_rows(m, checks, subject, 130, 20);
      check_matrix(m, checks, subject, 3, 40);
    }
  }
}

// Random weights of a named shape: "31b", and with its block drafter "31b+dflash". layers: so many; 0: all.
Subject make_subject(Machine& m, const std::string& asked, const SyntheticFormat& format, int32_t layers) {
  const std::string name = asked.substr(0, asked.find('+'));
  const bool is_qwen = name.starts_with("qwen");
  const auto cut = [&](auto& config) {
    if (layers > 0) config.layers.resize(std::min(config.layers.size(), static_cast<size_t>(layers)));
  };
  Subject subject;
  subject.name = asked;
  if (is_qwen) {
    qwen::QwenConfig config = must(qwen::synthetic_config(name));
    cut(config);
    subject.weights = qwen::make_synthetic(config, format, m.pool);
  } else {
    Gemma4Config config = must(synthetic_config(name));
    cut(config);
    subject.weights = make_synthetic(config, format, m.pool);
  }
  if (name != asked) {
    DflashConfig config = must(synthetic_dflash_config(name));
    if (layers > 0)
      for (int32_t& tapped : config.tapped) tapped = std::min(tapped, layers - 2);
    const auto weights = place_weights(make_synthetic_dflash(config, format, m.pool), *m.ops);
    subject.drafter = [weights](Forward& forward) -> std::unique_ptr<Drafter> {
      return std::make_unique<DflashDrafter>(std::make_unique<DflashForward>(weights, forward));
    };
    subject.timed_depths = {0, 3, 7, 15};
  } else if (!is_qwen) {
    const auto weights = make_synthetic_mtp(must(synthetic_mtp_config(name)), format, m.pool);
    subject.drafter = [&m, weights](Forward& forward) -> std::unique_ptr<Drafter> {
      return std::make_unique<MtpDrafter>(
          std::make_unique<MtpForward>(weights, as_gemma4(forward.weights()), *m.ops, forward.precision()));
    };
  }
  return subject;
}

// Random weights of a named shape, of so many of its layers (0: all), on the device.
Subject place_subject(Machine& m, Checks& checks, const std::string& shape, const std::string& format, int layers) {
  SyntheticFormat made;
  made.format = format == "q8" ? WeightFormat::q8 : format == "q4" ? WeightFormat::q4 : WeightFormat::bf16;
  auto begin = Clock::now();
  Subject subject = make_subject(m, shape, made, layers);
  subject.name += " " + format;
  std::printf("made in %.1f s\n", ms_since(begin) / 1000);
  begin = Clock::now();
  subject.weights = subject.weights->placed_for(*m.ops);
  expect_fine(m, checks, "placing");
  std::printf("placed in %.1f s\n", ms_since(begin) / 1000);
  return subject;
}

int run(int argc, char** argv) {
  (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);  // whoever ends a run too early still sees how far it came
  const std::string what = argc > 1 ? argv[1] : "choose";
  Machine m;
  Checks checks;
  if (what == "choose") {
    check_choices(m, checks, 1000, 6);
    check_choices(m, checks, 262144, 1);
  } else if (what == "goldens" && argc > 2) {
    check_goldens(m, checks, argv[2], argc > 3 ? argv[3] : "");
  } else if (what == "pictures" && argc > 2) {
    for (int i = 2; i < argc; ++i) check_pictures(m, checks, argv[i]);
  } else if (what == "model" && argc > 2) {
    const Subject subject = load_subject(m, argv[2], fs::path(argv[2]) / "assistant");
    check_subject(m, checks, subject, argc > 3 ? std::atoi(argv[3]) : 100);
    check_matrix(m, checks, subject, 7, 60);
    if (subject.drafter != nullptr) time_rounds(m, subject);
  } else if (what == "synthetic" && argc > 3) {
    const bool cut = argc > 5;
    const Subject subject = place_subject(m, checks, argv[2], argv[3], cut ? std::atoi(argv[5]) : 0);
    for (const int32_t prompt : {5, 130, 700}) check_rows(m, checks, subject, prompt, 20);
    if (!cut && subject.drafter != nullptr) time_rounds(m, subject);
    if (cut) check_subject(m, checks, subject, argc > 6 ? std::atoi(argv[6]) : 20, argc > 7 ? std::atoi(argv[7]) : 16);
    const int32_t tokens = argc > 4 ? std::atoi(argv[4]) : 0;
    if (tokens > 0) check_matrix(m, checks, subject, 7, tokens);
  } else if ((what == "long" && argc > 5) || (what == "memory" && argc > 4)) {
    Subject subject = place_subject(m, checks, argv[2], argv[3], 0);
    if (std::string(argv[4]) == "q8") subject.kv = KvFormats(DType::i8, DType::bf16);
    subject.name += std::string(", keys and values ") + argv[4];
    if (what == "memory") check_memory(m, checks, subject);
    for (int i = 5; what == "long" && i < argc; ++i) time_long_rounds(m, subject, std::atoi(argv[i]));
  } else {
    std::printf(
        "engine_check choose | goldens FOLDER [NAME] | pictures FOLDER... | model FOLDER [REQUESTS] | synthetic NAME "
        "FORMAT [TOKENS [LAYERS [REQUESTS [AT_ONCE]]]] | long NAME FORMAT KV CONTEXT... | memory NAME FORMAT KV\n");
    return 2;
  }
  return checks.finish(what.c_str());
}

}  // namespace
}  // namespace paceline::gpu

int main(int argc, char** argv) { return paceline::gpu::run(argc, argv); }
