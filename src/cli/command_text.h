// The program's commands and options as plain text: what --help shows, for those who write it in other forms.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace paceline {

struct OptionText {
  std::vector<std::string> names;    // with their dashes; of an argument without dashes: how help calls it
  std::string value;                 // how help calls its value; "": it is a flag
  std::vector<std::string> choices;  // what the value may be, where that is a list; besides a path, where it takes one
  bool takes_path = false;           // a file's or folder's name
  bool only_folders = false;
  bool repeatable = false;
  bool required = false;
  std::string help, group;
  std::string default_value, variable;
  std::vector<std::string> excludes, needs;
};

struct CommandText {
  std::string name, help, footer;
  std::vector<OptionText> options;    // in help's order of groups
  std::vector<OptionText> arguments;  // those without dashes
};

[[nodiscard]] CommandText describe(const Command& command);

// All that help shows: hidden ones are left out.
[[nodiscard]] std::vector<CommandText> describe_commands(const Command& program);

}  // namespace paceline
