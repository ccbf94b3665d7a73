#include "proof/pace_check.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/median.h"
#include "proof/decode.h"
#include "session/model_path.h"

namespace paceline {
namespace {

constexpr const char* kPrompt =
    "A small boat lay in the harbour and had never seen the open sea. One morning the wind was right, and";

struct Timed {
  std::vector<TokenId> tokens;
  double decode_ms = 0;
  std::string problem;
};

class TimedText : public Listener {
 public:
  Heard hear(const Event& event) override {
    for (const NewToken& token : event.tokens) text.tokens.push_back(token.id);
    if (event.end != nullptr) {
      text.decode_ms = event.end->decode_ms;
      text.problem = event.end->problem;
    }
    return {event.tokens.size(), false};
  }
  Timed text;
};

Result<Timed> by_engine(Engine& engine, const Request& request) {
  const auto listener = std::make_shared<TimedText>();
  const Submission submission = engine.submit(request, listener);
  if (submission.refusal != Refusal::none) return Error{submission.problem};
  while (engine.step()) {
  }
  if (!listener->text.problem.empty()) return Error{listener->text.problem};
  return listener->text;
}

Result<Timed> by_bare_loop(Forward& forward, const Request& request) {
  DecodeOutcome outcome = decode(forward, decode_request(request), {});
  if (outcome.end == DecodeEnd::failed) return Error{outcome.problem};
  return Timed{std::move(outcome.tokens), outcome.decode_ms, ""};
}

// Nothing but the number of tokens ends it.
Request request_of(const TextModel& model, int32_t tokens) {
  Request request;
  request.prompt = model.tokenizer.encode(kPrompt, true);
  request.sampling.temperature = 0;
  request.max_tokens = tokens;
  request.context = model.loaded.config.context;
  request.max_depth = 0;
  request.reads_prefixes = false;
  return request;
}

}  // namespace

Result<PaceCheck> check_pace(const RunOptions& run, const PaceSettings& settings) {
  TRY_ASSIGN(const auto folder, find_model(run.model));
  TRY_ASSIGN(const auto machine, Machine::make({.threads = run.threads, .device = run.device}));
  TRY_ASSIGN(const TextModel model, load_text_model(folder, machine->pool()));
  TRY(model.loaded.weights->check(machine->ops().limits()));
  const auto weights = model.loaded.weights->placed_for(machine->ops());
  const std::unique_ptr<Forward> bare = weights->make_forward(machine->ops(), run.precision);
  const std::unique_ptr<Forward> served = weights->make_forward(machine->ops(), run.precision);
  EngineSettings engine_settings;
  engine_settings.kv_bytes = size_t{1} << 30;
  Engine engine({.forward = served.get(), .pool = &machine->pool()}, engine_settings);
  const Request request = request_of(model, settings.tokens);
  PaceCheck out;
  out.tokens = settings.tokens;
  // The first round is not counted: pages are taken there.
  for (int32_t round = 0; round <= settings.rounds; ++round) {
    // Who goes first changes from round to round.
    Timed plain, other;
    for (const bool bare_turn : {round % 2 == 0, round % 2 != 0}) {
      TRY_ASSIGN(Timed text, bare_turn ? by_bare_loop(*bare, request) : by_engine(engine, request));
      (bare_turn ? plain : other) = std::move(text);
    }
    out.equal = out.equal && plain.tokens == other.tokens;
    if (round > 0) {
      out.bare_ms.push_back(plain.decode_ms);
      out.engine_ms.push_back(other.decode_ms);
      out.ratios.push_back(plain.decode_ms / other.decode_ms);
    }
    if (settings.progress) settings.progress(round, settings.rounds);
  }
  return out;
}

std::string pace_line(const PaceCheck& checked) {
  const auto rate = [&](const std::vector<double>& ms) { return (checked.tokens - 1) * 1e3 / median(ms); };
  return fmt::format("one request {:.1f} tok/s, bare loop {:.1f}; {:.3f} of its speed (median of {}); texts {}\n",
                     rate(checked.engine_ms), rate(checked.bare_ms), median(checked.ratios), checked.ratios.size(),
                     checked.equal ? "equal" : "DIFFER");
}

boost::json::object pace_json(const PaceCheck& checked) {
  const auto list = [](const std::vector<double>& values) { return boost::json::array(values.begin(), values.end()); };
  return {{"equal", checked.equal},
          {"tokens", checked.tokens},
          {"ratio", median(checked.ratios)},
          {"bare_ms", list(checked.bare_ms)},
          {"engine_ms", list(checked.engine_ms)},
          {"ratios", list(checked.ratios)}};
}

}  // namespace paceline
