#include <fmt/format.h>

#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/nearest_word.h"

namespace paceline {
namespace {

std::string unknown_command(const CLI::App& app, std::string_view typed) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const std::string meant = nearest_word(typed, names);
  const std::string advice =
      meant.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", meant);
  return fmt::format("no command is called \"{}\": {} (see paceline --help)", typed, advice);
}

int run(int argc, char** argv) {
  CLI::App app("paceline runs Gemma 4 models. `paceline COMMAND --help` teaches each command.", "paceline");
  app.set_version_flag("--version", PACELINE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  Action action;
  add_generate_command(app, action);
  add_serve_command(app, action);
  add_inspect_command(app, action);
  add_quantize_command(app, action);
  add_check_command(app, action);
  add_bench_command(app, action);
  add_completion_command(app, action);
  add_manual_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are not mistakes; CLI11 reports them the same way.
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      app.exit(error, text, text);
      const std::error_code unwritten = write_out(text.str());
      return unwritten ? fail_to_write(unwritten) : kExitDone;
    }
    const auto commands = app.get_subcommands();
    if (commands.empty() && argc > 1) return fail(kExitUsage, unknown_command(app, argv[1]));
    const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
    return fail(kExitUsage, fmt::format("{} (see paceline{} --help)", error.what(), command));
  }
  const int exit_code = action();
  // What was printed on the way may still be on its way.
  const std::error_code error = exit_code == kExitDone ? write_out("") : std::error_code();
  return error ? fail_to_write(error) : exit_code;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  // No exception crosses the modules; what could still come here is the standard library's, such as out of memory.
  try {
    return paceline::run(argc, argv);
  } catch (const std::system_error& error) {
    // {fmt} says so when it cannot print.
    if (error.code() == std::errc::broken_pipe) return paceline::kExitReaderGone;
    return paceline::fail(paceline::kExitFailure, error.what());
  } catch (const std::exception& error) {
    return paceline::fail(paceline::kExitFailure, error.what());
  }
}
