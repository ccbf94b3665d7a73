#include "proof/encodings_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <exception>
#include <limits>
#include <span>

#include "tokenizer/json_fields.h"
#include "tokenizer/packed_file.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr size_t kMismatchesShown = 10;

Result<std::vector<TokenId>> read_ids(const TextJsonFields& row) {
  TRY_ASSIGN(const json::array* list, row.array("ids"));
  std::vector<TokenId> ids;
  for (const json::value& id : *list) {
    if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() > std::numeric_limits<TokenId>::max()) {
      return row.expected("ids", "token ids");
    }
    ids.push_back(static_cast<TokenId>(id.get_int64()));
  }
  return ids;
}

void note(EncodingsReport& report, std::string line) {
  if (report.first_mismatches.size() < kMismatchesShown) report.first_mismatches.push_back(std::move(line));
}

// The ids around the first difference; whole rows can be long.
std::string excerpt(std::span<const TokenId> ids, size_t from) {
  const auto some =
      ids.subspan(std::min(from, ids.size()), std::min<size_t>(8, ids.size() - std::min(from, ids.size())));
  return fmt::format("[{}{}]", fmt::join(some, ", "), from + 8 < ids.size() ? ", ..." : "");
}

Status check_encode_row(const Tokenizer& tokenizer, const TextJsonFields& row, EncodingsReport& report) {
  TRY_ASSIGN(const std::string_view text, row.string("text"));
  TRY_ASSIGN(const std::vector<TokenId> expected, read_ids(row));
  TRY(Tokenizer::check_size(text.size()));
  const std::vector<TokenId> found = tokenizer.encode(text, false);
  ++report.encode_rows;
  if (found == expected) {
    ++report.encode_equal;
    return Done{};
  }
  const auto differ = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first - found.begin();
  const auto at = static_cast<size_t>(differ);
  note(report, fmt::format("{}: expected {} ids, from {} on {}; found {} ids, there {}", row.place(), expected.size(),
                           at, excerpt(expected, at), found.size(), excerpt(found, at)));
  return Done{};
}

Status check_decode_row(const Tokenizer& tokenizer, const TextJsonFields& row, EncodingsReport& report) {
  TRY_ASSIGN(const std::vector<TokenId> ids, read_ids(row));
  for (const bool skip_special : {false, true}) {
    const std::string_view field = skip_special ? "text_without_special" : "text";
    if (skip_special && row.is_absent(field)) continue;
    TRY_ASSIGN(const std::string_view expected, row.string(field));
    const std::string found = tokenizer.decode(ids, skip_special);
    ++(skip_special ? report.decode_without_special_rows : report.decode_rows);
    if (found == expected) {
      ++(skip_special ? report.decode_without_special_equal : report.decode_equal);
    } else {
      note(report, fmt::format("{}.{}: expected \"{}\", found \"{}\"", row.place(), field, expected, found));
    }
  }
  return Done{};
}

template <class CheckRow>
Status for_each_row(const TextJsonFields& table, std::string_view name, CheckRow check_row) {
  if (table.is_absent(name)) return Done{};
  TRY_ASSIGN(const json::array* rows, table.array(name));
  for (size_t i = 0; i < rows->size(); ++i) {
    TRY_ASSIGN(const TextJsonFields row, TextJsonFields::of(&(*rows)[i], fmt::format("{}[{}]", name, i)));
    TRY(check_row(row));
  }
  return Done{};
}

}  // namespace

Result<EncodingsReport> check_encodings(const Tokenizer& tokenizer, std::string_view encodings_json) {
  json::error_code ec;
  json::value table;
  try {
    table = json::parse(encodings_json, ec);
  } catch (const std::exception& thrown) {
    return Error{fmt::format("encodings: could not be read: {}", thrown.what())};
  }
  if (ec) return Error{fmt::format("encodings: expected JSON, found {}", ec.message())};
  TRY_ASSIGN(const TextJsonFields fields, TextJsonFields::of(&table, "encodings"));
  if (fields.is_absent("encode") && fields.is_absent("decode"))
    return fields.expected("encode", "rows to encode or decode");
  EncodingsReport report;
  TRY(for_each_row(fields, "encode",
                   [&](const TextJsonFields& row) { return check_encode_row(tokenizer, row, report); }));
  TRY(for_each_row(fields, "decode",
                   [&](const TextJsonFields& row) { return check_decode_row(tokenizer, row, report); }));
  return report;
}

Result<EncodingsReport> check_encodings_files(const std::string& tokenizer_path, const std::string& encodings_path) {
  TRY_ASSIGN(const std::string tokenizer_json, read_packed_file(tokenizer_path));
  TRY_ASSIGN(const Tokenizer tokenizer, Tokenizer::load(tokenizer_json));
  TRY_ASSIGN(const std::string encodings_json, read_packed_file(encodings_path));
  return check_encodings(tokenizer, encodings_json);
}

}  // namespace paceline
