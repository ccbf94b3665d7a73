// Completions as OpenAI's clients read them: whole, or in chunks.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/event.h"
#include "session/choice_output.h"
#include "session/output_dialect.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

// What all objects of one answer share.
struct AnswerHead {
  bool chat = true;
  std::string id;       // chatcmpl-... or cmpl-...
  int64_t created = 0;  // seconds since 1970
  std::string model;
};

boost::json::object usage_object(const Usage& usage);
// What speculation did.
boost::json::object speculative_object(const SpeculationCounters& counters);
// Counts and times under the names that llama.cpp's clients show.
boost::json::object timings_object(const Usage& usage);
// {"speculative_decoding": …} under vLLM's names; detailed: with each round.
boost::json::object metrics_object(const Usage& usage, bool detailed);
// {"content": [...]} of chats: tokens with the likeliest in their places.
boost::json::array logprob_list(const Tokenizer& tokenizer, const std::vector<NewToken>& tokens);

// A choice as far as it has come.
struct ChoiceText {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  std::vector<NewToken> tokens;  // of the content, where log-probabilities were asked for
  std::optional<std::string> finish_reason;
};

class AnswerWriter {
 public:
  // The tokenizer must outlive it. `has_logprobs`: of the content's tokens.
  AnswerWriter(AnswerHead head, const Tokenizer& tokenizer, bool has_logprobs)
      : head_(std::move(head)), tokenizer_(&tokenizer), has_logprobs_(has_logprobs) {}

  [[nodiscard]] const AnswerHead& head() const { return head_; }

  [[nodiscard]] boost::json::object whole(const std::vector<ChoiceText>& choices, const Usage& usage) const;

  // The first chunk of a choice, which names the role. Only for chats.
  [[nodiscard]] boost::json::object opening(int32_t choice) const;
  // Of content and thoughts. `offset`: bytes of text that the choice has had before.
  [[nodiscard]] boost::json::object text_chunk(int32_t choice, const OutputDelta& delta, size_t offset) const;
  // A call begins, with a name and no arguments yet; and some of its arguments.
  [[nodiscard]] boost::json::object call_chunk(int32_t choice, int32_t call, std::string_view name) const;
  [[nodiscard]] boost::json::object arguments_chunk(int32_t choice, int32_t call, std::string_view arguments) const;
  // Which rounds a chunk came from, and who wrote what of its text.
  [[nodiscard]] boost::json::object speculation(const TracedRounds& rounds, const OutputDelta& delta) const;
  [[nodiscard]] boost::json::object round_object(const TracedRound& round) const;
  [[nodiscard]] boost::json::object closing(int32_t choice, std::string_view finish_reason) const;
  [[nodiscard]] boost::json::object usage_chunk(const Usage& usage) const;

 private:
  [[nodiscard]] boost::json::object frame(bool chunk) const;
  [[nodiscard]] boost::json::object chunk_of(int32_t choice, boost::json::object delta, boost::json::value logprobs,
                                             std::optional<std::string_view> finish_reason) const;
  [[nodiscard]] boost::json::value logprobs(const std::vector<NewToken>& tokens, size_t offset) const;
  [[nodiscard]] boost::json::object text_logprobs(const std::vector<NewToken>& tokens, size_t offset) const;
  [[nodiscard]] std::string call_id(int32_t choice, int32_t call) const;

  AnswerHead head_;
  const Tokenizer* tokenizer_;
  bool has_logprobs_;
};

}  // namespace paceline
