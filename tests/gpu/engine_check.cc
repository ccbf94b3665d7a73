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
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>

#include "check.h"
#include "engine/identity.h"
#include "engine/load_identity.h"
#include "model/load.h"
#include "model/mtp_binding.h"
#include "model/place.h"
#include "model/synthetic.h"
#include "model/vision_forward.h"
#include "sample/device_choice.h"
#include "speculate/mtp_proposer.h"

namespace paceline::gpu {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Machine {
  ThreadPool pool{16};
  std::unique_ptr<Ops> ops;

  Machine() {
    auto made = kernels::make_cuda_ops();
    if (!made.ok()) {
      std::printf("%s\n", made.error().message.c_str());
      std::exit(3);
    }
    ops = std::move(*made);
  }
};

// ---- choices

struct Masked : TokenConstraint, ConstraintCursor {
  std::vector<uint64_t> words;
  std::span<const uint64_t> allowed(std::span<const TokenId>) override { return words; }
  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override { return std::make_unique<Masked>(*this); }
};

std::vector<SampleSettings> settings_of(int32_t vocab, std::mt19937_64& random) {
  std::vector<SampleSettings> all;
  const auto add = [&](float temperature, int32_t top_k, float top_p, float min_p) {
    SampleSettings s;
    s.temperature = temperature;
    s.top_k = top_k;
    s.top_p = top_p;
    s.min_p = min_p;
    s.seed = random();
    all.push_back(s);
  };
  add(0, 0, 1, 0);
  add(1, 0, 1, 0);
  add(1, 64, 0.95f, 0);
  add(0.7f, 1, 1, 0);
  add(1.3f, 0, 0.9f, 0);
  add(0.8f, 0, 1, 0.05f);
  add(2.0f, 900, 0.99f, 0.01f);
  add(1.0f, 5000, 0.97f, 0);
  add(3.0f, 0, 0.999f, 0);
  add(1e-3f, 20, 0.5f, 0);
  const size_t plain = all.size();
  for (size_t i = 0; i < plain; ++i) {
    SampleSettings s = all[i];
    s.repetition_penalty = 1.3f;
    s.presence_penalty = 0.4f;
    s.frequency_penalty = 0.2f;
    s.seed = random();
    all.push_back(s);
    s.logit_bias = {{3, 4.0f}, {17, -100.0f}, {vocab - 1, 2.5f}};
    s.suppressed = std::make_shared<const std::vector<TokenId>>(std::vector<TokenId>{0, 5, 63, 64});
    all.push_back(s);
    auto masked = std::make_shared<Masked>();
    masked->words.resize((static_cast<size_t>(vocab) + 63) / 64);
    for (uint64_t& word : masked->words) word = i % 2 == 0 ? random() & random() & random() : random();
    s.constraint = masked;
    all.push_back(s);
  }
  return all;
}

// Rows of many kinds: like a model's, flat, with ties, with holes.
std::vector<float> logits_of(int kind, int32_t vocab, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> row(static_cast<size_t>(vocab));
  for (float& x : row) {
    x = normal(random) * (kind == 1 ? 0.01f : kind == 2 ? 12.0f : 4.0f);
    if (kind == 3) x = std::round(x);
    if (kind == 4 && random() % 3 == 0) x = NAN;
    if (kind == 5 && random() % 2 == 0) x = -INFINITY;
    if (kind == 6) x = random() % 2 == 0 ? 0.0f : -0.0f;
    if (kind == 7) x = -INFINITY;
  }
  return row;
}

void check_choices(Machine& m, Checks& checks, int32_t vocab, int rounds) {
  std::mt19937_64 random(7);
  ChooseScratch scratch;
  int64_t tokens = 0;
  for (int round = 0; round < rounds; ++round)
    for (int kind = 0; kind < 8; ++kind) {
      // A chain of three rows: two drafts, which stand in front of the later choices.
      constexpr int32_t kRows = 3, kWidth = 40;
      std::vector<float> logits;
      for (int32_t r = 0; r < kRows; ++r) {
        const std::vector<float> row = logits_of(kind, vocab, random);
        logits.insert(logits.end(), row.begin(), row.end());
      }
      const Block device_logits(*m.ops, logits);
      const std::vector<TokenId> prompt{1, 7, 7, vocab - 1}, generated{2, 7, 9, 2, 2};
      for (const SampleSettings& settings : settings_of(vocab, random)) {
        std::vector<TokenId> drafts;
        std::vector<TokenId> want;
        std::vector<TokenId> standing = generated;
        for (int32_t r = 0; r < kRows; ++r) {
          scratch.constraint = nullptr;
          const TokenId token =
              choose(std::span(logits).subspan(static_cast<size_t>(r) * static_cast<size_t>(vocab),
                                               static_cast<size_t>(vocab)),
                     {prompt, standing, nullptr}, settings, static_cast<int64_t>(generated.size()) + r, scratch);
          want.push_back(token);
          // Every second chain's first draft is wrong; the choices behind it still follow from the drafts.
          const TokenId draft = r == 0 && random() % 2 == 0 ? (token + 1) % vocab : token;
          if (r + 1 < kRows) drafts.push_back(draft);
          standing.push_back(draft);
        }
        DeviceChoice how(*m.ops, settings, vocab, {prompt, generated, nullptr});
        const std::vector<TokenId> row_tokens{4, drafts[0], drafts[1]};
        const Block tokens_block(*m.ops, std::span(reinterpret_cast<const float*>(row_tokens.data()), kRows));
        std::vector<float> hidden(kRows * kWidth);
        for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = static_cast<float>(i);
        const Block hidden_block(*m.ops, hidden), last(*m.ops, kWidth), chosen(*m.ops, 2 * kRows);
        std::vector<kernels::ChoiceRow> rows;
        for (int32_t r = 0; r < kRows; ++r) {
          kernels::ChoiceRow row = how.row(static_cast<int64_t>(generated.size()) + r);
          row.logits_row = r;
          row.first_draft = 1;
          row.drafts = r;
          if (settings.constraint != nullptr)
            row.allowed =
                how.allow(*m.ops, static_cast<size_t>(r), static_cast<const Masked*>(settings.constraint.get())->words);
          rows.push_back(row);
        }
        const kernels::ChoiceChain chain{0, kRows - 1, 0, last.at(), how.counts()};
        m.ops->choose({device_logits.at(),
                       reinterpret_cast<const TokenId*>(tokens_block.at()),
                       hidden_block.at(),
                       vocab,
                       kWidth,
                       rows,
                       {&chain, 1},
                       reinterpret_cast<TokenId*>(chosen.at())});
        const std::vector<float> raw = chosen.read();
        std::vector<TokenId> got(raw.size());
        std::memcpy(got.data(), raw.data(), raw.size() * sizeof(float));
        int32_t accepted = 0;
        while (accepted < kRows - 1 && got[static_cast<size_t>(accepted)] == drafts[static_cast<size_t>(accepted)])
          ++accepted;
        const std::string name = "choice vocab " + std::to_string(vocab) + " kind " + std::to_string(kind) +
                                 " temperature " + std::to_string(settings.temperature) + " top_k " +
                                 std::to_string(settings.top_k) + " top_p " + std::to_string(settings.top_p) +
                                 (settings.penalised() ? " penalised" : "") +
                                 (settings.constraint != nullptr ? " masked" : "");
        for (size_t r = 0; r < kRows; ++r) checks.expect(got[r] == want[r], name + " row " + std::to_string(r));
        checks.expect(got[3] == drafts[0] && got[4] == drafts[1] && got[5] == -1, name + ", drafts");
        checks.expect(last.read()[0] == static_cast<float>(accepted * kWidth), name + ", hidden state");
        tokens += kRows;
      }
    }
  std::printf("%lld choices of %d tokens\n", static_cast<long long>(tokens), vocab);
}

// ---- models

struct Subject {
  std::string name;
  std::shared_ptr<const TextWeights> weights;
  std::shared_ptr<const MtpWeights> drafter;
  Precision precision = Precision::bf16;
};

void expect_fine(Machine& m, Checks& checks, const std::string& what) {
  const Status status = m.ops->wait();
  checks.expect(status.ok(), what + (status.ok() ? "" : ": " + status.error().message));
}

void check_subject(Machine& m, Checks& checks, const Subject& subject, int32_t requests) {
  Forward forward(subject.weights, *m.ops, subject.precision);
  const ModelConfig& config = forward.weights().config;
  std::vector<TokenId> text;
  for (int32_t i = 0; i < 700; ++i) text.push_back(1 + (i * 7919 + i / 13) % (config.vocab - 1));
  for (const int32_t depth : {0, 1, 3, 8, 15, -1}) {
    StepCosts costs;
    std::unique_ptr<BatchProposer> proposer;
    if (subject.drafter != nullptr && depth != 0)
      proposer = std::make_unique<MtpBatchProposer>(
          std::make_unique<MtpDrafter>(subject.drafter, forward.shared_weights(), *m.ops, subject.precision));
    EngineParts parts{&forward, &m.pool, proposer.get(), &costs, nullptr, nullptr};
    EngineSettings settings;
    if (depth >= 0) settings.fixed_depth = depth;
    LoadPlan plan;
    plan.text = text;
    plan.requests = requests;
    plan.at_once = 16;
    plan.longest_prompt = std::min(330, config.context / 2);
    plan.stop_ids = {5, 77, 130};
    plan.seed = static_cast<uint64_t>(depth + 2);
    const auto begin = Clock::now();
    const LoadResult result = check_load(parts, settings, plan);
    checks.expect(result.difference.empty(),
                  subject.name + " depth " + std::to_string(depth) + ": " + result.difference);
    checks.expect(result.requests == requests, subject.name + ": all requests ended");
    std::printf("%-24s depth %2d: %lld requests, %lld tokens, %lld of %lld drafts kept, %.1f s\n", subject.name.c_str(),
                depth, static_cast<long long>(result.requests), static_cast<long long>(result.tokens),
                static_cast<long long>(result.counters.accepted), static_cast<long long>(result.counters.drafted),
                ms_since(begin) / 1000);
    std::fflush(stdout);
  }
  expect_fine(m, checks, subject.name);
}

// The matrix of drafters and depths, through the bare loop.
void check_matrix(Machine& m, Checks& checks, const Subject& subject, int32_t stride, int32_t tokens) {
  Forward forward(subject.weights, *m.ops, subject.precision);
  std::unique_ptr<Proposer> mtp;
  if (subject.drafter != nullptr)
    mtp = std::make_unique<MtpProposer>(
        std::make_unique<MtpDrafter>(subject.drafter, forward.shared_weights(), *m.ops, subject.precision));
  IdentityPlan plan;
  for (int32_t i = 0; i < 300; ++i) plan.text.push_back(1 + (i * 104729) % (forward.weights().config.vocab - 1));
  plan.prompt_tokens = {5, 130};
  plan.seeds = {1, 2};
  plan.depths = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0};
  plan.max_tokens = tokens;
  plan.stride = stride;
  const IdentityResult result = check_identity(forward, mtp.get(), plan);
  int64_t runs = 0, equal = 0, compared = 0;
  for (const IdentityCount& count : result.kinds) {
    runs += count.runs;
    equal += count.runs_equal;
    compared += count.tokens;
  }
  std::string where;
  if (const auto& d = result.difference)
    where = std::string(", ") + drafter_kind_name(d->kind) + " depth " + std::to_string(d->depth) + " choice " +
            std::to_string(d->choice) + " prompt " + std::to_string(d->prompt_tokens) + " seed " +
            std::to_string(d->seed) + " from token " + std::to_string(d->at);
  checks.expect(runs == equal && compared > 0 && forward.status().ok(),
                subject.name + ": speculation equals plain" + where);
  std::printf("%-24s matrix: %lld of %lld runs equal, %lld tokens\n", subject.name.c_str(),
              static_cast<long long>(equal), static_cast<long long>(runs), static_cast<long long>(compared));
  std::fflush(stdout);
  expect_fine(m, checks, subject.name);
}

// How many values differ and by how much, and in which columns.
std::string difference(const float* a, const float* b, size_t count) {
  size_t first = count, last = 0, differ = 0, most = 0;
  for (size_t i = 0; i < count; ++i) {
    if (a[i] == b[i]) continue;
    first = std::min(first, i);
    last = i;
    ++differ;
    if (std::abs(a[i] - b[i]) > std::abs(a[most] - b[most])) most = i;
  }
  return ": " + std::to_string(differ) + " values of columns " + std::to_string(first) + " to " + std::to_string(last) +
         ", most in " + std::to_string(most) + ": " + std::to_string(a[most]) + ", " + std::to_string(b[most]);
}

// Rows alone and in company, over and over: logits and what went into every layer, to the last bit.
void check_rows(Machine& m, Checks& checks, const Subject& subject, int32_t prompt, int32_t repeats) {
  constexpr int32_t kMost = 16;
  Forward forward(subject.weights, *m.ops, subject.precision);
  const ModelConfig& config = forward.weights().config;
  const auto vocab = static_cast<size_t>(config.vocab), hidden = static_cast<size_t>(config.hidden);
  KvCache kv(forward.kv_layout(), prompt + kMost);
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < prompt + kMost; ++i) tokens.push_back(1 + (i * 7919) % (config.vocab - 1));
  std::vector<int32_t> all(static_cast<size_t>(std::max(config.layer_count() + 1, kMost)));
  std::iota(all.begin(), all.end(), 0);
  const auto layers = std::span<const int32_t>(all).first(static_cast<size_t>(config.layer_count()) + 1);
  const auto run = [&](int32_t rows, std::span<const int32_t> logit_rows, std::span<const int32_t> taps) {
    const SeqRows seq{&kv, rows};
    const auto some =
        std::span<const TokenId>(tokens).subspan(static_cast<size_t>(kv.length()), static_cast<size_t>(rows));
    return forward.run({some, {&seq, 1}, logit_rows, taps});
  };
  while (kv.length() < prompt) (void)run(std::min(prompt - kv.length(), kMaxForwardRows), {}, {});
  std::vector<float> logits, taps;
  for (int32_t repeat = 0; repeat < repeats; ++repeat)
    for (int32_t rows = kMost; rows > 0; --rows) {
      const auto count = static_cast<size_t>(rows);
      const ForwardOutput out = run(rows, std::span<const int32_t>(all).first(count), layers);
      kv.truncate(prompt);
      if (logits.empty()) {
        logits.assign(out.logits, out.logits + count * vocab);
        taps.assign(out.taps, out.taps + layers.size() * count * hidden);
      }
      std::string where;
      for (size_t row = 0; row < count && where.empty(); ++row) {
        size_t layer = 0;
        while (layer < layers.size() && same_bits(out.taps + (layer * count + row) * hidden,
                                                  taps.data() + (layer * kMost + row) * hidden, hidden))
          ++layer;
        if (layer < layers.size())
          where = ": row " + std::to_string(row) + " differs in front of layer " + std::to_string(layer) +
                  difference(out.taps + (layer * count + row) * hidden, taps.data() + (layer * kMost + row) * hidden,
                             hidden);
        if (where.empty() && !same_bits(out.logits + row * vocab, logits.data() + row * vocab, vocab))
          where = ": logits of row " + std::to_string(row) + " differ";
      }
      checks.expect(where.empty(), subject.name + " behind " + std::to_string(prompt) + ", " + std::to_string(rows) +
                                       " rows, time " + std::to_string(repeat) + where);
    }
  std::printf("%-24s rows behind %d tokens, %d times each\n", subject.name.c_str(), prompt, repeats);
  expect_fine(m, checks, subject.name);
}

template <class T>
T must(Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::printf("%s\n", result.error().message.c_str());
  std::exit(2);
}

Subject load_subject(Machine& m, const fs::path& target, const fs::path& assistant) {
  Subject subject;
  subject.name = target.string();
  subject.weights = must(load_model(target, m.pool)).weights;
  if (fs::exists(assistant / "config.json")) subject.drafter = must(load_mtp(assistant, m.pool));
  return subject;
}

// ---- pictures

Patches random_patches(const VisionConfig& config, int32_t columns, int32_t rows, std::mt19937_64& random) {
  Patches patches;
  patches.side = config.side();
  patches.columns = columns;
  patches.rows = rows;
  patches.tokens = columns * rows;
  if (config.kind == VisionKind::tower) patches.tokens /= config.shape.pool * config.shape.pool;
  patches.values.resize(static_cast<size_t>(patches.count()) * patches.patch_values());
  for (uint8_t& value : patches.values) value = static_cast<uint8_t>(random());
  return patches;
}

void check_pictures(Machine& m, Checks& checks, const fs::path& folder) {
  const LoadedModel model = must(load_model(folder, m.pool));
  const auto weights = must(load_vision_weights(model.checkpoint, model.config.hidden, m.pool));
  kernels::CpuOps cpu(*must(kernels::default_cpu_table()), m.pool);
  std::mt19937_64 random(3);
  const Patches all[] = {random_patches(weights->config, 12, 9, random), random_patches(weights->config, 3, 3, random),
                         random_patches(weights->config, 6, 15, random),
                         random_patches(weights->config, 48, 36, random)};  // more than one block of rows
  const std::vector<const Patches*> together{&all[0], &all[1], &all[2], &all[3]};
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    VisionForward device(weights, *m.ops, precision), host(weights, cpu, precision);
    const auto got = device.run(together), want = host.run(together);
    for (size_t i = 0; i < together.size(); ++i) {
      const double off = distance(got[i], want[i]);
      const std::string name =
          folder.string() + (precision == Precision::f32 ? " f32" : " bf16") + " picture " + std::to_string(i);
      std::printf("%s: %zu soft tokens, off by %.2e\n", name.c_str(),
                  got[i].size() / static_cast<size_t>(weights->text_hidden), off);
      checks.expect(off < (precision == Precision::f32 ? 2e-4 : 2e-2), name);
      checks.expect(device.run(std::vector<const Patches*>{together[i]})[0] == got[i], name + ", alone");
    }
  }
  expect_fine(m, checks, folder.string());
}

// ---- what a round costs

class Listening : public Listener {
 public:
  Heard hear(const Event& event) override {
    tokens += static_cast<int64_t>(event.tokens.size());
    if (event.end != nullptr) ended = true;
    return {event.tokens.size(), false};
  }
  int64_t tokens = 0;
  bool ended = false;
};

class Watching : public StepObserver {
 public:
  void observe(const StepReport& report) override { draft_ms = report.draft_ms; }
  double draft_ms = 0;
};

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Median milliseconds of a step of one sequence at so many drafts, greedy, alternating between the depths.
void time_rounds(Machine& m, const Subject& subject) {
  Forward forward(subject.weights, *m.ops, subject.precision);
  MtpBatchProposer proposer(
      std::make_unique<MtpDrafter>(subject.drafter, forward.shared_weights(), *m.ops, subject.precision));
  constexpr int32_t kDepths[] = {0, 1, 4, 7};
  std::vector<double> times[4], drafting[4];
  Watching watching;
  for (int round = 0; round < 2; ++round)
    for (size_t d = 0; d < 4; ++d) {
      StepCosts costs;
      EngineParts parts{&forward, &m.pool, &proposer, &costs, &watching, nullptr};
      EngineSettings settings;
      settings.fixed_depth = kDepths[d];
      settings.kv_bytes = size_t{16} << 30;
      Engine engine(parts, settings);
      Request request;
      for (int32_t i = 0; i < 512; ++i) request.prompt.push_back(1 + (i * 7919) % (forward.weights().config.vocab - 1));
      request.sampling.temperature = 0;
      request.max_tokens = 100;
      request.context = 4096;
      const auto listening = std::make_shared<Listening>();
      if (const Submission submission = engine.submit(request, listening); submission.refusal != Refusal::none)
        std::printf("refused: %d, needs %zu bytes\n", static_cast<int>(submission.refusal), submission.needs_bytes);
      while (listening->tokens == 0 && engine.step()) {
      }
      for (int step = 0; step < 30 && !listening->ended; ++step) {
        const auto begin = Clock::now();
        if (!engine.step()) break;
        if (step < 8) continue;
        times[d].push_back(ms_since(begin));
        drafting[d].push_back(watching.draft_ms);
      }
      while (engine.step()) {
      }
    }
  double plain = 0;
  for (size_t d = 0; d < 4; ++d) {
    const double ms = median(times[d]);
    if (d == 0) plain = ms;
    std::printf("%-24s round with %d drafts: %.3f ms, %.3f plain steps; %.3f ms of it drafting\n", subject.name.c_str(),
                kDepths[d], ms, ms / plain, median(drafting[d]));
  }
  std::fflush(stdout);
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
    const std::string format = argv[3];
    SyntheticFormat made;
    made.format = format == "q8" ? WeightFormat::q8 : format == "q4" ? WeightFormat::q4 : WeightFormat::bf16;
    auto begin = Clock::now();
    Subject subject;
    subject.name = std::string(argv[2]) + " " + format;
    ModelConfig config = must(synthetic_config(argv[2]));
    const bool cut = argc > 5;
    if (cut) config.layers.resize(std::min(config.layers.size(), static_cast<size_t>(std::atoi(argv[5]))));
    subject.weights = make_synthetic(config, made, m.pool);
    subject.drafter = make_synthetic_mtp(must(synthetic_mtp_config(argv[2])), made, m.pool);
    std::printf("made in %.1f s\n", ms_since(begin) / 1000);
    begin = Clock::now();
    subject.weights = place_weights(subject.weights, *m.ops);
    expect_fine(m, checks, "placing");
    std::printf("placed in %.1f s\n", ms_since(begin) / 1000);
    std::fflush(stdout);
    for (const int32_t prompt : {5, 130, 700}) check_rows(m, checks, subject, prompt, 20);
    if (!cut) time_rounds(m, subject);
    if (cut) check_subject(m, checks, subject, 20);
    const int32_t tokens = argc > 4 ? std::atoi(argv[4]) : 0;
    if (tokens > 0) check_matrix(m, checks, subject, 7, tokens);
  } else {
    std::printf(
        "engine_check choose | goldens FOLDER [NAME] | pictures FOLDER... | model FOLDER [REQUESTS] | synthetic NAME "
        "FORMAT [TOKENS [LAYERS]]\n");
    return 2;
  }
  return checks.finish(what.c_str());
}

}  // namespace
}  // namespace paceline::gpu

int main(int argc, char** argv) { return paceline::gpu::run(argc, argv); }
