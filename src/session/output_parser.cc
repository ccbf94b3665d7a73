#include "session/output_parser.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

constexpr std::string_view kThoughtHead = "thought\n";

TokenId special(const Tokenizer& tokenizer, std::string_view text) {
  const auto id = tokenizer.id_of(text);
  return id && tokenizer.is_special(*id) ? *id : -1;
}

OutputMarks only_read(OutputMarks marks, const OutputSettings& settings) {
  if (!settings.reads_thoughts || marks.thought_end < 0) marks.thought_begin = marks.thought_end = -1;
  if (!settings.reads_calls || marks.call_end < 0) marks.call_begin = marks.call_end = marks.quote = -1;
  return marks;
}

OutputDelta& last_of(OutputDelta::Kind kind, std::vector<OutputDelta>& out) {
  if (out.empty() || out.back().kind != kind || kind == OutputDelta::Kind::call) out.push_back({.kind = kind});
  return out.back();
}

}  // namespace

OutputMarks find_output_marks(const Tokenizer& tokenizer) {
  return {.thought_begin = special(tokenizer, "<|channel>"),
          .thought_end = special(tokenizer, "<channel|>"),
          .call_begin = special(tokenizer, "<|tool_call>"),
          .call_end = special(tokenizer, "<tool_call|>"),
          .quote = special(tokenizer, "<|\"|>")};
}

bool ends_in_thought(const OutputMarks& marks, std::span<const TokenId> prompt) {
  if (marks.thought_begin < 0) return false;
  for (size_t i = prompt.size(); i-- > 0;) {
    if (prompt[i] == marks.thought_begin) return true;
    if (prompt[i] == marks.thought_end) return false;
  }
  return false;
}

OutputParser::OutputParser(const Tokenizer& tokenizer, const OutputMarks& marks, const OutputSettings& settings)
    : tokenizer_(&tokenizer),
      marks_(only_read(marks, settings)),
      decoder_(tokenizer, {.skip_special = true, .byte_runs = ByteRuns::by_character}),
      stops_(settings.stops),
      tool_names_(settings.tool_names),
      keeps_tokens_(settings.keeps_tokens) {
  if (settings.begins_in_thought && settings.reads_thoughts) place_ = Place::thought;
}

bool OutputParser::push(const NewToken& token, std::vector<OutputDelta>& out) {
  if (stopped()) return false;
  if (push_mark(token.id, out)) return !stopped();
  if (place_ == Place::thought || place_ == Place::thought_head) ++thought_tokens_;
  if (keeps_tokens_ && place_ == Place::content && !tokenizer_->is_special(token.id)) {
    waiting_.push_back({token, content_read_});
  }
  piece_.clear();
  decoder_.push(token.id, piece_);
  take(piece_, out);
  return !stopped();
}

// True: the token was a mark that means something here.
bool OutputParser::push_mark(TokenId id, std::vector<OutputDelta>& out) {
  if (id < 0) return false;
  if (id == marks_.quote && place_ == Place::call) {
    piece_.clear();
    decoder_.finish(piece_);
    call_ += piece_;
    call_ += kQuoteMark;
    return true;
  }
  if (id == marks_.call_end && place_ == Place::call) {
    end_call(out);
    return true;
  }
  if (id == marks_.thought_end && (place_ == Place::thought || place_ == Place::thought_head)) {
    holds_newline_ = false;
    leave(out);
    return true;
  }
  // A mark that begins something ends whatever was open.
  if (id == marks_.thought_begin || id == marks_.call_begin) {
    leave(out);
    if (stopped()) return true;
    place_ = id == marks_.call_begin ? Place::call : Place::thought_head;
    return true;
  }
  return false;
}

// To content, with nothing left behind.
void OutputParser::leave(std::vector<OutputDelta>& out) {
  piece_.clear();
  decoder_.finish(piece_);
  take(piece_, out);
  switch (place_) {
    case Place::content:
      certain_.clear();
      stops_.finish(certain_);
      emit_content(certain_, out);
      // Tokens that have no text of their own.
      if (!stopped() && !waiting_.empty()) {
        auto& tokens = last_of(OutputDelta::Kind::content, out).tokens;
        for (Waiting& waiting : waiting_) tokens.push_back(std::move(waiting.token));
      }
      waiting_.clear();
      break;
    case Place::thought:
      if (std::exchange(holds_newline_, false)) last_of(OutputDelta::Kind::reasoning, out).text += '\n';
      break;
    case Place::thought_head: break;  // no more than a part of the mark
    case Place::call: give_back_call(false, out); break;
  }
  head_.clear();
  place_ = Place::content;
}

void OutputParser::take(std::string_view piece, std::vector<OutputDelta>& out) {
  if (piece.empty()) return;
  switch (place_) {
    case Place::content: take_content(piece, out); break;
    case Place::thought_head: take_thought_head(piece, out); break;
    case Place::thought: take_thought(piece, out); break;
    case Place::call: call_ += piece; break;
  }
}

void OutputParser::take_content(std::string_view piece, std::vector<OutputDelta>& out) {
  content_read_ += piece.size();
  certain_.clear();
  stops_.push(piece, certain_);
  emit_content(certain_, out);
}

// A channel of another name is text.
void OutputParser::take_thought_head(std::string_view piece, std::vector<OutputDelta>& out) {
  head_ += piece;
  if (head_.starts_with(kThoughtHead)) {
    place_ = Place::thought;
    const std::string rest = std::exchange(head_, {}).substr(kThoughtHead.size());
    take_thought(rest, out);
  } else if (!kThoughtHead.starts_with(head_)) {
    place_ = Place::content;
    const std::string text = std::exchange(head_, {});
    take_content(text, out);
  }
}

// Templates write a line's end between a thought and the mark behind it: that one is not the thought's.
void OutputParser::take_thought(std::string_view piece, std::vector<OutputDelta>& out) {
  if (piece.empty()) return;
  std::string text = std::exchange(holds_newline_, false) ? "\n" : "";
  text += piece;
  if (text.back() == '\n') {
    text.pop_back();
    holds_newline_ = true;
  }
  if (!text.empty()) last_of(OutputDelta::Kind::reasoning, out).text += text;
}

void OutputParser::end_call(std::vector<OutputDelta>& out) {
  piece_.clear();
  decoder_.finish(piece_);
  call_ += piece_;
  auto call = read_tool_call(call_);
  if (call && tool_names_ != nullptr &&
      std::find(tool_names_->begin(), tool_names_->end(), call->name) != tool_names_->end()) {
    last_of(OutputDelta::Kind::call, out).call = std::move(*call);
    ++calls_;
    call_.clear();
  } else {
    give_back_call(true, out);
  }
  place_ = Place::content;
}

// The tokens of the call in letters: nothing that the model wrote is lost.
void OutputParser::give_back_call(bool was_ended, std::vector<OutputDelta>& out) {
  std::string text = "<|tool_call>";
  for (const char c : std::exchange(call_, {})) c == kQuoteMark ? text += "<|\"|>" : text += c;
  if (was_ended) text += "<tool_call|>";
  take_content(text, out);
}

void OutputParser::emit_content(std::string_view text, std::vector<OutputDelta>& out) {
  if (text.empty()) return;
  OutputDelta& delta = last_of(OutputDelta::Kind::content, out);
  delta.text += text;
  content_out_ += text.size();
  while (!waiting_.empty() && waiting_.front().begin < content_out_) {
    delta.tokens.push_back(std::move(waiting_.front().token));
    waiting_.pop_front();
  }
}

void OutputParser::finish(std::vector<OutputDelta>& out) {
  if (stopped()) return;
  leave(out);
  // A call that was given back is content, and may still hold back the beginning of a stop string.
  if (!stopped()) leave(out);
}

}  // namespace paceline
