#include "cli/live_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace paceline {
namespace {

constexpr std::string_view kLive[] = {"log-level",
                                      "speculate-up-to-running",
                                      "speculate-up-to-context",
                                      "speculate-up-to-kv",
                                      "speculation-report",
                                      "depth",
                                      "queue-length",
                                      "model-idle-seconds",
                                      "idle-seconds",
                                      "default-max-tokens",
                                      "default-temperature",
                                      "default-top-p",
                                      "default-top-k",
                                      "default-thinking",
                                      "default-depth",
                                      "max-choices",
                                      "max-messages",
                                      "render-seconds",
                                      "max-images",
                                      "max-videos",
                                      "max-frames",
                                      "max-pixels",
                                      "request-seconds"};

}  // namespace

bool LiveOptions::can_change(std::string_view name) {
  return std::find(std::begin(kLive), std::end(kLive), name) != std::end(kLive);
}

Status LiveOptions::check(const std::string& name, const std::string& value) const {
  if (!command_.has_option(name)) return Error{fmt::format("{}: unknown setting", name)};
  if (!can_change(name)) return Error{fmt::format("{}: changes at the next start only", name)};
  if (name == "depth") {
    const auto depth = read_depth(value);
    return depth.ok() ? Status(Done{}) : Status(depth.error());
  }
  // Options of nobody take it first.
  ServeOptions others;
  Program program("", "", "");
  add_serve_options(program.command(), others);
  return program.command().change(name, value);
}

Status LiveOptions::check_file(const std::string& text) {
  ServeOptions others;
  Program program("", "", "");
  add_serve_options(program.command(), others);
  return give_settings(program.command(), text, &others.models);
}

Result<LiveSettings> LiveOptions::change(const std::string& name, const std::string& value) {
  TRY(check(name, value));
  const std::lock_guard lock(mutex_);
  if (name == "depth") {
    TRY_ASSIGN(depth_, read_depth(value));
  } else {
    TRY(command_.change(name, value));
  }
  options_.server.limits.defaults = request_defaults(options_.defaults);
  const EngineSettings& engine = options_.engine.engine;
  return LiveSettings{options_.server.limits,
                      {engine.queue_length, engine.speculates_up_to_running, engine.speculates_up_to_context,
                       engine.speculates_up_to_kv, depth_},
                      options_.server.idle_s,
                      options_.models.idle_s};
}

// An engine that was opened with a depth has no policy, and memory for no deeper one.
Result<std::optional<int32_t>> LiveOptions::read_depth(const std::string& value) const {
  const std::optional<int32_t>& first = options_.engine.draft.depth;
  if (value == "auto" && !first) return std::optional<int32_t>();
  const int32_t most = first.value_or(kMaxDraftTokens);
  int32_t read = 0;
  const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (wrong != std::errc() || end != value.data() + value.size() || read < 0 || read > most)
    return Error{fmt::format("depth: expected a number from 0 to {}{}", most, first ? "" : ", or auto")};
  return std::optional(read);
}

std::vector<DescribedSetting> LiveOptions::described() const {
  std::vector<DescribedSetting> made;
  for (const OptionState& state : command_.option_states()) {
    const char* source = !state.is_given                                  ? "default"
                         : state.is_on_line                               ? "flag"
                         : std::getenv(state.variable.c_str()) != nullptr ? "environment"
                                                                          : "file";
    made.push_back({state.name, state.group, state.help, state.value, can_change(state.name), source, state.variable});
  }
  return made;
}

}  // namespace paceline
