#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/command_text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/nearest_word.h"

namespace paceline {
namespace {

std::string unknown_command(const Command& program, std::string_view typed) {
  std::vector<std::string> names;
  for (const CommandText& command : describe_commands(program)) names.push_back(command.name);
  const std::string meant = nearest_word(typed, names);
  const std::string advice =
      meant.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", meant);
  return fmt::format("no command is called \"{}\": {} (see paceline --help)", typed, advice);
}

int run(int argc, char** argv) {
  Program program("paceline runs Gemma 4, Qwen3 and Qwen3.5 models. `paceline COMMAND --help` teaches each command.",
                  "paceline", PACELINE_VERSION);
  Action action;
  for (const auto add : {add_generate_command, add_chat_command, add_serve_command, add_connect_command,
                         add_inspect_command, add_ls_command, add_quantize_command, add_check_command,
                         add_bench_command, add_completion_command, add_manual_command}) {
    add(program.command(), action);
  }
  const ReadCommandLine line = program.read(argc, argv);
  if (line.is_asked) {
    const std::error_code unwritten = write_out(line.text);
    return unwritten ? fail_to_write(unwritten) : kExitDone;
  }
  if (line.is_wrong) {
    if (line.command.empty() && argc > 1) return fail(kExitUsage, unknown_command(program.command(), argv[1]));
    const std::string command = line.command.empty() ? "" : " " + line.command;
    return fail(kExitUsage, fmt::format("{} (see paceline{} --help)", line.text, command));
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
