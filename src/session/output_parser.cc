#include "session/output_parser.h"

#include <utility>

namespace paceline {
namespace {

constexpr size_t kAllLines = ~size_t{0};

OutputMarks only_read(OutputMarks marks, const OutputSettings& settings) {
  if (!settings.reads_thoughts || marks.thought_end < 0) marks.thought_begin = marks.thought_end = -1;
  if (!settings.reads_calls || marks.call_end < 0) marks.call_begin = marks.call_end = marks.quote = -1;
  return marks;
}

OutputDelta& last_of(OutputDelta::Kind kind, std::vector<OutputDelta>& out) {
  if (out.empty() || out.back().kind != kind) out.push_back({.kind = kind});
  return out.back();
}

}  // namespace

OutputParser::OutputParser(const Tokenizer& tokenizer, const OutputDialect& dialect, const OutputSettings& settings)
    : tokenizer_(&tokenizer),
      dialect_(&dialect),
      frame_(dialect.frame()),
      marks_(only_read(dialect.marks(), settings)),
      decoder_(tokenizer, {.skip_special = true, .byte_runs = ByteRuns::by_character}),
      stops_(settings.stops),
      tools_(settings.tools),
      keeps_tokens_(settings.keeps_tokens),
      streams_calls_(settings.streams_calls && settings.tools != nullptr) {
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
    piece_ += kQuoteMark;
    take_call(piece_, out);
    return true;
  }
  if (id == marks_.call_end && place_ == Place::call) {
    end_call(out);
    return true;
  }
  if (id == marks_.thought_end && (place_ == Place::thought || place_ == Place::thought_head)) {
    holds_newline_ = false;
    leave(out);
    lines_to_skip_ = frame_.lines_behind_thought;
    return true;
  }
  // A mark that begins something ends whatever was open.
  if (id != marks_.thought_begin && id != marks_.call_begin) return false;
  begin(id, out);
  return true;
}

void OutputParser::begin(TokenId mark, std::vector<OutputDelta>& out) {
  const bool is_call = mark == marks_.call_begin;
  if (is_call && place_ == Place::content && frame_.drops_lines_around_calls) {
    // The ends of lines before it wait until it is known to be a call.
    piece_.clear();
    decoder_.finish(piece_);
    take(piece_, out);
    certain_.clear();
    stops_.finish(certain_);
    emit_content(certain_, out);
    lines_to_skip_ = 0;
  } else {
    leave(out);
  }
  if (stopped()) return;
  place_ = is_call ? Place::call : Place::thought_head;
  call_told_ = false;
  call_stream_ = is_call && streams_calls_ ? dialect_->begin_call(*tools_) : nullptr;
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
      emit_certain(std::string(std::exchange(held_lines_, 0), '\n'), out);
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
    case Place::thought_head: break;  // no more than a part of the mark, or nothing
    case Place::call:
      if (!streams_calls_) {
        give_back_call(false, out);
        break;
      }
      // One that was told stays as far as it came. Before that it is nothing: its marks are no text.
      call_.clear();
      drop_held_lines();
      break;
  }
  head_.clear();
  lines_to_skip_ = 0;
  place_ = Place::content;
}

void OutputParser::take(std::string_view piece, std::vector<OutputDelta>& out) {
  if (piece.empty()) return;
  switch (place_) {
    case Place::content: take_content(piece, out); break;
    case Place::thought_head: take_thought_head(piece, out); break;
    case Place::thought: take_thought(piece, out); break;
    case Place::call: take_call(piece, out); break;
  }
}

void OutputParser::take_content(std::string_view piece, std::vector<OutputDelta>& out) {
  while (lines_to_skip_ > 0 && piece.starts_with('\n')) {
    piece.remove_prefix(1);
    --lines_to_skip_;
  }
  if (piece.empty()) return;
  lines_to_skip_ = 0;
  content_read_ += piece.size();
  certain_.clear();
  stops_.push(piece, certain_);
  emit_content(certain_, out);
}

// Where the head is needed, what begins in another way is text.
void OutputParser::take_thought_head(std::string_view piece, std::vector<OutputDelta>& out) {
  head_ += piece;
  if (head_.starts_with(frame_.thought_head)) {
    place_ = Place::thought;
    const std::string rest = std::exchange(head_, {}).substr(frame_.thought_head.size());
    take_thought(rest, out);
  } else if (!frame_.thought_head.starts_with(head_)) {
    place_ = frame_.needs_thought_head ? Place::content : Place::thought;
    const std::string text = std::exchange(head_, {});
    take(text, out);
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

void OutputParser::take_call(std::string_view piece, std::vector<OutputDelta>& out) {
  call_ += piece;
  if (call_stream_ == nullptr) return;
  // What reads it piece by piece may know fewer ways to write a call than what reads it whole.
  if (!call_stream_->push(piece) && !call_told_) {
    call_stream_.reset();
  } else {
    tell_call(out);
  }
}

void OutputParser::tell_call(std::vector<OutputDelta>& out) {
  if (call_stream_->name().empty()) return;
  if (!std::exchange(call_told_, true)) {
    out.push_back({.kind = OutputDelta::Kind::call, .text = call_stream_->name()});
    drop_held_lines();
  }
  const std::string more = call_stream_->take_arguments();
  if (!more.empty()) last_of(OutputDelta::Kind::arguments, out).text += more;
}

void OutputParser::end_call(std::vector<OutputDelta>& out) {
  piece_.clear();
  decoder_.finish(piece_);
  if (!piece_.empty()) take_call(piece_, out);
  place_ = Place::content;
  if (!call_told_) {
    auto call = tools_ != nullptr ? dialect_->read_call(call_, *tools_) : std::nullopt;
    if (!call) return give_back_call(true, out);
    out.push_back({.kind = OutputDelta::Kind::call, .text = std::move(call->name)});
    out.push_back({.kind = OutputDelta::Kind::arguments, .text = std::move(call->arguments)});
    drop_held_lines();
  }
  out.push_back({.kind = OutputDelta::Kind::call_end});
  ++calls_;
  call_.clear();
  if (frame_.drops_lines_around_calls) lines_to_skip_ = kAllLines;
}

// The tokens of the call in letters: nothing that the model wrote is lost.
void OutputParser::give_back_call(bool was_ended, std::vector<OutputDelta>& out) {
  std::string text(tokenizer_->piece(marks_.call_begin).value_or(""));
  for (const char c : std::exchange(call_, {})) {
    c == kQuoteMark ? text += tokenizer_->piece(marks_.quote).value_or("") : text += c;
  }
  if (was_ended) text += tokenizer_->piece(marks_.call_end).value_or("");
  take_content(text, out);
}

// Ends of lines wait where they could stand before a call.
void OutputParser::emit_content(std::string_view text, std::vector<OutputDelta>& out) {
  if (text.empty()) return;
  if (marks_.call_begin < 0 || !frame_.drops_lines_around_calls) return emit_certain(text, out);
  const size_t kept = text.find_last_not_of('\n') + 1;
  if (kept > 0) {
    std::string whole(std::exchange(held_lines_, 0), '\n');
    emit_certain(whole.append(text.substr(0, kept)), out);
  }
  held_lines_ += text.size() - kept;
}

// With the tokens that they were read from.
void OutputParser::drop_held_lines() {
  content_out_ += std::exchange(held_lines_, 0);
  while (!waiting_.empty() && waiting_.front().begin < content_out_) waiting_.pop_front();
}

void OutputParser::emit_certain(std::string_view text, std::vector<OutputDelta>& out) {
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
