// Reading the keywords of a schema, with errors that say where.
#pragma once

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/parts.h"

namespace paceline::grammar {

// Refuses keywords that are unknown, or that stand beside one which says everything ($ref, anyOf, enum, ...).
Status check_keywords(const boost::json::object& schema, std::string_view path);
// Digits of a number are followed by what is left of it.
inline constexpr int64_t kMaxMultiple = 1000;
// Of which some may have been written already: each set of them is a place.
inline constexpr size_t kMaxUniqueValues = 8;
// Where they are counted: each with each number of others before it is a place.
inline constexpr size_t kMaxCountedProperties = 64;
// Takes out what check_keywords would refuse.
void drop_unenforced(boost::json::object& schema);

// What `type` says, or what the keywords tell; empty: any. With number there is no integer.
Result<std::vector<std::string_view>> types_of(const boost::json::object& schema, std::string_view path);
bool is_of_types(const boost::json::value& value, const std::vector<std::string_view>& types);

Result<LengthBounds> length_bounds(const boost::json::object& schema, std::string_view low, std::string_view high,
                                   std::string_view path);
Result<NumberBounds> number_bounds(const boost::json::object& schema, bool integer, std::string_view path);
// Those of an enum, a constant or a boolean, each once; none: another schema, or too many.
std::optional<std::vector<boost::json::value>> few_values(const boost::json::value& schema);
Result<std::vector<std::string_view>> required_names(const boost::json::object& schema, std::string_view path);

struct ReferencedSchema {
  const boost::json::value* schema;
  std::string path;
};
// "#", "#/$defs/x" and other pointers into the document.
Result<ReferencedSchema> find_reference(const boost::json::value& root, const boost::json::value& reference,
                                        std::string_view path);

// The beginning of a name: they may have millions of letters, and stand in the paths of all that is within.
std::string shown(std::string_view name);

// Valid UTF-8; in a tool call, without what could be read as the token around strings.
Status check_text(std::string_view text, bool in_call, std::string_view path);

// Jinja's dictsort: by name, upper and lower case alike.
template <class Item, class Name>
void sort_like_templates(std::vector<Item>& items, Name name) {
  const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    const std::string_view left = name(a), right = name(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                        [&](unsigned char x, unsigned char y) { return lower(x) < lower(y); });
  });
}

}  // namespace paceline::grammar
