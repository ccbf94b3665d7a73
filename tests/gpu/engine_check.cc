// The engine on the CUDA device: choices against the host's, texts under load against the bare loop, speculation
// against plain runs, and what a round costs.
//
//   engine_check choose                          the device's choices against the host's
//   engine_check goldens FOLDER [NAME]           the golden models of the folder, or one of them
//   engine_check pictures FOLDER...              soft tokens of checkpoints that see, against the processor's
//   engine_check model FOLDER [REQUESTS]         a checkpoint, with its drafter if it has one
//   engine_check synthetic NAME FORMAT [TOKENS [LAYERS]]
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

#include "model/gemma4/load_gemma4.h"
#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/place.h"
#include "model/gemma4/synthetic.h"

namespace paceline::gpu {
namespace {

namespace fs = std::filesystem;

Subject load_subject(Machine& m, const fs::path& target, const fs::path& assistant) {
  Subject subject;
  subject.name = target.string();
  subject.weights = must(load_gemma4(target, m.pool)).weights;
  if (fs::exists(assistant / "config.json")) subject.drafter = must(load_mtp(assistant, m.pool));
  return subject;
}

// Random weights of a named shape, of so many of its layers, on the device.
Subject make_subject(Machine& m, Checks& checks, const std::string& shape, const std::string& format, size_t layers) {
  SyntheticFormat made;
  made.format = format == "q8" ? WeightFormat::q8 : format == "q4" ? WeightFormat::q4 : WeightFormat::bf16;
  auto begin = Clock::now();
  Subject subject;
  subject.name = shape + " " + format;
  Gemma4Config config = must(synthetic_config(shape));
  config.layers.resize(std::min(config.layers.size(), layers));
  subject.weights = make_synthetic(config, made, m.pool);
  subject.drafter = make_synthetic_mtp(must(synthetic_mtp_config(shape)), made, m.pool);
  std::printf("made in %.1f s\n", ms_since(begin) / 1000);
  begin = Clock::now();
  subject.weights = place_weights(subject.weights, *m.ops);
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
    for (const std::string name : {"dense", "moe", "ple"}) {
      if (argc > 3 && name != argv[3]) continue;
      Subject subject = load_subject(m, fs::path(argv[2]) / name / "target", fs::path(argv[2]) / name / "assistant");
      for (const Precision precision : {Precision::bf16, Precision::f32}) {
        subject.precision = precision;
        check_subject(m, checks, subject, precision == Precision::bf16 ? 100 : 20);
      }
      subject.precision = Precision::bf16;
      check_rows(m, checks, subject, 130, 20);
      check_matrix(m, checks, subject, 3, 40);
    }
  } else if (what == "pictures" && argc > 2) {
    for (int i = 2; i < argc; ++i) check_pictures(m, checks, argv[i]);
  } else if (what == "model" && argc > 2) {
    const Subject subject = load_subject(m, argv[2], fs::path(argv[2]) / "assistant");
    check_subject(m, checks, subject, argc > 3 ? std::atoi(argv[3]) : 100);
    check_matrix(m, checks, subject, 7, 60);
    if (subject.drafter != nullptr) time_rounds(m, subject);
  } else if (what == "synthetic" && argc > 3) {
    const bool cut = argc > 5;
    Subject subject =
        make_subject(m, checks, argv[2], argv[3], cut ? static_cast<size_t>(std::atoi(argv[5])) : SIZE_MAX);
    for (const int32_t prompt : {5, 130, 700}) check_rows(m, checks, subject, prompt, 20);
    if (!cut) time_rounds(m, subject);
    if (cut) check_subject(m, checks, subject, 20);
    const int32_t tokens = argc > 4 ? std::atoi(argv[4]) : 0;
    if (tokens > 0) check_matrix(m, checks, subject, 7, tokens);
  } else if ((what == "long" && argc > 5) || (what == "memory" && argc > 4)) {
    Subject subject = make_subject(m, checks, argv[2], argv[3], SIZE_MAX);
    if (std::string(argv[4]) == "q8") subject.kv = KvFormats(DType::i8, DType::bf16);
    subject.name += std::string(", keys and values ") + argv[4];
    if (what == "memory") check_memory(m, checks, subject);
    for (int i = 5; what == "long" && i < argc; ++i) time_long_rounds(m, subject, std::atoi(argv[i]));
  } else {
    std::printf(
        "engine_check choose | goldens FOLDER [NAME] | pictures FOLDER... | model FOLDER [REQUESTS] | synthetic NAME "
        "FORMAT [TOKENS [LAYERS]] | long NAME FORMAT KV CONTEXT... | memory NAME FORMAT KV\n");
    return 2;
  }
  return checks.finish(what.c_str());
}

}  // namespace
}  // namespace paceline::gpu

int main(int argc, char** argv) { return paceline::gpu::run(argc, argv); }
