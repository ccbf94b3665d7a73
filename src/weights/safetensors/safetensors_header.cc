#include "weights/safetensors/safetensors_header.h"

#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>
#include <optional>
#include <set>

#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

namespace json = boost::json;

std::optional<DType> dtype_named(std::string_view name) {
  for (const DType t :
       {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32,
        DType::u64, DType::i64, DType::f64, DType::boolean, DType::f8_e4m3, DType::f8_e5m2, DType::f8_e8m0}) {
    if (name == dtype_name(t)) return t;
  }
  return std::nullopt;
}

// What the value now being read is. The header has four levels and no others.
enum class Place : uint8_t {
  top,
  tensor_object,
  dtype,
  shape,
  shape_item,
  offsets,
  offset_item,
  metadata,
  metadata_text
};

// Boost.JSON calls these as it parses; false with `error` set ends the parse. Its messages are kept in `message`.
class HeaderHandler {
 public:
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);

  HeaderJson header;
  std::string message;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }

  bool on_object_begin(json::error_code& error) {
    switch (depth_) {
      case 0: depth_ = 1; return true;
      case 1:
        if (place_ != Place::tensor_object && place_ != Place::metadata) break;
        depth_ = 2;
        return true;
      default: break;
    }
    return wrong("an object", error);
  }

  bool on_object_end(size_t, json::error_code& error) {
    if (depth_ == 2 && place_ != Place::metadata && !entry_complete(error)) return false;
    --depth_;
    place_ = Place::top;
    return true;
  }

  bool on_array_begin(json::error_code& error) {
    if (place_ == Place::shape) {
      place_ = Place::shape_item;
    } else if (place_ == Place::offsets) {
      place_ = Place::offset_item;
    } else {
      return wrong("an array", error);
    }
    return true;
  }

  bool on_array_end(size_t, json::error_code&) {
    place_ = Place::tensor_object;
    return true;
  }

  bool on_key_part(json::string_view part, size_t, json::error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool on_key(json::string_view part, size_t, json::error_code& error) {
    text_.append(part.data(), part.size());
    const std::string key = std::exchange(text_, {});
    return depth_ == 1 ? on_name(key, error) : on_field(key, error);
  }

  bool on_string_part(json::string_view part, size_t, json::error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool on_string(json::string_view part, size_t, json::error_code& error) {
    text_.append(part.data(), part.size());
    const std::string text = std::exchange(text_, {});
    if (place_ == Place::metadata_text) {
      header.metadata[field_] = text;
      place_ = Place::metadata;
      return true;
    }
    if (place_ != Place::dtype) return wrong("a string", error);
    const auto dtype = dtype_named(text);
    if (!dtype) return stop(fmt::format("{}: dtype \"{}\" is not known here", tensor(), text), error);
    entry_.dtype = *dtype;
    place_ = Place::tensor_object;
    return true;
  }

  bool on_int64(int64_t number, json::string_view, json::error_code& error) {
    if (number < 0) return wrong(fmt::format("the negative number {}", number), error);
    return on_uint64(static_cast<uint64_t>(number), {}, error);
  }

  bool on_uint64(uint64_t number, json::string_view, json::error_code& error) {
    if (place_ == Place::shape_item) {
      if (entry_.shape.size() == kMaxTensorRank) {
        return stop(fmt::format("{}: expected at most {} dimensions, found more", tensor(), kMaxTensorRank), error);
      }
      if (number > INT64_MAX) return wrong(fmt::format("the number {}", number), error);
      entry_.shape.push_back(static_cast<int64_t>(number));
      return true;
    }
    if (place_ != Place::offset_item) return wrong("a number", error);
    if (offsets_seen_ == 2) return stop(fmt::format("{}: data_offsets has more than two numbers", tensor()), error);
    (offsets_seen_++ == 0 ? entry_.data_begin : entry_.data_end) = number;
    return true;
  }

  bool on_double(double number, json::string_view, json::error_code& error) {
    return wrong(fmt::format("the number {}", number), error);
  }
  bool on_bool(bool, json::error_code& error) { return wrong("a boolean", error); }
  bool on_null(json::error_code& error) { return wrong("null", error); }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  bool on_name(const std::string& name, json::error_code& error) {
    if (!names_.insert(name).second) return stop(fmt::format("\"{}\" is written twice", name), error);
    place_ = name == "__metadata__" ? Place::metadata : Place::tensor_object;
    entry_ = HeaderEntry{name, DType::f32, {}, 0, 0};
    fields_seen_.clear();
    offsets_seen_ = 0;
    return true;
  }

  bool on_field(const std::string& field, json::error_code& error) {
    if (place_ == Place::metadata) {
      field_ = field;
      place_ = Place::metadata_text;
      return true;
    }
    if (!fields_seen_.insert(field).second) {
      return stop(fmt::format("{}: \"{}\" is written twice", tensor(), field), error);
    }
    if (field == "dtype") {
      place_ = Place::dtype;
    } else if (field == "shape") {
      place_ = Place::shape;
    } else if (field == "data_offsets") {
      place_ = Place::offsets;
    } else {
      return stop(fmt::format("{}: expected dtype, shape and data_offsets, found \"{}\"", tensor(), field), error);
    }
    return true;
  }

  bool entry_complete(json::error_code& error) {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!fields_seen_.contains(field)) return stop(fmt::format("{}: \"{}\" is missing", tensor(), field), error);
    }
    if (offsets_seen_ != 2) return stop(fmt::format("{}: data_offsets needs two numbers", tensor()), error);
    header.entries.push_back(std::move(entry_));
    return true;
  }

  [[nodiscard]] std::string tensor() const { return fmt::format("tensor \"{}\"", entry_.name); }

  [[nodiscard]] std::string expected() const {
    if (depth_ == 0) return "the header: expected an object";
    switch (place_) {
      case Place::dtype: return tensor() + ": dtype: expected a string";
      case Place::shape: return tensor() + ": shape: expected an array";
      case Place::shape_item: return tensor() + ": shape: expected whole numbers of at most 63 bits";
      case Place::offsets: return tensor() + ": data_offsets: expected an array";
      case Place::offset_item: return tensor() + ": data_offsets: expected two whole numbers";
      case Place::metadata: return "__metadata__: expected an object";
      case Place::metadata_text: return fmt::format("__metadata__: \"{}\": expected a string", field_);
      case Place::tensor_object:
      case Place::top: return tensor() + ": expected an object";
    }
    return tensor();
  }

  bool wrong(std::string_view found, json::error_code& error) {
    return stop(fmt::format("{}, found {}", expected(), found), error);
  }

  bool stop(std::string text, json::error_code& error) {
    message = std::move(text);
    error = json::error::syntax;
    return false;
  }

  int depth_ = 0;
  Place place_ = Place::top;
  std::string text_;  // of the string or key now being read; parts come one after the other
  std::string field_;
  HeaderEntry entry_;
  std::set<std::string> fields_seen_;
  int offsets_seen_ = 0;
  std::set<std::string> names_;
};

}  // namespace

Result<HeaderJson> parse_header_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = 4;
  json::basic_parser<HeaderHandler> parser(options);
  json::error_code error;
  const size_t parsed = parser.write_some(false, text.data(), text.size(), error);
  auto& handler = parser.handler();
  if (!handler.message.empty()) return Error{handler.message};
  if (error) return Error{fmt::format("the header is not JSON: {} at its byte {}", error.message(), parsed)};
  if (text.find_first_not_of(" \t\r\n", parsed) != std::string_view::npos) {
    return Error{fmt::format("the header's JSON ends at its byte {}; expected only spaces after it", parsed)};
  }
  return std::move(handler.header);
}

}  // namespace paceline
