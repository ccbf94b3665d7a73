// paceline manual: the pages that `man paceline` and `man paceline-generate` show.
#include "cli/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "cli/command_text.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace paceline {
namespace {

// So that roff prints what stands there: a dash that can be copied, and no line that looks like a request.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '-') {
      escaped += "\\-";
    } else if (c == '\\') {
      escaped += "\\e";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string heading(const std::string& page) {
  return fmt::format(".TH {} 1 \"\" \"paceline {}\" \"User commands\"\n", upper(page), PACELINE_VERSION);
}

std::string first_line(const OptionText& option) {
  std::string line;
  for (const std::string& name : option.names) {
    line += fmt::format("{}\\fB{}\\fR", line.empty() ? "" : ", ", roff(name));
  }
  if (!option.value.empty()) line += fmt::format(" \\fI{}\\fR", roff(option.value));
  return line;
}

// What else help says of an option: its default, its variable, and with what it goes.
std::string remarks(const OptionText& option) {
  std::vector<std::string> parts;
  if (!option.default_value.empty()) parts.push_back("Default: " + option.default_value);
  if (!option.variable.empty()) parts.push_back("Variable: " + option.variable);
  if (!option.needs.empty()) parts.push_back(fmt::format("Only with {}", fmt::join(option.needs, ", ")));
  if (!option.excludes.empty()) parts.push_back(fmt::format("Not with {}", fmt::join(option.excludes, ", ")));
  return parts.empty() ? "" : fmt::format(".br\n{}.\n", roff(fmt::format("{}", fmt::join(parts, ". "))));
}

std::string entry(const OptionText& option) {
  return fmt::format(".TP\n{}\n{}.\n{}", first_line(option), roff(option.help), remarks(option));
}

std::string options_section(const CommandText& command) {
  std::string text;
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const OptionText& argument : command.arguments) text += entry(argument);
  text += ".SH OPTIONS\n";
  std::string group = "Options";
  for (const OptionText& option : command.options) {
    if (option.group != group) text += fmt::format(".SS {}\n", roff(option.group));
    group = option.group;
    text += entry(option);
  }
  return text;
}

std::string synopsis(const CommandText& command) {
  std::string line = fmt::format(".SH SYNOPSIS\n\\fBpaceline {}\\fR [\\fIOPTIONS\\fR]", roff(command.name));
  for (const OptionText& argument : command.arguments) {
    const std::string name = fmt::format("\\fI{}\\fR", roff(argument.names[0]));
    line += argument.required ? " " + name : fmt::format(" [{}]", name);
  }
  return line + "\n";
}

// Help's end: examples and other lines as they are, which are indented there, and sentences.
class FooterWriter {
 public:
  std::string write(std::string_view footer) {
    while (!footer.empty()) {
      const size_t end = std::min(footer.find('\n'), footer.size());
      add(footer.substr(0, end));
      footer.remove_prefix(std::min(end + 1, footer.size()));
    }
    end_code();
    return text_;
  }

 private:
  void add(std::string_view line) {
    constexpr std::string_view kExits = "Exit codes: ";
    if (line.empty()) {
      if (in_code_) text_ += '\n';
    } else if (line == "Examples:") {
      begin("EXAMPLES");
    } else if (line.starts_with(kExits)) {
      begin("EXIT STATUS");
      text_ += roff(line.substr(kExits.size())) + "\n";
    } else if (line.starts_with("  ")) {
      if (section_.empty()) begin("EXAMPLES");
      if (!in_code_) text_ += ".PP\n.nf\n.RS\n";
      in_code_ = true;
      text_ += roff(line.substr(2)) + "\n";
    } else {
      end_code();
      if (section_ != "NOTES") begin("NOTES");
      text_ += roff(line) + "\n";
    }
  }
  void begin(std::string_view section) {
    end_code();
    section_ = section;
    text_ += fmt::format(".SH {}\n", section);
  }
  void end_code() {
    if (in_code_) text_ += ".RE\n.fi\n.PP\n";
    in_code_ = false;
  }

  std::string text_, section_;
  bool in_code_ = false;
};

constexpr const char* kFilesAndVariables = R"(.SH FILES
.TP
.I ~/.cache/paceline
What was learnt about times on this machine (below \fB$XDG_CACHE_HOME\fR where that is set). Only speed depends on it.
.TP
.I ~/.cache/huggingface/hub
Where models given as org/name are looked for (\fB$HF_HUB_CACHE\fR, \fB$HF_HOME\fR). Nothing is downloaded.
.SH ENVIRONMENT
.TP
.B PACELINE_MODEL
The model where none is given.
.TP
.B PACELINE_ISA
The kernels to use: neon, neon\-dotprod, avx512\-amx, avx512, avx512\-vnni, avx2\-vnni, avx2 or portable; else the best that the processor has.
.TP
.B NO_COLOR
No colours, even on a terminal.
)";

}  // namespace

std::string program_manual(const Command& program) {
  std::string text = heading("paceline") + ".SH NAME\npaceline \\- runs Gemma 4, Qwen3 and Qwen3.5 models\n";
  text += ".SH SYNOPSIS\n\\fBpaceline\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  std::string others;
  for (const CommandText& command : describe_commands(program)) {
    text += fmt::format(".TP\n\\fBpaceline\\-{0}\\fR(1)\n{1}.\n", roff(command.name), roff(command.help));
    others += fmt::format("{}.BR paceline\\-{} (1)", others.empty() ? "" : ",\n", roff(command.name));
  }
  return text + options_section(describe(program)) + kFilesAndVariables + ".SH SEE ALSO\n" + others + "\n";
}

std::string command_manual(const Command& command) {
  const CommandText shown = describe(command);
  const std::string page = "paceline-" + shown.name;
  std::string text = heading(page) + fmt::format(".SH NAME\n{} \\- {}\n", roff(page), roff(shown.help));
  text += synopsis(shown) + options_section(shown) + FooterWriter().write(shown.footer);
  return text + ".SH SEE ALSO\n.BR paceline (1)\n";
}

// Not in --help, as completion.
void add_manual_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("manual", "Write a manual page");
  command->group("");
  auto name = std::make_shared<std::string>();
  command->add_option("COMMAND", *name, "The command; default: the program itself");
  command->callback([name, program, &action] {
    action = [name, program] {
      const auto about = program.find_subcommand(*name);
      if (!about && !name->empty()) return fail(kExitUsage, fmt::format("no command is called {}", *name));
      const std::error_code error = write_out(about ? command_manual(*about) : program_manual(program));
      return error ? fail_to_write(error) : kExitDone;
    };
  });
}

}  // namespace paceline
