#include "cli/bench_options.h"

#include "cli/generate_options.h"

namespace paceline {
namespace {

constexpr const char* kBenchExamples =
    "Every round measures the read bandwidth, each width and a prompt in turn; figures are medians over rounds,\n"
    "ratios are medians of the ratios within a round. --device, --threads, --precision and --kv hold for all that is "
    "measured,\n"
    "a server of our own included.\n\n"
    "  paceline bench --synthetic dense-220m --format q8\n  paceline bench --synthetic moe-710m --format q4 --json\n"
    "  paceline bench --synthetic dense-220m --context 512,8192,32768 --out contexts\n"
    "  paceline bench --speculation\n  paceline bench --speculation --synthetic dense-220m --draft random --depths "
    "auto\n  paceline bench --engine\n  paceline bench --serve --at-once 1,16 --prefix-words 1500\n"
    "  paceline bench --serve --device cuda\n"
    "  paceline bench --serve --synthetic 12b --format bf16 --device cuda --at-once 16,64 --prompt-words 200 "
    "--output-tokens 128\n"
    "  paceline bench --serve --url http://127.0.0.1:8000 --rate 20 --requests 500 --shared 0.5 --cancel 0.1";

void add_source_options(const Command& command, BenchOptions& options) {
  command.add_option("--synthetic", options.source.random.shape,
                     "Shape to fill with random weights: " + synthetic_shapes_text());
  command
      .add_option("-m,--model", options.source.model,
                  "Checkpoint to measure, as for generate; default: the model that came with the program")
      ->type_name("DIR")
      ->check(model_is_named)
      ->excludes("--synthetic");
  command
      .add_option("--format", options.source.random.format,
                  "Random weights: bf16, q8, q4, a GGUF type (q8_0, q4_k_m, …), nvfp4, fp8, nf4")
      ->one_of({"bf16", "q8",   "q4",   "q8_0", "q4_0", "q4_1",   "q5_0",   "q5_1",  "iq4_nl", "mxfp4",
                "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs", "q4_k_m", "nvfp4", "fp8",    "nf4"})
      ->capture_default_str();
  command.add_option("--group", options.source.random.group, "Weights per scale in q8 and q4")
      ->one_of({32, 64, 128}, InHelp::yes)
      ->capture_default_str();
  add_compute_options(command, options.run);
}

void add_forward_options(const Command& command, BenchOptions& options) {
  command
      .add_option("--context", options.contexts,
                  "Tokens that stand before each forward; of several, all in one run: tokens per second, bytes and the "
                  "widths at each, with a picture if --out says where")
      ->range(1, 1000000)
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("512");
  command.add_option("--prompt", options.forward.prompt, "Tokens of the prompt that is timed")
      ->range(kMaxForwardRows, 100000, InHelp::yes)
      ->capture_default_str();
  command.add_option("--widths", options.forward.widths, "Rows per forward to time; the first is the measure")
      ->range(1, kMaxForwardRows)
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("1,2,4,8,16; at several contexts 1,8")
      ->each([&options](const std::string&) { options.widths_given = true; });
  command.add_option("--chunk", options.forward.chunk, "Rows of a prompt chunk; default: 256, on a GPU 2048")
      ->range(1, kMostForwardRows);
  command
      .add_option(
          "--rounds", options.rounds,
          "Rounds; each measures everything once; default: 9, with --speculation and --engine 5, with --serve 3")
      ->range(1, 1000, InHelp::yes);
  command.add_flag("--json", options.json, "One JSON object instead of the table");
}

void add_modes(const Command& command, BenchOptions& options) {
  command.add_flag("--speculation", options.speculation,
                   "Measure speculative decoding: prose, code, arithmetic, JSON and copying at every depth, in turn "
                   "with plain decoding");
  command.add_flag("--engine", options.engine, "Measure many requests at once, plain and with drafts in turn")
      ->excludes("--speculation");
  command
      .add_flag("--serve", options.serve,
                "Measure a server as its clients see it: waiting times, tokens per second, plain and with drafts")
      ->excludes("--speculation")
      ->excludes("--engine");
  command.add_option("--at-once", options.at_once, "With --engine and --serve: requests that run at once")
      ->range(1, 100000)
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("1,4,16,64");
}

void add_text_options(const Command& command, BenchOptions& options) {
  constexpr const char* kGroup = "With --speculation, --engine and --serve";
  command
      .add_option(
          "--draft", options.draft,
          "Who drafts, or several with commas between: auto, ngram, a folder; random (costs what the model's drafter "
          "costs, never right), "
          "random-dflash (likewise, of a shape's block drafter), perfect (free, always right); with --serve "
          "scripted:0.8,0.68,… (costs what the model's drafter costs; the first, the first two, … hold with these "
          "chances)")
      ->group(kGroup)
      ->type_name("auto|ngram|random|random-dflash|perfect|scripted:…|DIR")
      ->capture_default_str();
  command
      .add_option("--depths", options.depths, "Drafts per verify to measure: numbers, auto; plain is always measured")
      ->group(kGroup)
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("0,1,2,3,4,5,6,7,8,auto");
  command.add_option("--tokens", options.tokens, "At most so many tokens a text")
      ->group(kGroup)
      ->range(2, 100000)
      ->capture_default_str();
  command.add_option("--temp,--temperature", options.temperature, "Randomness of the texts; 0: none")
      ->group(kGroup)
      ->range(0.0, 10.0)
      ->capture_default_str();
  command.add_option("--out", options.out, "Write NAME.json and NAME.svg; '': neither")
      ->group(kGroup)
      ->type_name("NAME")
      ->default_str("speculation, or serving")
      ->each([&options](const std::string&) { options.out_given = true; });
}

void add_serving_options(const Command& command, BenchOptions& options) {
  ServeBenchSettings& serving = options.serving;
  constexpr const char* kGroup = "With --serve";
  const auto add = [&](const char* name, auto& value, const char* text) {
    return command.add_option(name, value, text)->group(kGroup)->capture_default_str();
  };
  add("--url", serving.url,
      "The server to load, http://ADDRESS:PORT, with the key in $PACELINE_API_KEY if it wants one; default: one of our "
      "own, which ends with us")
      ->type_name("URL")
      ->excludes("--device")
      ->excludes("--threads")
      ->excludes("--precision")
      ->excludes("--kv")
      ->excludes("--kv-sliding");
  add("--rate", serving.per_second, "Requests per second, coming by chance (an open loop); 0: --at-once (a closed one)")
      ->range(0.0, 1e6);
  add("--requests", serving.requests,
      "Requests of each run; 0: twice as many as run at once, and at least 48, or 12 for one")
      ->range(0, 10'000'000);
  add("--kinds", serving.kinds,
      "Texts of these kinds apart, at each of --depths: prose, code, arithmetic, json, copying; default: all mixed")
      ->one_of({"prose", "code", "arithmetic", "json", "copying"})
      ->delimiter(',')
      ->type_name("LIST");
  add("--ways", options.ways, "plain, auto, or both in turn")->one_of({"plain", "auto", "both"});
  add("--prefix-words", serving.prefix_words, "Measure, too, what a known beginning of so many words saves")
      ->range(0, 1'000'000);
  add("--pictures", serving.pictures, "Measure, too, how long a stream stands still beside so many pictures at once")
      ->range(0, 1024);
  add("--picture-tokens", serving.picture_tokens, "Tokens that each may take")
      ->one_of({70, 140, 280, 560, 1120})
      ->type_name("70|140|280|560|1120");
}

void add_mix_options(const Command& command, LoadMix& mix) {
  constexpr const char* kGroup = "With --serve";
  const auto add = [&](const char* name, auto& value, const char* text) {
    return command.add_option(name, value, text)->group(kGroup)->capture_default_str();
  };
  add("--prompt-words", mix.prompt_words,
      "Words of a prompt, one of these each; default: short questions of several kinds")
      ->range(1, 1'000'000)
      ->delimiter(',')
      ->type_name("LIST");
  add("--output-tokens", mix.output_tokens, "Most tokens of an output, one of these each")
      ->range(1, 1'000'000)
      ->delimiter(',')
      ->type_name("LIST");
  command.add_flag("--ignore-eos", mix.ignores_eos, "Outputs as long as they may be")->group(kGroup);
  add("--shared", mix.shared, "Share of requests that begin alike")->range(0.0, 1.0);
  add("--shared-words", mix.shared_words, "How many words they have in common")->range(1, 1'000'000);
  add("--cancel", mix.cancelled, "Share of requests whose client goes away in the middle")->range(0.0, 1.0);
}

}  // namespace

void add_bench_options(const Command& command, BenchOptions& options) {
  add_source_options(command, options);
  add_forward_options(command, options);
  add_modes(command, options);
  add_text_options(command, options);
  add_serving_options(command, options);
  add_mix_options(command, options.serving.mix);
  command.footer(kBenchExamples);
}

std::vector<std::string> server_arguments(const BenchOptions& options) {
  std::vector<std::string> arguments{"--draft", options.draft, "--log-level", "error"};
  const auto add = [&](const char* name, const std::string& value) {
    arguments.insert(arguments.end(), {name, value});
  };
  // Where the command line says nothing, the server's own settings hold.
  if (!options.source.model.empty()) add("-m", options.source.model);
  if (const RandomModel& random = options.source.random; !random.shape.empty()) {
    add("--synthetic", random.shape);
    add("--synthetic-format", random.format);
    add("--synthetic-group", std::to_string(random.group));
  }
  if (options.run.device != Device::automatic) add("--device", options.run.device == Device::cuda ? "cuda" : "cpu");
  if (options.run.threads > 0) add("--threads", std::to_string(options.run.threads));
  if (options.run.precision == Precision::f32) add("--precision", "f32");
  const auto add_kv = [&](const char* name, KvChoice choice) {
    if (choice != KvChoice::automatic) add(name, choice == KvChoice::q8 ? "q8" : "bf16");
  };
  add_kv("--kv", options.run.kv);
  add_kv("--kv-sliding", options.run.kv_sliding);
  return arguments;
}

}  // namespace paceline
