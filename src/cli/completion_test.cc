// What shells complete and what manual pages say, against --help, and with bash itself.
#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <regex>

#include "cli/command_text.h"
#include "cli/commands.h"
#include "cli/manual.h"

namespace paceline {
namespace {

using testing::AnyOf;
using testing::ContainerEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

class Completion : public testing::Test {
 protected:
  Completion() {
    for (const auto add :
         {add_generate_command, add_serve_command, add_connect_command, add_inspect_command, add_ls_command,
          add_quantize_command, add_check_command, add_bench_command, add_completion_command, add_manual_command})
      add(program_, action_);
  }

  // Of what help prints, where options stand at the beginning of lines.
  static std::vector<std::string> names_in_help(const CLI::App& command) {
    static const std::regex kLine(R"(\n  (-[^ \n]+))"), kComma(",");
    std::vector<std::string> names;
    const std::string help = command.help();
    for (std::sregex_iterator line(help.begin(), help.end(), kLine), end; line != end; ++line) {
      const std::string found = (*line)[1];
      names.insert(names.end(), std::sregex_token_iterator(found.begin(), found.end(), kComma, -1), {});
    }
    return names;
  }

  // What bash offers for the last of the words, in a shell that knows nothing but our script.
  static std::vector<std::string> offered(const std::string& words, int last) {
    const std::string program = PACELINE_PROGRAM;
    const std::string script = "eval \"$(" + program + " completion bash)\"; COMP_WORDS=(paceline " + words +
                               "); COMP_CWORD=" + std::to_string(last) +
                               "; _paceline; printf '%s\\n' \"${COMPREPLY[@]}\"";
    FILE* out = popen(
        ("bash --norc --noprofile -c '" + std::regex_replace(script, std::regex("'"), R"('\'')") + "'").c_str(), "r");
    std::vector<std::string> lines;
    for (std::array<char, 4096> line; std::fgets(line.data(), line.size(), out) != nullptr;) {
      lines.emplace_back(line.data());
      lines.back().pop_back();
      if (lines.back().empty()) lines.pop_back();
    }
    EXPECT_EQ(WEXITSTATUS(pclose(out)), 0);
    return lines;
  }

  CLI::App app_{"", "paceline"};
  const Command program_{app_};
  Action action_;
};

TEST_F(Completion, HasEveryOptionThatHelpHas) {
  const std::string bash = bash_completion(program_), zsh = zsh_completion(program_), fish = fish_completion(program_);
  size_t seen = 0;
  for (const CommandText& command : describe_commands(program_)) {
    const CLI::App& full = *app_.get_subcommand(command.name);
    std::vector<std::string> described;
    for (const OptionText& option : command.options)
      described.insert(described.end(), option.names.begin(), option.names.end());
    const auto names = names_in_help(full);
    EXPECT_THAT(described, ContainerEq(names)) << command.name;
    const std::string page = command_manual(*program_.find_subcommand(command.name));
    for (const std::string& name : names) {
      const bool is_long = name.starts_with("--");
      EXPECT_THAT(bash, HasSubstr(name));
      EXPECT_THAT(zsh, AnyOf(HasSubstr(")" + name), HasSubstr("*" + name)));
      EXPECT_THAT(fish, HasSubstr(is_long ? " -l " + name.substr(2) : " -s " + name.substr(1)));
      EXPECT_THAT(page, HasSubstr("\\fB" + std::regex_replace(name, std::regex("-"), "\\-") + "\\fR"));
    }
    seen += names.size();
  }
  EXPECT_GE(seen, 120u);
}

TEST_F(Completion, HiddenCommandsStayHidden) {
  for (const std::string& text :
       {bash_completion(program_), zsh_completion(program_), program_manual(program_), app_.help()}) {
    EXPECT_THAT(text, Not(HasSubstr("manual page")));
    EXPECT_THAT(text, HasSubstr("quantize"));
  }
}

TEST_F(Completion, BashOffersCommandsOptionsAndValues) {
  EXPECT_THAT(offered("''", 1), IsSupersetOf({"generate", "serve", "inspect", "--version"}));
  EXPECT_THAT(offered("ge", 1), ElementsAre("generate"));
  EXPECT_THAT(offered("serve --api", 2), ElementsAre("--api-key-file"));
  EXPECT_THAT(offered("generate -p hello --dev", 4), ElementsAre("--device"));
  EXPECT_THAT(offered("generate --device c", 3), ElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered("generate --device = c", 4), ElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered("generate --device =", 3), ElementsAre("auto", "cpu", "cuda"));
  EXPECT_THAT(offered("quantize --bits ''", 3), ElementsAre("4", "8"));
  EXPECT_THAT(offered("generate --seed ''", 3), IsEmpty());
}

TEST_F(Completion, BashOffersPathsWhereTheyCanBe) {
  const std::string source = PACELINE_SOURCE_DIR;
  EXPECT_THAT(offered("generate -f " + source + "/README", 3), ElementsAre(source + "/README.md"));
  EXPECT_THAT(offered("generate -m " + source + "/READ", 3), IsEmpty());
  EXPECT_THAT(offered("generate -m " + source + "/mod", 3), ElementsAre(source + "/models"));
  EXPECT_THAT(offered("inspect " + source + "/mod", 2), ElementsAre(source + "/models"));
  EXPECT_THAT(offered("generate " + source + "/mod", 2), IsEmpty());
}

TEST_F(Completion, ChoicesAreReadFromHelp) {
  OptionText draft;
  for (const OptionText& option : describe(*program_.find_subcommand("generate")).options)
    if (option.names.back() == "--draft") draft = option;
  EXPECT_THAT(draft.choices, ElementsAre("auto", "ngram", "none"));
  EXPECT_TRUE(draft.takes_path && draft.only_folders);
  EXPECT_EQ(draft.default_value, "auto");
}

TEST_F(Completion, ManualPagesHaveTheSectionsPeopleLookFor) {
  const std::string page = command_manual(*program_.find_subcommand("serve"));
  for (const char* section : {".SH NAME\npaceline\\-serve \\- ", ".SH SYNOPSIS", ".SH OPTIONS", ".SS Listening",
                              ".SH EXAMPLES", ".SH EXIT STATUS\n0 drained"})
    EXPECT_THAT(page, HasSubstr(section));
  EXPECT_THAT(page, HasSubstr("Default: 8000. Variable: PACELINE_PORT."));
}

}  // namespace
}  // namespace paceline
