// Token ids to text, one at a time, without half a character ever coming out.
#pragma once

#include <string>

#include "tokenizer/decode_plan.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

struct StreamDecoderOptions {
  bool skip_special = true;
  // With ByteRuns::whole all that comes out, finish() included, equals Tokenizer::decode() of all ids.
  ByteRuns byte_runs = ByteRuns::whole;
};

// Holds a reference to the tokenizer. Constant time per token, on average.
class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, StreamDecoderOptions options)
      : tokenizer_(&tokenizer),
        joiner_(tokenizer.decode_plan(), options.byte_runs),
        skip_special_(options.skip_special) {}

  // Appends to `out` the text that this id completes: often its piece, sometimes nothing yet.
  void push(TokenId id, std::string& out) {
    if (skip_special_ && tokenizer_->is_special(id)) return;
    if (const auto piece = tokenizer_->piece(id)) joiner_.push(*piece, out);
  }
  [[nodiscard]] std::string push(TokenId id) {
    std::string out;
    push(id, out);
    return out;
  }

  // At the end: what was held back. The decoder is then as new.
  void finish(std::string& out) { joiner_.finish(out); }
  [[nodiscard]] std::string finish() {
    std::string out;
    finish(out);
    return out;
  }

 private:
  const Tokenizer* tokenizer_;
  PieceJoiner joiner_;
  bool skip_special_;
};

}  // namespace paceline
