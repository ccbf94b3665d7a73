#include "session/round_trace.h"

#include <algorithm>
#include <utility>

#include "session/token_bytes.h"

namespace paceline {
namespace {

// Tokens whose text never came, such as a mark's, are not waited for longer than so many others.
constexpr size_t kMostWaiting = 32;

bool is_inside_character(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

void add_span(std::vector<TextSpan>& spans, TextSpan span) {
  if (!spans.empty() && spans.back().origin == span.origin && spans.back().round == span.round) {
    spans.back().bytes += span.bytes;
  } else {
    spans.push_back(span);
  }
}

}  // namespace

void TracedRounds::add(const TracedRounds& more) {
  if (more.each.empty()) return;
  last = more.last;
  expected = more.expected;
  each.insert(each.end(), more.each.begin(), more.each.end());
}

void RoundTracer::note_round(const Event& event) {
  if (event.round == nullptr) return;
  TracedRound& round = rounds_.each.emplace_back();
  round.number = ++rounds_.last;
  round.drafted = event.drafted;
  for (const NewToken& token : event.tokens) round.accepted += token.origin == TokenOrigin::accepted ? 1 : 0;
  round.depth = event.round->depth;
  round.reason = event.round->reason;
  round.draft_ms = event.round->draft_ms;
  round.verify_ms = event.round->verify_ms;
  round.choose_ms = event.round->choose_ms;
  round.commit_ms = event.round->commit_ms;
  rounds_.expected = event.round->expected;
  round.rejected.assign(event.round->rejected.begin(), event.round->rejected.end());
}

void RoundTracer::push(const NewToken& token) {
  const size_t bytes = tokenizer_.is_special(token.id) ? 0 : token_bytes(tokenizer_, token.id).size();
  waiting_.push_back({bytes, token.origin, rounds_.last});
  if (waiting_.size() > kMostWaiting) waiting_.pop_front();
}

void RoundTracer::take_text(std::string_view text, std::vector<TextSpan>& spans) {
  size_t at = 0;
  while (at < text.size() && !waiting_.empty()) {
    TextSpan& next = waiting_.front();
    size_t end = std::min(text.size(), at + next.bytes);
    // A character of several tokens is the first one's.
    while (end > at && is_inside_character(text, end)) ++end;
    if (end > at) add_span(spans, {end - at, next.origin, next.round});
    next.bytes -= std::min(next.bytes, end - at);
    if (next.bytes == 0) waiting_.pop_front();
    at = end;
  }
  if (at == text.size()) return;
  const TextSpan last = spans.empty() ? TextSpan{0, TokenOrigin::plain, rounds_.last} : spans.back();
  add_span(spans, {text.size() - at, last.origin, last.round});
}

void RoundTracer::begin_other() {
  while (waiting_.size() > 1) waiting_.pop_front();
}

TracedRounds RoundTracer::take_rounds() {
  TracedRounds taken = std::exchange(rounds_, {});
  rounds_.last = taken.last;
  return taken;
}

}  // namespace paceline
