#include "cli/command_text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>

namespace paceline {
namespace {

std::vector<std::string> split_at(std::string_view text, char border) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(border);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// auto and 8 are values; DIR and FILE stand for one.
bool is_literal(std::string_view word) {
  return std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0; });
}

// CLI11 writes "auto|mtp:{auto,mtp}", "INT:INT in [0 - 9]", or what the option calls its values itself.
void read_type(const std::string& type, OptionText& text) {
  const size_t border = type.find(':');
  text.value = type.substr(0, border);
  const std::string rest = border == std::string::npos ? "" : type.substr(border + 1);
  std::vector<std::string> words = split_at(text.value, '|');
  if (rest.size() > 1 && rest.front() == '{' && rest.back() == '}') {
    words = split_at(std::string_view(rest).substr(1, rest.size() - 2), ',');
  } else if (text.value == "BOOLEAN") {
    words = {"true", "false"};
  }
  for (std::string& word : words) {
    if (word == "FILE" || word == "DIR") text.takes_path = true;
    if (word == "DIR") text.only_folders = true;
    if (words.size() > 1 && is_literal(word)) text.choices.push_back(std::move(word));
  }
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());
  return names;
}

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  if (option.get_positional()) {
    text.names = {option.get_name(true)};
    text.takes_path = true;  // all of ours are models, goldens and folders to make
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    if (option.get_type_size() != 0) read_type(option.get_type_name(), text);
  }
  text.repeatable = option.get_expected_max() > 1;
  text.required = option.get_required();
  text.help = option.get_description();
  text.group = option.get_group();
  text.default_value = option.get_default_str();
  text.variable = option.get_envname();
  text.excludes = names_of(option.get_excludes());
  text.needs = names_of(option.get_needs());
  return text;
}

}  // namespace

CommandText describe(const Command& described) {
  const CLI::App& command = described.app();
  CommandText text{command.get_name(), command.get_description(), command.get_footer(), {}, {}};
  // Help shows groups in the order of their first options, and CLI11's own, which has --help, in front.
  std::vector<std::string> groups;
  for (const CLI::Option* option : command.get_options()) {
    const std::string& group = option->get_group();
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group == "Options"; });
  for (const std::string& group : groups) {
    if (group.empty()) continue;
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group() != group) continue;
      (option->get_positional() ? text.arguments : text.options).push_back(describe_option(*option));
    }
  }
  return text;
}

std::vector<CommandText> describe_commands(const Command& program) {
  std::vector<CommandText> commands;
  for (CLI::App* command : program.app().get_subcommands(nullptr)) {
    if (!command->get_group().empty()) commands.push_back(describe(Command(*command)));
  }
  return commands;
}

}  // namespace paceline
