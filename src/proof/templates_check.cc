#include "proof/templates_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <exception>
#include <numeric>
#include <optional>
#include <set>

#include "session/chat_request.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/packed_file.h"

namespace paceline {
namespace {

namespace json = boost::json;

Result<json::value> read_table(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_packed_file(path));
  json::error_code ec;
  json::value table;
  try {
    table = json::parse(text, ec);
  } catch (const std::exception& thrown) {
    return Error{fmt::format("{}: could not be read: {}", path, thrown.what())};
  }
  if (ec) return Error{fmt::format("{}: expected JSON, found {}", path, ec.message())};
  return table;
}

Result<ChatRequest> read_conversation(const TextJsonFields& conversation, const json::object& variables) {
  ChatRequest request;
  TRY_ASSIGN(const json::array* messages, conversation.array("messages"));
  request.messages = *messages;
  request.variables = variables;
  if (conversation.is_absent("options")) return request;
  TRY_ASSIGN(const TextJsonFields options, conversation.fields("options"));
  for (const auto& option : options.object()) {
    if (option.key() == "tools") {
      request.tools = option.value();
    } else if (option.key() == "documents") {
      request.documents = option.value();
    } else if (option.key() == "add_generation_prompt") {
      TRY_ASSIGN(request.add_generation_prompt, options.boolean("add_generation_prompt"));
    } else if (option.key() == "continue_final_message") {
      TRY_ASSIGN(request.continue_final_message, options.boolean("continue_final_message"));
    } else {
      request.variables[option.key()] = option.value();
    }
  }
  return request;
}

// One line around the first byte that differs.
std::string difference(std::string_view expected, std::string_view found) {
  const auto at = static_cast<size_t>(
      std::mismatch(expected.begin(), expected.end(), found.begin(), found.end()).first - expected.begin());
  constexpr size_t kBefore = 30, kShown = 70;
  const auto excerpt = [&](std::string_view text) {
    const size_t begin = at > kBefore ? at - kBefore : 0;
    if (begin >= text.size()) return std::string("(the end)");
    return json::serialize(json::value(std::string(text.substr(begin, kShown))));
  };
  return fmt::format("byte {}: expected {}, found {}", at, excerpt(expected), excerpt(found));
}

std::optional<std::tm> read_day(std::string_view text) {
  std::tm day{};
  if (strptime(std::string(text).c_str(), "%Y-%m-%d", &day) == nullptr) return std::nullopt;
  day.tm_isdst = -1;
  std::tm whole = day;
  // Fills in the day of the week.
  if (std::mktime(&whole) == -1) return std::nullopt;
  return whole;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d", &local)};
}

// Days that stand in a text as 2026-11-15.
void collect_days(std::string_view text, std::set<std::string>& days) {
  constexpr size_t kLength = 10, kMost = 64;
  for (size_t dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    if (dash < 4 || days.size() >= kMost) continue;
    const std::string_view day = text.substr(dash - 4, kLength);
    const bool has_form = day.size() == kLength && day[7] == '-' &&
                          std::count_if(day.begin(), day.end(), [](char c) { return c >= '0' && c <= '9'; }) == 8;
    if (has_form && read_day(day)) days.insert(std::string(day));
  }
}

struct RenderingCase {
  std::string conversation;
  ChatRequest request;
  std::optional<std::string> expected;  // none: an error
};

struct TemplateCases {
  std::string name;
  Result<jinja::Template> parsed;
  std::vector<RenderingCase> cases;
};

struct Outcome {
  TemplateReport report;
  bool used_clock = false;
};

Outcome run_cases(const TemplateCases& cases, const jinja::RenderOptions& options) {
  Outcome outcome;
  TemplateReport& report = outcome.report;
  report.name = cases.name;
  for (const RenderingCase& each : cases.cases) {
    const auto found = cases.parsed.ok() ? render_chat_request(*cases.parsed, each.request, options)
                                         : Result<jinja::Rendering>(cases.parsed.error());
    ++report.conversations;
    outcome.used_clock |= found.ok() && found->used_clock;
    const bool is_equal = found.ok() ? each.expected == found->text : !each.expected;
    report.equal += is_equal ? 1 : 0;
    report.refused += is_equal && !found.ok() ? 1 : 0;
    if (is_equal || !report.first_difference.empty()) continue;
    const std::string what = !found.ok()      ? "expected a text, found the error: " + found.error().message
                             : !each.expected ? "expected an error, found a text"
                                              : difference(*each.expected, found->text);
    report.first_difference = fmt::format("{}: {}", each.conversation, what);
  }
  return outcome;
}

Result<TemplateCases> read_template(const std::string& folder, const TextJsonFields& renderings, std::string_view name,
                                    const TextJsonFields& conversations, const json::object& variables) {
  TRY_ASSIGN(const std::string source, read_packed_file(fmt::format("{}/{}", folder, name)));
  TemplateCases cases{std::string(name), jinja::Template::parse(source), {}};
  TRY_ASSIGN(const TextJsonFields rows, renderings.fields(name));
  for (const auto& row : rows.object()) {
    TRY_ASSIGN(const TextJsonFields expected, rows.fields(row.key()));
    TRY_ASSIGN(const TextJsonFields conversation, conversations.fields(row.key()));
    RenderingCase made{std::string(row.key()), {}, std::nullopt};
    TRY_ASSIGN(made.request, read_conversation(conversation, variables));
    if (expected.find("error") == nullptr) {
      TRY_ASSIGN(const std::string_view text, expected.string("text"));
      made.expected = std::string(text);
    }
    cases.cases.push_back(std::move(made));
  }
  return cases;
}

// The renderings do not say on which day they were made. Of the days that they name, and today, it is the one under
// which the most are equal.
std::optional<std::string> find_day(const std::vector<TemplateCases>& all) {
  std::set<std::string> days{today()};
  std::vector<const TemplateCases*> dated;
  for (const TemplateCases& cases : all) {
    if (!run_cases(cases, {}).used_clock) continue;
    dated.push_back(&cases);
    for (const RenderingCase& each : cases.cases) {
      if (each.expected) collect_days(*each.expected, days);
    }
  }
  if (dated.empty()) return std::nullopt;
  std::string best;
  size_t best_equal = 0;
  for (const std::string& day : days) {
    size_t equal = 0;
    for (const TemplateCases* cases : dated) equal += run_cases(*cases, {{}, read_day(day)}).report.equal;
    if (best.empty() || equal > best_equal) best = day;
    best_equal = std::max(best_equal, equal);
  }
  return best;
}

}  // namespace

size_t TemplatesReport::conversations() const {
  return std::accumulate(templates.begin(), templates.end(), size_t{0},
                         [](size_t sum, const TemplateReport& report) { return sum + report.conversations; });
}

size_t TemplatesReport::equal() const {
  return std::accumulate(templates.begin(), templates.end(), size_t{0},
                         [](size_t sum, const TemplateReport& report) { return sum + report.equal; });
}

Result<TemplatesReport> check_templates(const std::string& folder) {
  TRY_ASSIGN(const json::value table, read_table(folder + "/renderings.json"));
  TRY_ASSIGN(const TextJsonFields fields, TextJsonFields::of(&table, "renderings.json"));
  TRY_ASSIGN(const TextJsonFields conversations, fields.fields("conversations"));
  TRY_ASSIGN(const TextJsonFields renderings, fields.fields("renderings"));
  json::object variables;
  if (!fields.is_absent("variables")) {
    TRY_ASSIGN(const TextJsonFields given, fields.fields("variables"));
    variables = given.object();
  }
  std::vector<TemplateCases> all;
  for (const auto& entry : renderings.object()) {
    TRY_ASSIGN(TemplateCases cases, read_template(folder, renderings, entry.key(), conversations, variables));
    all.push_back(std::move(cases));
  }
  TemplatesReport report;
  const std::optional<std::string> day = find_day(all);
  report.day = day.value_or("");
  jinja::RenderOptions options;
  if (day) options.now = read_day(*day);
  for (const TemplateCases& cases : all) report.templates.push_back(run_cases(cases, options).report);
  return report;
}

}  // namespace paceline
