// How pieces become text again, as tokenizer.json's "decoder" says, and the state of doing so piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

struct DecodeStep {
  enum class Kind {
    replace,
    byte_fallback,
    strip,
    byte_level,  // the only one: pieces are bytes (byte_level/byte_alphabet.h), U+FFFD for what is no UTF-8
  };
  Kind kind;
  std::string pattern, content;           // replace: pattern is not empty. strip: content is the character
  size_t strip_begin = 0, strip_end = 0;  // strip: at most so many of them, at either side
};

struct DecodePlan {
  bool joins_with_space = false;       // no decoder at all: pieces are shown side by side
  std::vector<DecodeStep> steps;       // on each piece; at most one byte_fallback
  std::vector<DecodeStep> after_fuse;  // on the whole text: strips at its begin only
};

// What happens to a run of byte pieces (<0xE2><0x82>...).
enum class ByteRuns {
  // The run is text if all of it is valid UTF-8, otherwise every byte of it is U+FFFD: as Hugging Face decodes. A run
  // comes out when it ends.
  whole,
  // A character comes out when its last byte is there, and U+FFFD for a byte as soon as it can belong to none. Differs
  // from `whole` only in runs that are not valid. For vocabularies of bytes, where everything is one run.
  by_character,
};

// The byte that a piece such as <0x0A> stands for, or -1.
int byte_of_piece(std::string_view piece);

// The bytes that a piece adds to a text, whole characters or not.
std::string bytes_of_piece(const DecodePlan& plan, std::string_view piece);

class PieceJoiner {
 public:
  PieceJoiner(const DecodePlan& plan, ByteRuns byte_runs);

  // Appends to `out` what is now certain.
  void push(std::string_view piece, std::string& out);
  // At the end: appends what was held back, and is as new.
  void finish(std::string& out);

 private:
  void pass(size_t step, std::string_view piece, std::string& out);
  void end_byte_run(size_t step, std::string& out);
  void pass_whole_characters(size_t step, std::string& out);
  void emit_whole_characters(std::string& out);
  void emit(std::string_view piece, std::string& out);

  const DecodePlan* plan_;
  ByteRuns byte_runs_;
  std::string bytes_;  // of the byte run that is open
  bool is_first_ = true;
  std::vector<size_t> strips_left_;  // per after_fuse step: how many it may still remove
};

}  // namespace paceline
