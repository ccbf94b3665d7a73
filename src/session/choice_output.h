// A choice on its way out: the engine's tokens made into what its reader is told, why it ended, and what all of a
// request's choices took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.h"
#include "session/output_parser.h"

namespace paceline {

// What a round of speculation did.
struct RoundCount {
  int32_t drafted = 0, accepted = 0;
};

// Of one request, or of several that are answered together.
struct Usage {
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0, reasoning_tokens = 0;
  PrefixMiss missed = PrefixMiss::none;  // why not more of the prompt was cached
  SpeculationCounters speculation;
  double prompt_ms = 0, decode_ms = 0;  // of the choice that took longest
  std::vector<RoundCount> rounds;       // where they were asked for
};

// context: of the length that the context allows, where more was asked for. cancelled: by whoever reads it, or with the
// engine. failed: the choice's problem says why.
enum class OutputEnd : uint8_t { none, stop, length, context, tool_calls, cancelled, deadline, failed };
const char* output_end_name(OutputEnd end);

class ChoiceOutput {
 public:
  // Tokenizer and dialect must outlive it.
  ChoiceOutput(const Tokenizer& tokenizer, const OutputDialect& dialect, const OutputSettings& settings)
      : parser_(tokenizer, dialect, settings),
        fills_context_(settings.fills_context),
        keeps_rounds_(settings.keeps_rounds) {
    if (settings.traces) tracer_.emplace(tokenizer);
  }

  // Of an event, before its tokens: what it says about the prompt, and about the round.
  void note_prompt(const Event& event, Usage& usage);
  // False: the output ends with this token.
  bool push(const NewToken& token, Usage& usage);
  // No more tokens come. What comes behind it changes nothing.
  void finish(const SequenceEnd& end, Usage& usage);

  // What has not been taken out yet. Neighbours of one kind are one.
  [[nodiscard]] std::vector<OutputDelta>& unheard() { return unheard_; }
  // Rounds since it was last asked, where they are traced.
  [[nodiscard]] TracedRounds take_rounds() { return tracer_ ? tracer_->take_rounds() : TracedRounds(); }
  [[nodiscard]] OutputEnd end() const { return end_; }
  [[nodiscard]] const std::string& stop_string() const { return parser_.stop_string(); }  // "": another end
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  // What has been added to the deltas since there were so many, of which the last had so many bytes.
  struct Heights {
    size_t deltas = 0, bytes = 0;
  };
  [[nodiscard]] Heights heights() const {
    return {unheard_.size(), unheard_.empty() ? 0 : unheard_.back().text.size()};
  }
  void trace_since(const Heights& before);

  OutputParser parser_;
  std::optional<RoundTracer> tracer_;
  bool fills_context_, keeps_rounds_;
  int32_t cached_ = 0;
  std::vector<OutputDelta> unheard_;
  OutputEnd end_ = OutputEnd::none;
  std::string problem_;
};

}  // namespace paceline
