#include "grammar/pattern_properties.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "grammar/parts.h"
#include "grammar/regex_texts.h"

namespace paceline::grammar {
namespace {

using boost::json::object;
using boost::json::value;

constexpr size_t kMostPatterns = 32;

bool allows_all(const value& schema) {
  return (schema.is_bool() && schema.get_bool()) || (schema.is_object() && schema.get_object().empty());
}

Status check_apart(const std::vector<NamePattern>& patterns) {
  for (size_t i = 0; i < patterns.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (*patterns[i].schema == *patterns[j].schema) continue;
      TRY_ASSIGN(const bool meet, share_a_text(patterns[i].names, patterns[j].names));
      if (meet)
        return Error{fmt::format("patternProperties: a name may match both {} and {}, whose schemas differ",
                                 json_quoted(patterns[j].text), json_quoted(patterns[i].text))};
    }
  return Done{};
}

Status check_listed(const std::vector<NamePattern>& patterns, const object& schema) {
  const value* listed = schema.if_contains("properties");
  if (listed == nullptr || !listed->is_object()) return Done{};
  for (const auto& [name, own] : listed->get_object()) {
    if (!is_valid_utf8(name)) continue;
    for (const NamePattern& pattern : patterns) {
      if (allows_all(*pattern.schema) || *pattern.schema == own) continue;
      TRY_ASSIGN(const bool meet, matches(pattern.names, name));
      if (meet)
        return Error{fmt::format("patternProperties: {} matches {}, and is listed with another schema",
                                 json_quoted(std::string_view(name).substr(0, 64)), json_quoted(pattern.text))};
    }
  }
  return Done{};
}

}  // namespace

Result<std::vector<NamePattern>> name_patterns(const object& schema) {
  std::vector<NamePattern> found;
  const value* said = schema.if_contains("patternProperties");
  if (said == nullptr) return found;
  if (!said->is_object()) return Error{"patternProperties: expected an object of schemas"};
  if (said->get_object().size() > kMostPatterns)
    return Error{fmt::format("patternProperties: {} of them; at most {} are supported", said->get_object().size(),
                             kMostPatterns)};
  for (const auto& [text, obeyed] : said->get_object()) {
    auto names = parse_regex(text);
    if (!names.ok()) return Error{"patternProperties: " + names.error().message};
    found.push_back({text, std::move(names).value(), &obeyed});
  }
  TRY(check_apart(found));
  TRY(check_listed(found, schema));
  return found;
}

Result<const value*> schema_of_name(const std::vector<NamePattern>& patterns, std::string_view name) {
  for (const NamePattern& pattern : patterns) {
    if (!is_valid_utf8(name)) break;
    TRY_ASSIGN(const bool meets, matches(pattern.names, name));
    if (meets) return pattern.schema;
  }
  return static_cast<const value*>(nullptr);
}

}  // namespace paceline::grammar
