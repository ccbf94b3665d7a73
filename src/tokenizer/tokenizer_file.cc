#include "tokenizer/tokenizer_file.h"

#include <fmt/core.h>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "tokenizer/tokenizer_parts.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr size_t kMaxFileBytes = 1u << 30;  // Gemma 4's is 32 MB; offsets below are 32 bits

// Receives the parser's events. Names and constants of this class are what boost::json::basic_parser asks for.
class TokenizerFileHandler {
 public:
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  bool on_document_begin(json::error_code&) {
    settings_.reset();
    return true;
  }
  bool on_document_end(json::error_code&) {
    file_.settings = settings_.release();
    return true;
  }

  bool on_object_begin(json::error_code& ec) {
    if (part_ != Part::settings) return refuse(ec, "an object");
    if (depth_ == 2 && top_key_ == "model" && model_key_ == "vocab") {
      if (std::exchange(file_.has_vocab, true)) return refuse(ec, "a second object");
      part_ = Part::vocab;
    }
    ++depth_;
    return true;
  }
  bool on_object_end(size_t count, json::error_code&) {
    --depth_;
    if (part_ == Part::vocab) {
      part_ = Part::settings;
      settings_.push_null();
    } else {
      settings_.push_object(count);
    }
    return true;
  }

  bool on_array_begin(json::error_code& ec) {
    if (part_ == Part::vocab || (part_ == Part::merges && depth_ != 3)) return refuse(ec, "an array");
    if (part_ == Part::settings && depth_ == 2 && top_key_ == "model" && model_key_ == "merges") {
      if (std::exchange(file_.has_merges, true)) return refuse(ec, "a second list");
      part_ = Part::merges;
    }
    pair_strings_ = 0;
    ++depth_;
    return true;
  }
  bool on_array_end(size_t count, json::error_code& ec) {
    --depth_;
    if (part_ == Part::settings) {
      settings_.push_array(count);
    } else if (depth_ == 3) {
      if (pair_strings_ != 2) return refuse(ec, "an array of another length");
      file_.merges.add(pair_left_, text_);
    } else {
      part_ = Part::settings;
      settings_.push_null();
    }
    return true;
  }

  bool on_key_part(json::string_view part, size_t so_far, json::error_code&) {
    collect(part, so_far);
    return true;
  }
  bool on_key(json::string_view part, size_t total, json::error_code&) {
    collect(part, total);
    if (part_ == Part::settings) {
      if (depth_ == 1) {
        top_key_ = text_;
        model_key_.clear();
      }
      if (depth_ == 2) model_key_ = text_;
      settings_.push_key(text_);
    }
    return true;
  }

  bool on_string_part(json::string_view part, size_t so_far, json::error_code&) {
    collect(part, so_far);
    return true;
  }
  bool on_string(json::string_view part, size_t total, json::error_code& ec) {
    collect(part, total);
    switch (part_) {
      case Part::settings: settings_.push_string(text_); return true;
      case Part::vocab: return refuse(ec, "a string");
      case Part::merges: break;
    }
    if (depth_ != 4) return add_joined_merge(ec);
    if (pair_strings_ == 0) pair_left_.swap(text_);  // the right half needs text_
    return ++pair_strings_ <= 2 || refuse(ec, "an array of another length");
  }

  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(int64_t number, json::string_view, json::error_code& ec) {
    if (part_ == Part::settings) settings_.push_int64(number);
    if (part_ == Part::merges) return refuse(ec, "a number");
    if (part_ == Part::vocab) {
      if (number < 0 || number > kMaxTokenId) return refuse(ec, fmt::format("{}", number));
      file_.vocab.add(text_, static_cast<TokenId>(number));
    }
    return true;
  }
  bool on_uint64(uint64_t number, json::string_view, json::error_code& ec) {
    if (part_ != Part::settings) return refuse(ec, fmt::format("{}", number));
    settings_.push_uint64(number);
    return true;
  }
  bool on_double(double number, json::string_view, json::error_code& ec) {
    if (part_ != Part::settings) return refuse(ec, fmt::format("{}", number));
    settings_.push_double(number);
    return true;
  }
  bool on_bool(bool value, json::error_code& ec) {
    if (part_ != Part::settings) return refuse(ec, "a boolean");
    settings_.push_bool(value);
    return true;
  }
  bool on_null(json::error_code& ec) {
    if (part_ != Part::settings) return refuse(ec, "null");
    settings_.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  TokenizerFile& file() { return file_; }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  enum class Part { settings, vocab, merges };

  void collect(json::string_view part, size_t so_far) {
    if (so_far == part.size()) text_.clear();
    text_.append(part.data(), part.size());
  }

  // The older way to write a merge: "left right".
  bool add_joined_merge(json::error_code& ec) {
    const std::string_view both = text_;
    const size_t space = both.find(' ');
    if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) {
      return refuse(ec, fmt::format("\"{}\"", both));
    }
    file_.merges.add(both.substr(0, space), both.substr(space + 1));
    return true;
  }

  bool refuse(json::error_code& ec, std::string_view found) {
    if (part_ == Part::merges) {
      refusal_ = fmt::format("model.merges, entry {}: expected [\"left\", \"right\"] or \"left right\", found {}",
                             file_.merges.size(), found);
    } else if (part_ == Part::vocab) {
      refusal_ =
          fmt::format("model.vocab, piece \"{}\": expected an id from 0 to {}, found {}", text_, kMaxTokenId, found);
    } else {
      refusal_ = fmt::format("model.{}: expected it once, found {}", model_key_, found);
    }
    ec = json::error::extra_data;  // any error stops the parser; ours is the message
    return false;
  }

  TokenizerFile file_;
  json::value_stack settings_;
  Part part_ = Part::settings;
  size_t depth_ = 0;  // open arrays and objects
  std::string top_key_, model_key_;
  std::string text_;  // the latest key or string
  std::string pair_left_;
  int pair_strings_ = 0;
  std::string refusal_;
};

}  // namespace

Status add_merges(const PieceTable& vocab, const MergeList& merges, MergeTable& table) {
  table.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view left = merges.left(rank), right = merges.right(rank);
    const auto left_id = vocab.id_of(left), right_id = vocab.id_of(right), merged = vocab.id_of(merges.joined(rank));
    if (!left_id || !right_id || !merged) {
      const std::string_view missing = !left_id ? left : !right_id ? right : merges.joined(rank);
      return Error{fmt::format("model.merges, entry {}: expected pieces of the vocabulary, found \"{}\", which is none",
                               rank, missing)};
    }
    table.add(*left_id, *right_id, {static_cast<uint32_t>(rank), *merged});
  }
  return Done{};
}

Result<TokenizerFile> read_tokenizer_file(std::string_view text) {
  if (text.size() > kMaxFileBytes) {
    return Error{fmt::format("tokenizer.json: expected at most {} bytes, found {}", kMaxFileBytes, text.size())};
  }
  try {
    json::basic_parser<TokenizerFileHandler> parser{json::parse_options{}};  // at most 32 levels deep, strict UTF-8
    json::error_code ec;
    const size_t read = parser.write_some(false, text.data(), text.size(), ec);
    if (!parser.handler().refusal().empty()) return Error{"tokenizer.json: " + parser.handler().refusal()};
    if (!ec && read != text.size()) ec = json::error::extra_data;
    if (ec) return Error{fmt::format("tokenizer.json: expected JSON, found {} at byte {}", ec.message(), read)};
    TokenizerFile file = std::move(parser.handler().file());
    TRY(file.vocab.finish());
    return file;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return Error{fmt::format("tokenizer.json: could not be read: {}", thrown.what())};
  }
}

}  // namespace paceline
