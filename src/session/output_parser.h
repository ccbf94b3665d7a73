// A model's tokens to what clients are told: text, thoughts, tool calls.
//
// Thoughts and calls stand between tokens that the model's dialect names. Only tokens mark them: text that spells a
// mark is text. Text comes out as whole characters, without what could begin a stop string. How tokens are grouped
// makes no difference, and what turns out to be no call is text.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/event.h"
#include "session/output_dialect.h"
#include "session/round_trace.h"
#include "session/stop_strings.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

struct OutputDelta {
  // A call begins with its name, has arguments as they are written, and ends; one that was cut off has no end.
  enum class Kind : uint8_t { content, reasoning, call, arguments, call_end };
  Kind kind = Kind::content;
  std::string text = {};              // of content, thoughts and arguments; the name of a call
  std::vector<NewToken> tokens = {};  // content: those it was read from, where they are kept
  std::vector<TextSpan> spans = {};   // of content and thoughts: who wrote them, where that is asked for
};

// What is large in it is shared by all choices of a request.
struct OutputSettings {
  bool reads_thoughts = false;                           // otherwise they are text
  bool reads_calls = false;                              // likewise
  std::shared_ptr<const CallableTools> tools = nullptr;  // a call of any other is text
  bool streams_calls = false;  // their form is certain: what begins as a call is one, and is told while it is written
  bool begins_in_thought = false;
  bool keeps_tokens = false;
  bool fills_context = false;                            // it may be as long as the context allows
  bool traces = false;                                   // says which round each piece of text is from
  bool keeps_rounds = false;                             // what each round of speculation did is counted by itself
  std::shared_ptr<const StopAutomaton> stops = nullptr;  // of the content; thoughts and calls are not cut
};

class OutputParser {
 public:
  // Tokenizer and dialect must outlive it.
  OutputParser(const Tokenizer& tokenizer, const OutputDialect& dialect, const OutputSettings& settings);

  // Appends to `out`; what is of the kind that stands last there is added to it. False: a stop string is complete, and
  // the output ends with this token.
  bool push(const NewToken& token, std::vector<OutputDelta>& out);
  // No more tokens come.
  void finish(std::vector<OutputDelta>& out);

  [[nodiscard]] bool stopped() const { return stops_.stopped(); }
  [[nodiscard]] const std::string& stop_string() const { return stops_.matched(); }  // that ended it
  [[nodiscard]] int32_t calls() const { return calls_; }
  [[nodiscard]] int32_t thought_tokens() const { return thought_tokens_; }

 private:
  enum class Place : uint8_t { content, thought_head, thought, call };
  // A token of the content whose text is not out yet.
  struct Waiting {
    NewToken token;
    size_t begin;  // bytes of content before it
  };

  bool push_mark(TokenId id, std::vector<OutputDelta>& out);
  void begin(TokenId mark, std::vector<OutputDelta>& out);
  void leave(std::vector<OutputDelta>& out);
  void take(std::string_view piece, std::vector<OutputDelta>& out);
  void take_content(std::string_view piece, std::vector<OutputDelta>& out);
  void take_thought_head(std::string_view piece, std::vector<OutputDelta>& out);
  void take_thought(std::string_view piece, std::vector<OutputDelta>& out);
  void take_call(std::string_view piece, std::vector<OutputDelta>& out);
  void tell_call(std::vector<OutputDelta>& out);
  void end_call(std::vector<OutputDelta>& out);
  void give_back_call(bool was_ended, std::vector<OutputDelta>& out);
  void emit_content(std::string_view text, std::vector<OutputDelta>& out);
  void emit_certain(std::string_view text, std::vector<OutputDelta>& out);
  void drop_held_lines();

  const Tokenizer* tokenizer_;
  const OutputDialect* dialect_;
  OutputFrame frame_;
  OutputMarks marks_;
  StreamDecoder decoder_;
  StopStrings stops_;
  std::shared_ptr<const CallableTools> tools_;
  bool keeps_tokens_;
  Place place_ = Place::content;
  std::string piece_, certain_;
  std::string head_;            // of a thought
  bool holds_newline_ = false;  // a thought's last character, which may belong to the mark behind it
  bool streams_calls_;
  std::string call_;
  std::unique_ptr<CallStream> call_stream_;    // where calls are told while they are written
  bool call_told_ = false;                     // that there is one
  size_t lines_to_skip_ = 0;                   // ends of lines that may still belong to what is before the content
  size_t held_lines_ = 0;                      // those at the content's end, which may belong to a call behind it
  size_t content_read_ = 0, content_out_ = 0;  // bytes
  std::deque<Waiting> waiting_;
  int32_t calls_ = 0, thought_tokens_ = 0;
};

}  // namespace paceline
