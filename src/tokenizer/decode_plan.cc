#include "tokenizer/decode_plan.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/byte_level/byte_alphabet.h"

namespace paceline {
namespace {

// As Rust's from_str_radix, which takes a plus sign in place of the first digit.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view stripped(const DecodeStep& step, std::string_view piece) {
  for (size_t i = 0; i < step.strip_begin && piece.starts_with(step.content); ++i)
    piece.remove_prefix(step.content.size());
  for (size_t i = 0; i < step.strip_end && piece.ends_with(step.content); ++i) piece.remove_suffix(step.content.size());
  return piece;
}

}  // namespace

int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  const int high = piece[3] == '+' ? 0 : hex_digit(piece[3]);
  const int low = hex_digit(piece[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string bytes_of_piece(const DecodePlan& plan, std::string_view piece) {
  const auto has = [&](DecodeStep::Kind kind) {
    return std::any_of(plan.steps.begin(), plan.steps.end(),
                       [kind](const DecodeStep& step) { return step.kind == kind; });
  };
  std::string bytes;
  if (has(DecodeStep::Kind::byte_level)) {
    append_piece_bytes(piece, bytes);
    return bytes;
  }
  const int byte = has(DecodeStep::Kind::byte_fallback) ? byte_of_piece(piece) : -1;
  if (byte >= 0) return std::string(1, static_cast<char>(byte));
  PieceJoiner joiner(plan, ByteRuns::whole);
  joiner.push(piece, bytes);
  joiner.finish(bytes);
  return bytes;
}

PieceJoiner::PieceJoiner(const DecodePlan& plan, ByteRuns byte_runs) : plan_(&plan), byte_runs_(byte_runs) {
  for (const DecodeStep& step : plan.after_fuse) strips_left_.push_back(step.strip_begin);
}

void PieceJoiner::push(std::string_view piece, std::string& out) { pass(0, piece, out); }

void PieceJoiner::finish(std::string& out) {
  for (size_t step = 0; step < plan_->steps.size(); ++step) {
    if (plan_->steps[step].kind == DecodeStep::Kind::byte_fallback) end_byte_run(step, out);
    // What is cut short is one replacement character.
    if (plan_->steps[step].kind == DecodeStep::Kind::byte_level && !bytes_.empty()) emit(kReplacementCharacter, out);
  }
  *this = PieceJoiner(*plan_, byte_runs_);
}

void PieceJoiner::pass(size_t step, std::string_view piece, std::string& out) {
  if (step == plan_->steps.size()) return emit(piece, out);
  const DecodeStep& now = plan_->steps[step];
  switch (now.kind) {
    case DecodeStep::Kind::replace: return pass(step + 1, with_replaced(piece, now.pattern, now.content), out);
    case DecodeStep::Kind::strip: return pass(step + 1, stripped(now, piece), out);
    case DecodeStep::Kind::byte_level: append_piece_bytes(piece, bytes_); return emit_whole_characters(out);
    case DecodeStep::Kind::byte_fallback: break;
  }
  if (const int byte = byte_of_piece(piece); byte >= 0) {
    bytes_ += static_cast<char>(byte);
    if (byte_runs_ == ByteRuns::by_character) pass_whole_characters(step, out);
    return;
  }
  end_byte_run(step, out);
  pass(step + 1, piece, out);
}

void PieceJoiner::end_byte_run(size_t step, std::string& out) {
  if (bytes_.empty()) return;
  if (is_valid_utf8(bytes_)) {
    pass(step + 1, bytes_, out);
  } else {
    for (size_t i = 0; i < bytes_.size(); ++i) pass(step + 1, kReplacementCharacter, out);
  }
  bytes_.clear();
}

void PieceJoiner::pass_whole_characters(size_t step, std::string& out) {
  while (!bytes_.empty()) {
    const Utf8Front front = utf8_front(bytes_);
    if (front.state == Utf8State::cut_short) return;
    if (front.state == Utf8State::complete) {
      pass(step + 1, std::string_view(bytes_).substr(0, front.bytes), out);
    } else {
      for (size_t i = 0; i < front.bytes; ++i) pass(step + 1, kReplacementCharacter, out);
    }
    bytes_.erase(0, front.bytes);
  }
}

// Of bytes that are no character each maximal subpart is one replacement character.
void PieceJoiner::emit_whole_characters(std::string& out) {
  std::string_view left = bytes_;
  while (!left.empty()) {
    const Utf8Front front = utf8_front(left);
    if (front.state == Utf8State::cut_short) break;
    emit(front.state == Utf8State::complete ? left.substr(0, front.bytes) : kReplacementCharacter, out);
    left.remove_prefix(front.bytes);
  }
  bytes_.erase(0, bytes_.size() - left.size());
}

void PieceJoiner::emit(std::string_view piece, std::string& out) {
  if (plan_->joins_with_space && !is_first_) out += ' ';
  is_first_ = false;
  for (size_t i = 0; i < strips_left_.size(); ++i) {
    const std::string_view content = plan_->after_fuse[i].content;
    while (strips_left_[i] > 0 && piece.starts_with(content)) {
      piece.remove_prefix(content.size());
      --strips_left_[i];
    }
    if (!piece.empty()) strips_left_[i] = 0;  // the text has begun
  }
  out += piece;
}

}  // namespace paceline
