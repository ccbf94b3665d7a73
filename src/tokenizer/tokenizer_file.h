// tokenizer.json, read but not yet understood: the two large parts (vocabulary and merges) go straight into flat
// tables, the rest becomes a JSON value. The file is hostile until proven otherwise.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/piece_table.h"

namespace paceline {

// Merges as strings, in the order of the file: the vocabulary may stand behind them.
class MergeList {
 public:
  void add(std::string_view left, std::string_view right) {
    spans_.push_back({bytes_.size(), static_cast<uint32_t>(left.size()), static_cast<uint32_t>(right.size())});
    bytes_.append(left).append(right);
  }
  [[nodiscard]] size_t size() const { return spans_.size(); }
  [[nodiscard]] std::string_view left(size_t rank) const { return joined(rank).substr(0, spans_[rank].left_bytes); }
  [[nodiscard]] std::string_view right(size_t rank) const { return joined(rank).substr(spans_[rank].left_bytes); }
  [[nodiscard]] std::string_view joined(size_t rank) const {
    const Span& span = spans_[rank];
    return std::string_view(bytes_).substr(span.begin, size_t{span.left_bytes} + span.right_bytes);
  }

 private:
  struct Span {
    size_t begin;
    uint32_t left_bytes, right_bytes;
  };
  std::string bytes_;
  std::vector<Span> spans_;
};

struct TokenizerFile {
  boost::json::value settings;  // the file, with null where vocabulary and merges stood
  bool has_vocab = false, has_merges = false;
  PieceTable vocab;  // finished
  MergeList merges;
};

// In the order of rank. An error names a merge whose parts or whole are no pieces.
Status add_merges(const PieceTable& vocab, const MergeList& merges, MergeTable& table);

Result<TokenizerFile> read_tokenizer_file(std::string_view json);

}  // namespace paceline
