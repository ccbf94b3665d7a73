#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "cli/console.h"

namespace paceline {
namespace {

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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are not mistakes; CLI11 reports them the same way.
    if (error.get_exit_code() == 0) return app.exit(error);
    const auto commands = app.get_subcommands();
    const std::string command = commands.empty() ? "" : " " + commands.front()->get_name();
    return fail(kExitUsage, fmt::format("{} (see paceline{} --help)", error.what(), command));
  }
  return action();
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  // No exception crosses the modules; what could still come here is the standard library's, such as out of memory.
  try {
    return paceline::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: %s\n", error.what());
    return paceline::kExitFailure;
  }
}
