#include "grammar/schema_fields.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>
#include <span>

#include "base/utf8.h"
#include "grammar/pattern_properties.h"
#include "grammar/string_form.h"

namespace paceline::grammar {
namespace {

using boost::json::object;
using boost::json::value;
using Names = std::span<const std::string_view>;

constexpr std::string_view kAnnotations[] = {"title",     "description", "default",  "examples",
                                             "$schema",   "$id",         "$comment", "readOnly",
                                             "writeOnly", "deprecated",  "$defs",    "definitions"};
constexpr std::string_view kObjectWords[] = {"properties",        "required",      "additionalProperties",
                                             "patternProperties", "minProperties", "maxProperties"};
constexpr std::string_view kArrayWords[] = {"items", "minItems", "maxItems", "uniqueItems", "prefixItems"};
constexpr std::string_view kStringWords[] = {"minLength", "maxLength", "pattern", "format"};
constexpr std::string_view kNumberWords[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                                             "multipleOf"};
constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};
// What may stand beside allOf, as one schema more.
constexpr std::string_view kBesideAll[] = {"type", "properties", "required", "additionalProperties"};
constexpr std::string_view kBounds[] = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"};
// Each of these says all there is to say.
constexpr std::string_view kWhole[] = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"};

bool among(std::string_view name, Names names) { return std::find(names.begin(), names.end(), name) != names.end(); }
bool any_of_these(const object& schema, Names names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return schema.contains(name); });
}

// A finite number in decimal digits without an exponent.
Decimal decimal_of(double number) {
  Decimal made;
  made.negative = std::signbit(number);
  // The shortest digits that read back the same, d.ddd or d.ddde+xx.
  const std::string text = fmt::format("{}", std::fabs(number));
  const size_t e = text.find('e');
  int exponent = e == std::string::npos ? 0 : std::stoi(text.substr(e + 1));
  std::string mantissa = text.substr(0, e);
  const size_t point = mantissa.find('.');
  made.integer = mantissa.substr(0, point);
  made.fraction = point == std::string::npos ? "" : mantissa.substr(point + 1);
  for (; exponent > 0; --exponent) {
    made.integer += made.fraction.empty() ? '0' : made.fraction[0];
    if (!made.fraction.empty()) made.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    made.fraction.insert(0, 1, made.integer.empty() ? '0' : made.integer.back());
    if (!made.integer.empty()) made.integer.pop_back();
  }
  made.integer.erase(0, std::min(made.integer.find_first_not_of('0'), made.integer.size()));
  if (made.integer.empty()) made.integer = "0";
  while (!made.fraction.empty() && made.fraction.back() == '0') made.fraction.pop_back();
  return made;
}

Result<std::optional<Decimal>> bound_of(const object& schema, std::string_view name, std::string_view path) {
  const value* bound = schema.if_contains(name);
  if (bound == nullptr) return std::optional<Decimal>();
  std::optional<Decimal> made;
  if (const auto* integer = bound->if_int64()) {
    const std::string digits = std::to_string(*integer);
    made = *integer < 0 ? Decimal{true, digits.substr(1), ""} : Decimal{false, digits, ""};
  } else if (const auto* large = bound->if_uint64()) {
    made = Decimal{false, std::to_string(*large), ""};
  } else if (const auto* number = bound->if_double(); number != nullptr && std::isfinite(*number)) {
    made = decimal_of(*number);
  } else {
    return Error{fmt::format("{}/{}: expected a number", path, name)};
  }
  if (made->fraction.size() > kMaxFractionDigits) {
    return Error{
        fmt::format("{}/{}: more than {} digits behind the point are not supported", path, name, kMaxFractionDigits)};
  }
  return made;
}

double value_of(const Decimal& number) {
  const std::string digits = (number.negative ? "-" : "") + number.integer + "." + number.fraction + "0";
  double value = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// The tighter of an inclusive and an exclusive bound. `sign`: 1 for low bounds, -1 for high ones.
void tighten(std::optional<Decimal>& bound, bool& excluded, std::optional<Decimal> inclusive,
             std::optional<Decimal> exclusive, double sign) {
  excluded = exclusive && (!inclusive || sign * value_of(*exclusive) >= sign * value_of(*inclusive));
  bound = excluded ? std::move(exclusive) : std::move(inclusive);
}

// The keyword that says everything, if there is one.
std::string_view whole_word(const object& schema) {
  for (const std::string_view name : kWhole) {
    if (schema.contains(name)) return name;
  }
  return {};
}

// None: too large, or nothing that numbers can be multiples of.
std::optional<Multiple> multiple_of(const value& said) {
  const double number = said.is_number() ? said.to_number<double>() : 0;
  if (!(number > 0) || number > static_cast<double>(kMaxMultiple)) return std::nullopt;
  const Decimal digits = decimal_of(number);
  const std::string all = digits.integer + digits.fraction;
  if (digits.fraction.size() > kMaxFractionDigits || all.size() > kMaxIntegerDigits) return std::nullopt;
  const int64_t count = std::stoll(all);
  if (count > kMaxMultiple) return std::nullopt;
  return Multiple{count, static_cast<int>(digits.fraction.size())};
}

// No number that is written has so many digits; one that it must not pass may.
std::string why_no_bound(std::string_view name, const object& schema) {
  const auto bound = bound_of(schema, name, "");
  if (!bound.ok() || !bound->has_value()) return {};
  const bool is_low = name == "minimum" || name == "exclusiveMinimum";
  const std::string& digits = (*bound)->integer;
  const value* type = schema.if_contains("type");
  // Beyond it whole numbers have a digit more.
  const bool is_last = name.starts_with("exclusive") && type != nullptr && *type == "integer" &&
                       digits == std::string(kMaxIntegerDigits, '9');
  if ((*bound)->negative == is_low || (digits.size() <= kMaxIntegerDigits && !is_last)) return {};
  return fmt::format("the keyword {} is supported up to {} digits in front of the point", json_quoted(name),
                     kMaxIntegerDigits);
}

bool has_others(const object& schema) {
  const value* additional = schema.if_contains("additionalProperties");
  const bool is_open = additional != nullptr && !(additional->is_bool() && !additional->get_bool());
  return is_open || schema.contains("patternProperties") || !schema.contains("properties");
}

// Others' names may come twice, so nobody knows how many there are; but one is there as soon as one was written.
std::string why_not_counted(std::string_view name, const value& said, const object& schema) {
  const bool is_easy = name == "minProperties" && said.is_int64() && said.get_int64() <= 1;
  if (is_easy) return {};
  if (has_others(schema))
    return fmt::format("the keyword {} is supported for objects with named properties only", json_quoted(name));
  const value& listed = schema.at("properties");
  if (listed.is_object() && listed.get_object().size() > kMaxCountedProperties)
    return fmt::format("the keyword {} is supported for up to {} properties", json_quoted(name), kMaxCountedProperties);
  return {};
}

// Of keywords that are followed in some cases; "": in this one.
std::string why_not_followed(std::string_view name, const value& said, const object& schema) {
  if ((name == "minLength" || name == "maxLength") && has_string_form(schema)) return why_no_lengths(schema);
  if (name == "minProperties" || name == "maxProperties") return why_not_counted(name, said, schema);
  if (name == "format" && !has_known_format(schema))
    return fmt::format("the format {} is not supported", said.is_string() ? json_quoted(said.get_string()) : "given");
  if (name == "pattern") return why_no_pattern(schema);
  if (among(name, kBounds)) return why_no_bound(name, schema);
  if (name == "patternProperties") {
    const auto patterns = name_patterns(schema);
    return patterns.ok() ? "" : patterns.error().message;
  }
  if (name == "multipleOf" && !multiple_of(said))
    return fmt::format("the keyword \"multipleOf\" is supported where its digits, without the point, are at most {}",
                       kMaxMultiple);
  return {};
}

// "": it is followed.
std::string why_unenforced(std::string_view name, const value& said, const object& schema) {
  const std::string_view whole = whole_word(schema);
  if (among(name, kAnnotations) || name == whole) return {};
  const bool known = name == "type" || among(name, kObjectWords) || among(name, kArrayWords) ||
                     among(name, kStringWords) || among(name, kNumberWords) || among(name, kWhole);
  if (!known) return fmt::format("the keyword {} is not supported", json_quoted(name));
  if (name == "uniqueItems" && !said.is_bool()) return "the keyword \"uniqueItems\" must be true or false";
  if (name == "uniqueItems" && said.get_bool()) {
    const value* items = schema.if_contains("items");
    const bool is_referenced = items != nullptr && items->is_object() && items->get_object().contains("$ref");
    if (items == nullptr || (!is_referenced && !few_values(*items)) || schema.contains("prefixItems"))
      return fmt::format("the keyword \"uniqueItems\" is supported for enums of up to {} values only",
                         kMaxUniqueValues);
  }
  const bool type_of_constants = name == "type" && (whole == "enum" || whole == "const");
  if (whole.empty()) return why_not_followed(name, said, schema);
  if (type_of_constants || (whole == "allOf" && among(name, kBesideAll))) return {};
  return fmt::format("the keyword {} is not supported beside {}", json_quoted(name), json_quoted(whole));
}

}  // namespace

Status check_keywords(const object& schema, std::string_view path) {
  for (const auto& [key, said] : schema) {
    if (const std::string wrong = why_unenforced(key, said, schema); !wrong.empty())
      return Error{fmt::format("{}: {}", path, wrong)};
  }
  return Done{};
}

void drop_unenforced(object& schema) {
  // Of which all must hold: that cannot be followed, and what stands beside it can.
  const value* all = schema.if_contains("allOf");
  if (all != nullptr && all->is_array() && all->get_array().size() != 1) schema.erase("allOf");
  for (const std::string_view name : kBesideAll)
    if (schema.contains("allOf")) schema.erase(name);
  // These first: without them, others are followed.
  for (const char* name : {"format", "pattern"}) {
    const value* said = schema.if_contains(name);
    if (said != nullptr && !why_unenforced(name, *said, schema).empty()) schema.erase(name);
  }
  if (schema.contains("pattern") && !can_be_written(schema)) schema.erase("pattern");
  std::vector<std::string> dropped;
  for (const auto& [key, said] : schema) {
    if (!why_unenforced(key, said, schema).empty()) dropped.emplace_back(key);
  }
  for (const std::string& key : dropped) schema.erase(key);
}

Result<std::vector<std::string_view>> types_of(const object& schema, std::string_view path) {
  std::vector<std::string_view> types;
  const value* said = schema.if_contains("type");
  if (said == nullptr) {
    if (any_of_these(schema, kObjectWords)) types.emplace_back("object");
    if (any_of_these(schema, kArrayWords)) types.emplace_back("array");
    if (any_of_these(schema, kStringWords)) types.emplace_back("string");
    if (any_of_these(schema, kNumberWords)) types.emplace_back("number");
    return types;
  }
  const auto add = [&](const value& one) {
    const auto* name = one.if_string();
    if (name == nullptr || !among(*name, kTypes)) return false;
    const std::string_view type = *name;
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    return true;
  };
  bool good = false;
  if (const auto* list = said->if_array()) {
    good = !list->empty() && std::all_of(list->begin(), list->end(), add);
  } else {
    good = add(*said);
  }
  if (!good) return Error{fmt::format("{}/type: expected one or several of {}", path, fmt::join(kTypes, ", "))};
  if (std::find(types.begin(), types.end(), "number") != types.end()) std::erase(types, "integer");
  return types;
}

bool is_of_types(const value& one, const std::vector<std::string_view>& types) {
  const auto is_one = [&](std::string_view type) {
    switch (one.kind()) {
      case boost::json::kind::null: return type == "null";
      case boost::json::kind::bool_: return type == "boolean";
      case boost::json::kind::string: return type == "string";
      case boost::json::kind::array: return type == "array";
      case boost::json::kind::object: return type == "object";
      case boost::json::kind::int64:
      case boost::json::kind::uint64: return type == "number" || type == "integer";
      case boost::json::kind::double_:
        return type == "number" || (type == "integer" && one.get_double() == std::floor(one.get_double()));
    }
    return false;
  };
  return std::any_of(types.begin(), types.end(), is_one);
}

Result<LengthBounds> length_bounds(const object& schema, std::string_view low, std::string_view high,
                                   std::string_view path) {
  const auto count = [&](std::string_view name) -> Result<std::optional<int64_t>> {
    const value* said = schema.if_contains(name);
    if (said == nullptr) return std::optional<int64_t>();
    const auto* number = said->if_int64();
    if (number == nullptr || *number < 0) return Error{fmt::format("{}/{}: expected an integer from 0", path, name)};
    if (*number > static_cast<int64_t>(kMaxStates)) {
      return Error{fmt::format("{}/{}: {} is too large; supported are up to {}", path, name, *number, kMaxStates)};
    }
    return std::optional<int64_t>(*number);
  };
  TRY_ASSIGN(const auto least, count(low));
  TRY_ASSIGN(const auto most, count(high));
  if (least && most && *least > *most) return Error{fmt::format("{}: {} is above {}", path, low, high)};
  return LengthBounds{least.value_or(0), most};
}

std::optional<std::vector<value>> few_values(const value& schema) {
  const object* fields = schema.if_object();
  if (fields == nullptr) return std::nullopt;
  for (const auto& member : *fields) {
    const std::string_view name = member.key();
    if (name != "enum" && name != "const" && name != "type" && !among(name, kAnnotations)) return std::nullopt;
  }
  std::vector<value> found;
  const auto add = [&](const value& one) {
    const auto is_same = [&](const value& other) {
      return one.is_number() && other.is_number() ? one.to_number<double>() == other.to_number<double>() : one == other;
    };
    if (std::none_of(found.begin(), found.end(), is_same)) found.push_back(one);
  };
  const auto types = types_of(*fields, "");
  const value *only = fields->if_contains("const"), *list = fields->if_contains("enum");
  if (!types.ok() || (only != nullptr && list != nullptr)) return std::nullopt;
  if (only != nullptr) add(*only);
  for (size_t i = 0; list != nullptr && list->is_array() && i < list->get_array().size(); ++i)
    add(list->get_array()[i]);
  if (only == nullptr && list == nullptr && *types == std::vector<std::string_view>{"boolean"}) add(true), add(false);
  if (!types->empty()) std::erase_if(found, [&](const value& one) { return !is_of_types(one, *types); });
  const bool has_parts = std::any_of(found.begin(), found.end(), [](const value& one) { return one.is_structured(); });
  if (found.empty() || found.size() > kMaxUniqueValues || has_parts) return std::nullopt;
  return found;
}

Result<NumberBounds> number_bounds(const object& schema, bool integer, std::string_view path) {
  TRY_ASSIGN(auto low, bound_of(schema, "minimum", path));
  TRY_ASSIGN(auto low_excluded, bound_of(schema, "exclusiveMinimum", path));
  TRY_ASSIGN(auto high, bound_of(schema, "maximum", path));
  TRY_ASSIGN(auto high_excluded, bound_of(schema, "exclusiveMaximum", path));
  NumberBounds bounds;
  bounds.integer = integer;
  if (const value* multiple = schema.if_contains("multipleOf")) bounds.multiple = multiple_of(*multiple);
  tighten(bounds.low, bounds.low_excluded, std::move(low), std::move(low_excluded), 1);
  tighten(bounds.high, bounds.high_excluded, std::move(high), std::move(high_excluded), -1);
  if (bounds.low && bounds.high && value_of(*bounds.low) > value_of(*bounds.high)) {
    return Error{fmt::format("{}: the minimum is above the maximum", path)};
  }
  return bounds;
}

Result<std::vector<std::string_view>> required_names(const object& schema, std::string_view path) {
  std::vector<std::string_view> names;
  const value* said = schema.if_contains("required");
  if (said == nullptr) return names;
  const auto* list = said->if_array();
  if (list == nullptr) return Error{fmt::format("{}/required: expected an array of names", path)};
  if (list->size() > 4096) return Error{fmt::format("{}/required: too many names", path)};
  for (const value& name : *list) {
    if (!name.is_string()) return Error{fmt::format("{}/required: expected an array of names", path)};
    names.emplace_back(name.get_string());
  }
  return names;
}

Result<ReferencedSchema> find_reference(const value& root, const value& reference, std::string_view path) {
  const auto* text = reference.if_string();
  if (text == nullptr) return Error{fmt::format("{}/$ref: expected a string", path)};
  const std::string_view pointer = *text;
  if (pointer != "#" && !pointer.starts_with("#/")) {
    return Error{fmt::format("{}/$ref: only references within the schema (#/...) are supported, not {}", path,
                             json_quoted(pointer))};
  }
  boost::json::error_code failed;
  const value* target = root.find_pointer(pointer.substr(1), failed);
  if (target == nullptr || failed) return Error{fmt::format("{}/$ref: there is no {}", path, json_quoted(pointer))};
  return ReferencedSchema{target, std::string(pointer)};
}

std::string shown(std::string_view name) {
  constexpr size_t kMost = 64;
  if (name.size() <= kMost) return std::string(name);
  size_t cut = kMost;
  while (cut > kMost - 4 && (static_cast<uint8_t>(name[cut]) & 0xC0) == 0x80) --cut;
  return std::string(name.substr(0, cut)) + "…";
}

Status check_text(std::string_view text, bool in_call, std::string_view path) {
  if (!is_valid_utf8(text)) return Error{fmt::format("{}: a text is not valid UTF-8", path)};
  if (in_call && text.find("<|\"") != std::string_view::npos) {
    return Error{fmt::format("{}: the text {} cannot be written in a tool call", path, json_quoted(text))};
  }
  return Done{};
}

}  // namespace paceline::grammar
