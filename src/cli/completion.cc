// paceline completion: scripts that make shells complete its commands, options and values.
#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <string_view>

#include "cli/command_text.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace paceline {
namespace {

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string result;
  while (true) {
    const size_t at = text.find(what);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += with;
    text.remove_prefix(at + what.size());
  }
}

// Within single quotes nothing means anything but the quote.
std::string shell_quoted(std::string_view text) { return fmt::format("'{}'", replaced(text, "'", R"('\'')")); }

std::string command_names(const std::vector<CommandText>& commands, std::string_view between) {
  std::string names;
  for (const CommandText& command : commands) names += (names.empty() ? "" : std::string(between)) + command.name;
  return names;
}

// ---- bash

std::string bash_words(const std::vector<OptionText>& options) {
  std::string words;
  for (const OptionText& option : options) {
    if (!words.empty()) words += ' ';
    words += fmt::format("{}", fmt::join(option.names, " "));
  }
  return words;
}

// Of an option's value: what there is to choose from, and paths where it may be one. Of other values nothing is known.
std::string bash_values(const OptionText& option) {
  std::string way;
  if (!option.choices.empty())
    way += fmt::format(" -W {}", shell_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  if (option.takes_path) way += option.only_folders ? " -d" : " -f";
  return way.empty() ? "return" : fmt::format("_paceline_offer{}; return", way);
}

std::string bash_command(const CommandText& command) {
  std::string text = fmt::format("    {})\n      case $before in\n", command.name);
  for (const OptionText& option : command.options) {
    if (option.value.empty()) continue;
    text += fmt::format("        {}) {} ;;\n", fmt::join(option.names, "|"), bash_values(option));
  }
  text += "      esac\n";
  const std::string_view paths = command.arguments.empty() ? "" : " -f";
  return text + fmt::format("      _paceline_offer -W {}{} ;;\n", shell_quoted(bash_words(command.options)), paths);
}

// ---- zsh

// In a specification a colon ends a part, and brackets hold the explanation.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_values(const OptionText& option) {
  const std::string paths = option.only_folders ? "_files -/" : "_files";
  if (option.choices.empty()) return option.takes_path ? paths : " ";
  const std::string choices = fmt::format("({})", fmt::join(option.choices, " "));
  if (!option.takes_path) return choices;
  return fmt::format(R"({{_alternative "words\:value\:{}" "paths\:path\:{}"}})", choices, paths);
}

std::string zsh_option(const OptionText& option) {
  std::string text;
  for (const std::string& name : option.names) {
    const std::string alone = option.repeatable ? "*" : fmt::format("({})", fmt::join(option.names, " "));
    std::string spec = fmt::format("{}{}", alone, name);
    // What a long name takes may stand behind = too.
    if (!option.value.empty() && name.starts_with("--")) spec += '=';
    spec += fmt::format("[{}]", zsh_text(option.help));
    if (!option.value.empty()) spec += fmt::format(":{}:{}", zsh_text(option.value), zsh_values(option));
    text += fmt::format(" \\\n        {}", shell_quoted(spec));
  }
  return text;
}

std::string zsh_command(const CommandText& command) {
  std::string text = fmt::format("    {})\n      _arguments -s -S", command.name);
  for (const OptionText& option : command.options) text += zsh_option(option);
  for (const OptionText& argument : command.arguments) {
    const std::string_view optional = argument.required ? ":" : "::";
    text +=
        fmt::format(" \\\n        {}", shell_quoted(fmt::format("{}{}:_files", optional, zsh_text(argument.names[0]))));
  }
  return text + " ;;\n";
}

// ---- fish

std::string fish_option(const std::string& condition, const OptionText& option) {
  std::string text = fmt::format("complete -c paceline -n {}", shell_quoted(condition));
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  std::string words = fmt::format("{}", fmt::join(option.choices, " "));
  if (option.only_folders) words += words.empty() ? "(__fish_complete_directories)" : " (__fish_complete_directories)";
  // -x: it takes a value, and no file's name unless it says so.
  if (!option.value.empty()) text += option.takes_path && !option.only_folders ? " -r -F" : " -x";
  if (!words.empty()) text += " -a " + shell_quoted(words);
  return text + fmt::format(" -d {}\n", shell_quoted(option.help));
}

constexpr std::string_view kBashOpening = R"(# Completion of paceline for bash; written by `paceline completion bash`.
_paceline_offer() {
  # As arguments of compgen; those that are paths are to be quoted where they must, and folders end with a slash.
  [[ " $* " == *' -f '* || " $* " == *' -d '* ]] && compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
}
_paceline() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= word
  # bash takes --device=cpu apart.
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case $word in )";

}  // namespace

std::string bash_completion(const Command& program) {
  const auto commands = describe_commands(program);
  std::string text =
      fmt::format("{}{}) command=$word && break ;; esac\n  done\n", kBashOpening, command_names(commands, "|"));
  text += "  case $command in\n";
  for (const CommandText& command : commands) text += bash_command(command);
  const std::string first = command_names(commands, " ") + " " + bash_words(describe(program).options);
  text += fmt::format("    *) _paceline_offer -W {} ;;\n  esac\n", shell_quoted(first));
  return text + "}\ncomplete -F _paceline paceline\n";
}

std::string zsh_completion(const Command& program) {
  const auto commands = describe_commands(program);
  std::string text = "#compdef paceline\n# Completion of paceline for zsh; written by `paceline completion zsh`.\n";
  text += "_paceline() {\n  local context state state_descr line\n  typeset -A opt_args\n  local -a commands=(";
  for (const CommandText& command : commands) {
    text += fmt::format("\n    {}", shell_quoted(fmt::format("{}:{}", command.name, zsh_text(command.help))));
  }
  text += ")\n  _arguments -S";
  for (const OptionText& option : describe(program).options) text += zsh_option(option);
  text += " \\\n        '1:command:->command' \\\n        '*::argument:->argument'\n";
  text += "  if [[ $state == command ]]; then\n    _describe command commands\n    return\n  fi\n";
  text += "  case $words[1] in\n";
  for (const CommandText& command : commands) text += zsh_command(command);
  text += "  esac\n}\n";
  // Found in $fpath it is the function's body; read by `source` it says whose it is.
  return text + "if [[ $funcstack[1] == _paceline ]]; then _paceline \"$@\"; else compdef _paceline paceline; fi\n";
}

std::string fish_completion(const Command& program) {
  const auto commands = describe_commands(program);
  const std::string none = "not __fish_seen_subcommand_from " + command_names(commands, " ");
  std::string text =
      "# Completion of paceline for fish; written by `paceline completion fish`.\ncomplete -c paceline -f\n";
  for (const OptionText& option : describe(program).options) text += fish_option(none, option);
  for (const CommandText& command : commands) {
    text += fmt::format("complete -c paceline -n {} -a {} -d {}\n", shell_quoted(none), command.name,
                        shell_quoted(command.help));
  }
  for (const CommandText& command : commands) {
    const std::string seen = "__fish_seen_subcommand_from " + command.name;
    for (const OptionText& option : command.options) text += fish_option(seen, option);
    if (!command.arguments.empty()) text += fmt::format("complete -c paceline -n {} -F\n", shell_quoted(seen));
  }
  return text;
}

// Not in --help: packages put its output where shells look, and people need it once.
void add_completion_command(const Command& program, Action& action) {
  const Command command =
      program.add_subcommand("completion", "Write a script that makes a shell complete paceline's words");
  command->group("");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->one_of({"bash", "zsh", "fish"});
  command->callback([shell, program, &action] {
    action = [shell, program] {
      const auto script = *shell == "bash" ? bash_completion : *shell == "zsh" ? zsh_completion : fish_completion;
      const std::error_code error = write_out(script(program));
      return error ? fail_to_write(error) : kExitDone;
    };
  });
}

}  // namespace paceline
