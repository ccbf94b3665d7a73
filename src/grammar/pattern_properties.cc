#include "grammar/pattern_properties.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "grammar/parts.h"

namespace paceline::grammar {
namespace {

using boost::json::object;
using boost::json::value;

constexpr size_t kMostPatterns = 32;

bool allows_all(const value& schema) {
  return (schema.is_bool() && schema.get_bool()) || (schema.is_object() && schema.get_object().empty());
}

// States to look at, for texts of so many bytes.
int64_t work_for(size_t bytes) { return 8192 + 64 * static_cast<int64_t>(bytes); }

Status check_apart(const std::vector<NamePattern>& patterns, int64_t& work) {
  for (size_t i = 0; i < patterns.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (*patterns[i].schema == *patterns[j].schema) continue;
      TRY_ASSIGN(const bool meet, patterns[i].texts.meet(patterns[j].texts, work));
      if (meet)
        return Error{fmt::format("a name may match both {} and {}, whose schemas differ", json_quoted(patterns[j].text),
                                 json_quoted(patterns[i].text))};
    }
  return Done{};
}

Status check_listed(const std::vector<NamePattern>& patterns, const object& listed, int64_t& work) {
  for (const auto& [name, own] : listed) {
    if (!is_valid_utf8(name)) continue;
    for (const NamePattern& pattern : patterns) {
      if (allows_all(*pattern.schema) || *pattern.schema == own) continue;
      TRY_ASSIGN(const bool meet, pattern.texts.have(name, work));
      if (meet)
        return Error{fmt::format("{} matches {}, and is listed with another schema",
                                 json_quoted(std::string_view(name).substr(0, 64)), json_quoted(pattern.text))};
    }
  }
  return Done{};
}

Result<std::vector<NamePattern>> checked_patterns(const object& said, const object& listed) {
  if (said.size() > kMostPatterns)
    return Error{fmt::format("{} of them; at most {} are supported", said.size(), kMostPatterns)};
  size_t bytes = 0;
  for (const auto& member : said) bytes += member.key().size();
  for (const auto& member : listed) bytes += member.key().size();
  int64_t work = work_for(bytes);
  std::vector<NamePattern> found;
  for (const auto& [text, obeyed] : said) {
    TRY_ASSIGN(RegexNode names, parse_regex(text));
    TRY_ASSIGN(RegexTexts texts, RegexTexts::of(names, work));
    found.push_back({text, std::move(names), std::move(texts), &obeyed});
  }
  TRY(check_apart(found, work));
  TRY(check_listed(found, listed, work));
  return found;
}

}  // namespace

Result<std::vector<NamePattern>> name_patterns(const object& schema) {
  const value* said = schema.if_contains("patternProperties");
  if (said == nullptr) return std::vector<NamePattern>{};
  if (!said->is_object()) return Error{"patternProperties: expected an object of schemas"};
  const value* properties = schema.if_contains("properties");
  const object none, *listed = properties != nullptr ? properties->if_object() : &none;
  auto found = checked_patterns(said->get_object(), listed != nullptr ? *listed : none);
  if (!found.ok()) return Error{"patternProperties: " + found.error().message};
  return found;
}

Result<std::vector<const value*>> schemas_of_names(const std::vector<NamePattern>& patterns,
                                                   const std::vector<std::string_view>& names) {
  size_t bytes = 0;
  for (const std::string_view name : names) bytes += name.size();
  int64_t work = work_for(bytes);
  std::vector<const value*> found(names.size(), nullptr);
  for (size_t i = 0; i < names.size(); ++i) {
    for (const NamePattern& pattern : patterns) {
      if (found[i] != nullptr || !is_valid_utf8(names[i])) break;
      TRY_ASSIGN(const bool meets, pattern.texts.have(names[i], work));
      if (meets) found[i] = pattern.schema;
    }
  }
  return found;
}

}  // namespace paceline::grammar
