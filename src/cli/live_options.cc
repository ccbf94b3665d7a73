#include "cli/live_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace paceline {
namespace {

constexpr std::string_view kLive[] = {"log-level",
                                      "speculate-up-to-running",
                                      "speculate-up-to-context",
                                      "speculate-up-to-kv",
                                      "speculation-report",
                                      "queue-length",
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
  // Options of nobody take it first.
  ServeOptions others;
  Program program("", "", "");
  add_serve_options(program.command(), others);
  return program.command().change(name, value);
}

Result<LiveSettings> LiveOptions::change(const std::string& name, const std::string& value) {
  TRY(check(name, value));
  const std::lock_guard lock(mutex_);
  TRY(command_.change(name, value));
  options_.server.limits.defaults = request_defaults(options_.defaults);
  const EngineSettings& engine = options_.engine.engine;
  return LiveSettings{options_.server.limits,
                      {engine.queue_length, engine.speculates_up_to_running, engine.speculates_up_to_context,
                       engine.speculates_up_to_kv}};
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
