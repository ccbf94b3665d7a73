// Commands and their options, declared without the library that reads them: its templates are compiled in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace paceline {

// Says what is wrong with a value; "": nothing.
using ValueCheck = std::function<std::string(const std::string&)>;

// Whether help shows what a value may be.
enum class InHelp : uint8_t { no, yes };

// One option of a command. What it is told is told one after another: option->group("Model")->type_name("DIR").
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  const Option* operator->() const { return this; }

  Option group(const std::string& name) const;
  Option type_name(const std::string& name) const;
  Option required() const;
  Option excludes(const Option& other) const;
  Option excludes(const std::string& name) const;
  Option needs(const Option& other) const;
  // What help says that the default is; or the value that the variable has now.
  Option default_str(const std::string& text) const;
  Option capture_default_str() const;
  // Of lists: what separates their entries; whether words behind the first belong to it.
  Option delimiter(char border) const;
  Option allow_extra_args(bool allowed) const;
  Option each(std::function<void(const std::string&)> hear) const;

  Option range(int32_t low, int32_t high, InHelp shown = InHelp::no) const;
  Option range(double low, double high) const;
  Option one_of(std::initializer_list<const char*> words) const;
  Option one_of(std::initializer_list<int32_t> numbers, InHelp shown = InHelp::no) const;
  Option check(const ValueCheck& what) const;
  // Turns what is written into what is read, or says what is wrong.
  Option transform(const std::function<std::string(std::string&)>& into) const;

 private:
  CLI::Option* option_;
};

// An option as it stands once everything has been read.
struct OptionState {
  std::string name, group, help, variable;
  std::string value;        // or its default
  bool is_on_line = false;  // the command line gave it
  bool is_given = false;    // somebody did
};

// A command, or the program itself, whose commands stand below it.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}
  const Command* operator->() const { return this; }
  [[nodiscard]] CLI::App& app() const { return *app_; }

  [[nodiscard]] Command add_subcommand(const std::string& name, const std::string& help) const;
  // Hidden ones included; none: there is none.
  [[nodiscard]] std::optional<Command> find_subcommand(const std::string& name) const;
  void footer(const std::string& text) const;
  void group(const std::string& name) const;
  // When the whole command line has been read, and named this command.
  void callback(std::function<void()> called) const;

  // names: "-p,--prompt"; without dashes it is an argument. The variables must live as long as the command.
  Option add_flag(const std::string& names, bool& value, const std::string& help) const;
  Option add_option(const std::string& names, std::string& value, const std::string& help) const;
  Option add_option(const std::string& names, bool& value, const std::string& help) const;
  Option add_option(const std::string& names, uint16_t& value, const std::string& help) const;
  Option add_option(const std::string& names, int32_t& value, const std::string& help) const;
  Option add_option(const std::string& names, int64_t& value, const std::string& help) const;
  Option add_option(const std::string& names, size_t& value, const std::string& help) const;
  Option add_option(const std::string& names, float& value, const std::string& help) const;
  Option add_option(const std::string& names, double& value, const std::string& help) const;
  Option add_option(const std::string& names, std::optional<std::string>& value, const std::string& help) const;
  Option add_option(const std::string& names, std::optional<int32_t>& value, const std::string& help) const;
  Option add_option(const std::string& names, std::optional<uint64_t>& value, const std::string& help) const;
  Option add_option(const std::string& names, std::optional<float>& value, const std::string& help) const;
  Option add_option(const std::string& names, std::vector<std::string>& value, const std::string& help) const;
  Option add_option(const std::string& names, std::vector<int32_t>& value, const std::string& help) const;

  // One of some words, each of which means a value.
  template <class Value>
  Option add_choice(const std::string& names, Value& value, std::vector<std::pair<std::string, Value>> choices,
                    const std::string& help) const {
    std::vector<std::string> words;
    for (const auto& choice : choices) words.push_back(choice.first);
    return add_words(names, std::move(words), help,
                     [&value, choices = std::move(choices)](size_t which) { value = choices[which].second; });
  }

  // $PREFIX_OF_THE_LONG_NAME for every option there is: none can be forgotten.
  void name_environment(const std::string& prefix) const;
  // Of this long name.
  [[nodiscard]] bool has_option(const std::string& name) const;
  // A setting's values, unless the command line or the environment said it already.
  [[nodiscard]] Status give(const std::string& name, const std::vector<std::string>& values) const;
  // Another value, whoever said it before; one that makes no sense leaves it as it was.
  [[nodiscard]] Status change(const std::string& name, const std::string& value) const;
  // The options that the command line gave, in its order.
  [[nodiscard]] std::vector<std::string> given_options() const;
  // All of them, in the order of help.
  [[nodiscard]] std::vector<OptionState> option_states() const;

 private:
  Option add_words(const std::string& names, std::vector<std::string> words, const std::string& help,
                   std::function<void(size_t)> set) const;

  CLI::App* app_;
};

// As options read numbers.
bool read_number(const std::string& text, int32_t& number);
bool read_number(const std::string& text, float& number);
bool read_number(const std::string& text, double& number);

// What a command line is.
struct ReadCommandLine {
  bool is_asked = false;  // for help or the version, which is the text
  bool is_wrong = false;  // and the text says why
  std::string text;
  std::string command = {};  // whose it is; "": none is named
};

// The program, to which commands are added.
class Program {
 public:
  Program(const std::string& description, const std::string& name, const std::string& version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] Command command() { return Command(*app_); }
  [[nodiscard]] ReadCommandLine read(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace paceline
