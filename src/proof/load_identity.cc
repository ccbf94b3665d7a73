#include "proof/load_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "proof/decode.h"
#include "proof/identity.h"

namespace paceline {
namespace {

class Collector : public Listener {
 public:
  explicit Collector(int32_t choices, int32_t takes) : choices_(static_cast<size_t>(choices)), takes_(takes) {}

  struct Choice {
    std::vector<TokenId> tokens;
    bool ended = false;
    SequenceEnd end;
  };

  Heard hear(const Event& event) override {
    Choice& choice = choices_[static_cast<size_t>(event.choice)];
    if (choice.ended) wrong_ = true;
    size_t taken = 0;
    for (; taken < event.tokens.size() && static_cast<int32_t>(choice.tokens.size()) < takes_; ++taken)
      choice.tokens.push_back(event.tokens[taken].id);
    if (event.end != nullptr) {
      choice.ended = true;
      choice.end = *event.end;
    }
    return {taken, static_cast<int32_t>(choice.tokens.size()) == takes_};
  }

  [[nodiscard]] bool ended() const {
    return std::all_of(choices_.begin(), choices_.end(), [](const Choice& choice) { return choice.ended; });
  }
  [[nodiscard]] bool wrong() const { return wrong_; }
  [[nodiscard]] const std::vector<Choice>& choices() const { return choices_; }

 private:
  std::vector<Choice> choices_;
  int32_t takes_;  // tokens, and then ends the text
  bool wrong_ = false;
};

class Load {
 public:
  Load(const EngineParts& parts, const EngineSettings& settings, const LoadPlan& plan)
      : parts_(parts), plan_(plan), random_(plan.seed), engine_(parts, settings) {}

  LoadResult run() {
    while (result_.difference.empty() && (made_ < plan_.requests || !running_.empty())) {
      while (made_ < plan_.requests && static_cast<int32_t>(running_.size()) < plan_.at_once && pick(0, 3) > 0)
        submit();
      cancel_some();
      engine_.step();
      result_.most_running = std::max(result_.most_running, engine_.stats().running);
      check_ended();
    }
    while (engine_.step()) {
    }
    const EngineStats stats = engine_.stats();
    result_.prefix_hits = stats.prefix_hits;
    result_.pictures_seen = stats.pictures_seen;
    result_.pictures_known = stats.pictures_known;
    result_.counters = stats.speculation;
    result_.gave_way = stats.gave_way;
    if (result_.difference.empty()) result_.difference = engine_.integrity_problem();
    return result_;
  }

 private:
  struct Running {
    RequestId id;
    Request request;
    std::shared_ptr<Collector> collector;
    int32_t takes;
    bool cancelled = false;
  };

  int32_t pick(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }

  Request make() {
    Request request;
    // Some begin alike, for long or not.
    const int32_t from = pick(0, 2) > 0 ? pick(0, 1) * 17 : pick(0, 1000);
    const int32_t length = pick(0, 4) == 0 ? pick(1, 8) : pick(1, plan_.longest_prompt);
    for (int32_t i = 0; i < length; ++i)
      request.prompt.push_back(plan_.text[static_cast<size_t>(from + i) % plan_.text.size()]);
    const auto seed = static_cast<uint64_t>(pick(0, 1 << 20));
    request.sampling = choice_settings(pick(0, kChoiceKinds - 1), seed, request.prompt);
    if (!plan_.pictures.empty()) show_pictures(request);
    request.stop_ids = plan_.stop_ids;
    request.max_tokens = pick(1, plan_.most_tokens);
    request.context = parts_.forward->config().context;
    request.choices = pick(0, 7) == 0 ? pick(2, 3) : 1;
    if (pick(0, 5) == 0) request.max_depth = pick(0, 3);
    request.reads_prefixes = pick(0, 7) > 0;
    request.scope = {static_cast<uint64_t>(pick(0, 1)), 0};
    if (pick(0, 9) == 0) request.top_logprobs = pick(0, 3);
    return request;
  }

  // None, one or two, some as frames of a clip: mostly the same one at the same place, or any of them anywhere.
  void show_pictures(Request& request) {
    const TokenIds& ids = parts_.forward->config().ids;
    const auto length = static_cast<int32_t>(request.prompt.size());
    std::vector<int32_t> places(static_cast<size_t>(pick(0, 2)));
    for (int32_t& place : places) place = pick(0, 3) > 0 ? std::min(length, 20) : pick(0, length);
    std::sort(places.begin(), places.end());
    std::vector<TokenId> prompt;
    auto next = places.begin();
    for (int32_t at = 0; at <= length; ++at) {
      for (; next != places.end() && *next == at; ++next) {
        const int32_t which = pick(0, 2) > 0 ? 0 : pick(0, static_cast<int32_t>(plan_.pictures.size()) - 1);
        RequestPicture picture = plan_.pictures[static_cast<size_t>(which)];
        prompt.push_back(ids.image_begin);
        picture.first_pos = static_cast<int32_t>(prompt.size());
        prompt.insert(prompt.end(), static_cast<size_t>(picture.count), which % 2 == 0 ? ids.image : ids.video);
        prompt.push_back(ids.image_end);
        request.pictures.push_back(std::move(picture));
      }
      if (at < length) prompt.push_back(request.prompt[static_cast<size_t>(at)]);
    }
    request.prompt = std::move(prompt);
  }

  // The bare loop is given what the tower makes of them, one at a time.
  std::vector<SoftTokens> soft_tokens(const Request& request) {
    std::vector<SoftTokens> soft;
    for (const RequestPicture& picture : request.pictures) {
      std::vector<float>& rows = features_[picture.content];
      const Patches* const patches = picture.patches.get();
      if (rows.empty()) rows = std::move(parts_.vision->run({&patches, 1})[0]);
      soft.push_back({picture.first_pos, picture.count, rows.data()});
    }
    return soft;
  }

  void submit() {
    Running one{0, make(), nullptr, pick(0, 9) == 0 ? pick(1, 10) : 1 << 20, false};
    one.collector = std::make_shared<Collector>(one.request.choices, one.takes);
    const Submission submission = engine_.submit(one.request, one.collector);
    if (submission.refusal != Refusal::none) {
      result_.difference = fmt::format("request {} was refused", made_);
      return;
    }
    one.id = submission.id;
    running_.push_back(std::move(one));
    ++made_;
  }

  void cancel_some() {
    if (running_.empty() || pick(1, plan_.cancels_every) > 1) return;
    Running& one = running_[static_cast<size_t>(pick(0, static_cast<int32_t>(running_.size()) - 1))];
    engine_.cancel(one.id);
    one.cancelled = true;
  }

  void check_ended() {
    for (size_t i = 0; i < running_.size();) {
      if (!running_[i].collector->ended()) {
        ++i;
        continue;
      }
      check(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void check(const Running& one) {
    ++result_.requests;
    if (one.collector->wrong()) result_.difference = "an event came after the end";
    for (size_t choice = 0; choice < one.collector->choices().size(); ++choice) check(one, choice);
  }

  void check(const Running& one, size_t choice) {
    const Collector::Choice& got = one.collector->choices()[choice];
    ++result_.choices;
    result_.tokens += static_cast<int64_t>(got.tokens.size());
    DecodeRequest alone = decode_request(one.request, static_cast<int32_t>(choice));
    alone.soft = soft_tokens(one.request);
    DecodeOutcome expected = decode(plan_.alone != nullptr ? *plan_.alone : *parts_.forward, alone, {});
    if (got.end.reason == EndReason::failed || expected.end == DecodeEnd::failed) {
      result_.difference = got.end.problem + expected.problem;
      return;
    }
    const bool was_cut = got.end.reason == EndReason::cancelled || got.end.reason == EndReason::listener;
    if (got.end.reason == EndReason::cancelled) ++result_.cancelled;
    if (got.end.reason == EndReason::cancelled && !one.cancelled) result_.difference = "nobody cancelled it";
    if (got.end.reason == EndReason::listener && static_cast<int32_t>(got.tokens.size()) != one.takes)
      result_.difference = "the listener's end came elsewhere";
    if (was_cut) expected.tokens.resize(std::min(expected.tokens.size(), got.tokens.size()));
    const bool same_end = was_cut || end_of(got.end.reason) == expected.end;
    if (got.tokens == expected.tokens && same_end && got.end.output_tokens == static_cast<int32_t>(got.tokens.size()))
      return;
    const auto at = std::mismatch(got.tokens.begin(), got.tokens.end(), expected.tokens.begin(), expected.tokens.end());
    result_.difference = fmt::format(
        "request {} choice {} (prompt {}, depth {}) gave {} tokens, alone {}; they differ from token {} on; end {}",
        one.id, choice, one.request.prompt.size(), one.request.max_depth, got.tokens.size(), expected.tokens.size(),
        at.first - got.tokens.begin(), static_cast<int>(got.end.reason));
  }

  static DecodeEnd end_of(EndReason reason) {
    switch (reason) {
      case EndReason::stop_id: return DecodeEnd::stop_id;
      case EndReason::max_tokens: return DecodeEnd::max_tokens;
      case EndReason::context: return DecodeEnd::context;
      default: return DecodeEnd::callback;
    }
  }

  const EngineParts& parts_;
  const LoadPlan& plan_;
  std::mt19937_64 random_;
  Engine engine_;
  std::vector<Running> running_;
  std::map<Fingerprint, std::vector<float>> features_;
  int32_t made_ = 0;
  LoadResult result_;
};

}  // namespace

LoadResult check_load(const EngineParts& parts, const EngineSettings& settings, const LoadPlan& plan) {
  return Load(parts, settings, plan).run();
}

}  // namespace paceline
