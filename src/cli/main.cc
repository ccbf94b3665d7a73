#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/one_line.h"
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
  return fmt::format("no command is called \"{}\": {} (see paceline --help)", shortened(typed), advice);
}

// As it is typed; `paceline help COMMAND` is another way to write `paceline COMMAND --help`, whatever else is said.
std::vector<const char*> words_of(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "help") return {argv, argv + argc};
  const std::string_view asked = argc > 2 ? argv[2] : "";
  if (asked.empty() || asked == "help" || asked.starts_with('-')) return {argv[0], "--help"};
  return {argv[0], argv[2], "--help"};
}

int run(int argc, char** argv) {
  // A file may then not grow beyond a limit of the shell's: a write fails, and what was begun is cleared away.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<const char*> words = words_of(argc, argv);
  Program program("paceline runs Gemma 4, Qwen3 and Qwen3.5 models. `paceline COMMAND --help` teaches each command.",
                  "paceline", PACELINE_VERSION);
  Action action;
  for (const auto add : {add_generate_command, add_chat_command, add_serve_command, add_connect_command,
                         add_inspect_command, add_ls_command, add_quantize_command, add_check_command,
                         add_bench_command, add_completion_command, add_manual_command}) {
    add(program.command(), action);
  }
  const bool asks_of_a_word = words.size() == 3 && words[1][0] != '-' && std::string_view(words[2]) == "--help";
  if (asks_of_a_word && !program.command().find_subcommand(words[1]))
    return fail(kExitUsage, unknown_command(program.command(), words[1]));
  const ReadCommandLine line = program.read(static_cast<int>(words.size()), words.data());
  if (line.is_asked) {
    const std::error_code unwritten = write_out(line.text);
    return unwritten ? fail_to_write(unwritten) : kExitDone;
  }
  if (line.is_wrong) {
    if (line.command.empty() && words.size() > 1) return fail(kExitUsage, unknown_command(program.command(), words[1]));
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
