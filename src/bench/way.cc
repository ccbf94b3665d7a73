#include "bench/way.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

namespace paceline {
namespace {

class TextWriter : public Listener {
 public:
  Heard hear(const Event& event) override {
    for (const NewToken& token : event.tokens) text.tokens.push_back(token.id);
    if (event.end != nullptr) {
      ended = true;
      if (event.end->reason == EndReason::failed) problem = event.end->problem;
      text.counters = event.end->counters;
      text.decode_ms = event.end->decode_ms;
    }
    return {event.tokens.size(), false};
  }

  WrittenText text;
  std::optional<std::string> problem;
  bool ended = false;
};

// Every prompt is run: what is compared is work. And nobody is sent away: of the host only what is used is taken.
EngineSettings settings_of(const Forward& forward, const WaySettings& way) {
  constexpr size_t kOfHost = size_t{64} << 30;
  const kernels::Ops& ops = forward.ops();
  const double share = way.memory_share * static_cast<double>(ops.free_bytes());
  EngineSettings settings;
  settings.kv_bytes = ops.limits().own_memory ? static_cast<size_t>(share) : kOfHost;
  settings.queue_length = std::numeric_limits<int32_t>::max();
  settings.keeps_prefixes = false;
  settings.fixed_depth = way.depth;
  return settings;
}

}  // namespace

Way::Way(Forward& forward, ThreadPool& pool, const WaySettings& settings)
    : costs_(settings.costs),
      engine_({.forward = &forward, .pool = &pool, .drafter = settings.drafter, .costs = costs_.data()},
              settings_of(forward, settings)) {}

Result<std::vector<WrittenText>> Way::write(std::span<const Request> requests, size_t count, size_t at_once) {
  std::vector<std::shared_ptr<TextWriter>> writers;
  std::vector<TextWriter*> open;
  while (writers.size() < count || !open.empty()) {
    while (writers.size() < count && open.size() < at_once) {
      const Request& request = requests[writers.size() % requests.size()];
      open.push_back(writers.emplace_back(std::make_shared<TextWriter>()).get());
      const Submission submission = engine_.submit(request, writers.back());
      if (submission.refusal != Refusal::none)
        return Error{fmt::format("the engine does not take a request: {}", submission.problem)};
    }
    if (!engine_.step()) return Error{"the engine has left a request behind"};
    std::erase_if(open, [](const TextWriter* writer) { return writer->ended; });
  }
  std::vector<WrittenText> texts;
  for (const auto& writer : writers) {
    if (writer->problem) return Error{*writer->problem};
    texts.push_back(std::move(writer->text));
  }
  return texts;
}

}  // namespace paceline
