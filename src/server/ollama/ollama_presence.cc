#include "server/ollama/ollama_presence.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <charconv>
#include <cmath>
#include <ctime>
#include <utility>

#include "server/utc_text.h"
#include "session/ask_fields.h"

namespace paceline::ollama {
namespace {

namespace json = boost::json;

// A model that is to go as soon as nobody needs it.
constexpr double kAtOnce_s = 0.001, kLongest_s = 1e9;

// Numbers with units, one behind the other.
std::optional<double> read_units(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                                            {"h", 3600},  {"m", 60},    {"s", 1}};
  if (text.empty()) return std::nullopt;
  double all = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (wrong != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    double unit = text.empty() && all == 0 ? 1 : 0;
    for (const auto& [name, seconds] : kUnits) {
      if (unit > 0 || !text.starts_with(name)) continue;
      unit = seconds;
      text.remove_prefix(name.size());
    }
    if (unit == 0) return std::nullopt;
    all += number * unit;
  }
  return all;
}

bool is_empty(const json::value* said) {
  if (said == nullptr || said->is_null()) return true;
  return (said->is_string() && said->get_string().empty()) || (said->is_array() && said->get_array().empty());
}

}  // namespace

std::optional<double> read_duration(const json::value& said) {
  std::optional<double> seconds;
  if (said.is_number()) seconds = said.to_number<double>();
  if (const auto* text = said.if_string()) {
    const std::string_view written = *text;
    const auto size = written.starts_with('-') ? read_units(written.substr(1)) : read_units(written);
    if (size) seconds = written.starts_with('-') ? -*size : *size;
  }
  if (!seconds || !std::isfinite(*seconds)) return std::nullopt;
  return std::min(*seconds, kLongest_s);
}

Presence read_presence(std::string_view body, bool chat, FieldProblem& problem) {
  FieldProblem unread;
  const auto object = parse_body(body, unread);
  if (!object) return {};
  Presence made;
  made.is_all = is_empty(object->if_contains(chat ? "messages" : "prompt")) && is_empty(object->if_contains("images"));
  const json::value* said = object->if_contains("keep_alive");
  if (said == nullptr || said->is_null()) return made;
  const auto seconds = read_duration(*said);
  if (!seconds) {
    problem.say(bad_field("keep_alive", "keep_alive must be seconds, or a time like \"5m\""));
    return made;
  }
  made.unloads = made.is_all && *seconds == 0;
  made.idle_s = *seconds < 0 ? 0 : std::max(*seconds, kAtOnce_s);
  return made;
}

json::object presence_object(const std::string& model, bool chat, bool unloads) {
  json::object made{{"model", model}, {"created_at", utc_text(std::time(nullptr))}};
  if (chat) {
    made["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    made["response"] = "";
  }
  made["done"] = true;
  made["done_reason"] = unloads ? "unload" : "load";
  return made;
}

}  // namespace paceline::ollama
