#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <sstream>
#include <type_traits>

#include "base/one_line.h"
#include "base/result.h"
#include "cli/nearest_word.h"

namespace paceline {
namespace {

CLI::Validator shown_as(CLI::Validator validator, InHelp shown) {
  return shown == InHelp::yes ? validator : validator.description("");
}

// Of what CLI11 says: values stand in it as they were typed.
constexpr size_t kMostTextBytes = 600;

// What nobody asked for, in the order in which it was typed; and of an option that is near to one, which that is.
std::string about_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  const auto first = std::find_if(extras.begin(), extras.end(), [](const std::string& word) {
    return word.starts_with("--") && word.size() > 2 && word[2] != '=';
  });
  if (first == extras.end())
    return fmt::format("not expected here: {}", shortened(fmt::format("{}", fmt::join(extras, " "))));
  const std::string typed =
      first->substr(2, first->find('=') == std::string::npos ? std::string::npos : first->find('=') - 2);
  if (typed == "version") return "the version is the program's: paceline --version";
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  const std::string meant = nearest_word(typed, names);
  return fmt::format("there is no option --{}{}", shortened(typed),
                     meant.empty() ? "" : fmt::format(": did you mean --{}?", meant));
}

// All of it in decimal, whatever it begins with, and no other number than the one that is written.
template <class Number>
bool read_decimal(std::string_view text, Number& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = [&] {
    if constexpr (std::is_floating_point_v<Number>)
      return std::from_chars(text.data(), end, number, std::chars_format::fixed);
    else
      return std::from_chars(text.data(), end, number);
  }();
  return read.ec == std::errc() && read.ptr == end;
}

template <class Number>
std::string take_whole_number(std::string& text) {
  Number number = 0;
  if (!read_decimal(text, number)) {
    const std::string_view unsigned_digits =
        std::string_view(text).substr(text.starts_with('+') || text.starts_with('-') ? 1 : 0);
    if (unsigned_digits.empty() || unsigned_digits.find_first_not_of("0123456789") != std::string_view::npos)
      return fmt::format("expected a whole number, found {}", shortened(text));
    return fmt::format("expected a whole number from {} to {}, found {}", std::numeric_limits<Number>::min(),
                       std::numeric_limits<Number>::max(), shortened(text));
  }
  text = std::to_string(number);
  return "";
}

// CLI11 itself would read 010 as eight, and -1 as the largest number where there is none below zero.
template <class Number>
Option whole(CLI::Option* option) {
  return Option(option->transform(CLI::Validator(take_whole_number<Number>, "")));
}

}  // namespace

Option Option::group(const std::string& name) const { return Option(option_->group(name)); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::required() const { return Option(option_->required()); }
Option Option::excludes(const Option& other) const { return Option(option_->excludes(other.option_)); }
Option Option::excludes(const std::string& name) const { return Option(option_->excludes(name)); }
Option Option::needs(const Option& other) const { return Option(option_->needs(other.option_)); }
Option Option::default_str(const std::string& text) const { return Option(option_->default_str(text)); }
Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }
Option Option::delimiter(char border) const { return Option(option_->delimiter(border)); }
Option Option::allow_extra_args(bool allowed) const { return Option(option_->allow_extra_args(allowed)); }
Option Option::each(std::function<void(const std::string&)> hear) const {
  return Option(option_->each([hear = std::move(hear)](std::string text) { hear(text); }));
}

Option Option::range(int32_t low, int32_t high, InHelp shown) const {
  return Option(option_->check(shown_as(CLI::Range(low, high), shown)));
}
Option Option::range(double low, double high) const {
  // Numbers as people write them: CLI11 would show 65535.000000.
  return check([low, high](const std::string& text) -> std::string {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && value >= low && value <= high) return "";
    return fmt::format("Value {} not in range {} to {}", text, low, high);
  });
}
Option Option::one_of(std::initializer_list<const char*> words) const {
  return Option(option_->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end()))));
}
Option Option::one_of(std::initializer_list<int32_t> numbers, InHelp shown) const {
  return Option(option_->check(shown_as(CLI::IsMember(std::vector<int32_t>(numbers)), shown)));
}
Option Option::check(const ValueCheck& what) const {
  return Option(option_->check(CLI::Validator([what](std::string& text) { return what(text); }, "")));
}
Option Option::transform(const std::function<std::string(std::string&)>& into) const {
  return Option(option_->transform(CLI::Validator(into, "")));
}

Command Command::add_subcommand(const std::string& name, const std::string& help) const {
  return Command(*app_->add_subcommand(name, help));
}

std::optional<Command> Command::find_subcommand(const std::string& name) const {
  for (CLI::App* command : app_->get_subcommands([&](const CLI::App* other) { return other->get_name() == name; })) {
    return Command(*command);
  }
  return std::nullopt;
}

void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::group(const std::string& name) const { app_->group(name); }
void Command::callback(std::function<void()> called) const { app_->callback(std::move(called)); }

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_flag(names, value, help));
}
Option Command::add_option(const std::string& names, std::string& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, uint16_t& value, const std::string& help) const {
  return whole<uint16_t>(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, int32_t& value, const std::string& help) const {
  return whole<int32_t>(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, int64_t& value, const std::string& help) const {
  return whole<int64_t>(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, size_t& value, const std::string& help) const {
  return whole<size_t>(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, float& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, double& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::optional<std::string>& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::optional<int32_t>& value, const std::string& help) const {
  return whole<int32_t>(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::optional<uint64_t>& value, const std::string& help) const {
  return whole<uint64_t>(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::optional<float>& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::vector<std::string>& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Command::add_option(const std::string& names, std::vector<int32_t>& value, const std::string& help) const {
  return whole<int32_t>(app_->add_option(names, value, help));
}

Option Command::add_words(const std::string& names, std::vector<std::string> words, const std::string& help,
                          std::function<void(size_t)> set) const {
  const auto member = shown_as(CLI::IsMember(words), InHelp::no);
  const auto taken = [words = std::move(words), set = std::move(set)](const std::string& word) {
    const auto at = std::find(words.begin(), words.end(), word);
    if (at != words.end()) set(static_cast<size_t>(at - words.begin()));
  };
  return Option(app_->add_option_function<std::string>(names, taken, help)->check(member));
}

void Command::name_environment(const std::string& prefix) const {
  for (CLI::Option* option : app_->get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help") continue;
    std::string name = prefix + option->get_lnames().front();
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    option->envname(name);
  }
}

bool Command::has_option(const std::string& name) const {
  return app_->get_option_no_throw("--" + name) != nullptr && name != "help";
}

Status Command::give(const std::string& name, const std::vector<std::string>& values) const {
  if (!has_option(name)) return Error{name + " is no setting"};
  CLI::Option* option = app_->get_option("--" + name);
  if (option->count() > 0) return Done{};
  try {
    option->add_result(values);
    option->run_callback();
  } catch (const CLI::Error& error) {
    return Error{error.what()};
  }
  return Done{};
}

Status Command::change(const std::string& name, const std::string& value) const {
  if (!has_option(name)) return Error{name + " is no setting"};
  CLI::Option* option = app_->get_option("--" + name);
  const std::vector<std::string> before = option->results();
  const auto put = [&](const std::vector<std::string>& values) {
    option->clear();
    if (values.empty()) return;
    option->add_result(values);
    option->run_callback();
  };
  try {
    put({value});
  } catch (const CLI::Error& error) {
    put(before);
    return Error{error.what()};
  }
  return Done{};
}

std::vector<std::string> Command::given_options() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->parse_order()) names.push_back(option->get_name());
  return names;
}

std::vector<OptionState> Command::option_states() const {
  std::vector<OptionState> states;
  const auto given = app_->parse_order();
  for (const CLI::Option* option : app_->get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help") continue;
    OptionState& state = states.emplace_back();
    state.name = option->get_lnames().front();
    state.group = option->get_group();
    state.help = option->get_description();
    state.variable = option->get_envname();
    state.is_given = option->count() > 0;
    state.is_on_line = std::find(given.begin(), given.end(), option) != given.end();
    state.value = state.is_given ? CLI::detail::join(option->results(), ",") : option->get_default_str();
  }
  return states;
}

bool read_number(const std::string& text, int32_t& number) { return read_decimal(text, number); }
bool read_number(const std::string& text, float& number) { return read_decimal(text, number); }
bool read_number(const std::string& text, double& number) { return read_decimal(text, number); }

Program::Program(const std::string& description, const std::string& name, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(34);
}

Program::~Program() = default;

ReadCommandLine Program::read(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return {};
  } catch (const CLI::ParseError& error) {
    // Help and version are not mistakes; CLI11 reports them the same way.
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      app_->exit(error, text, text);
      return {.is_asked = true, .is_wrong = false, .text = text.str()};
    }
    const auto commands = app_->get_subcommands();
    const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !commands.empty() &&
                          !commands.front()->remaining().empty();
    return {.is_asked = false,
            .is_wrong = true,
            .text = is_extra ? about_extras(*commands.front()) : without_middle(one_line(error.what()), kMostTextBytes),
            .command = commands.empty() ? "" : commands.front()->get_name()};
  }
}

}  // namespace paceline
