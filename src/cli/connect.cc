// paceline connect: what a client needs to be told to use a server of ours.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "cli/client_settings.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace paceline {
namespace {

constexpr const char* kConnectExamples = R"(
Examples:
  paceline connect codex
  paceline connect claude --url http://127.0.0.1:8080 --write
  paceline connect claude --restore

--write replaces the client's own file, and keeps what was there beside it until --restore.)";

struct ConnectOptions {
  std::string client;
  ServerPlace server;
  bool writes = false, restores = false;
};

std::string shown_settings(const ClientSettings& settings, const std::string& path) {
  std::string text;
  for (const auto& [name, value] : settings.variables) text += fmt::format("export {}={}\n", name, shell_word(value));
  if (!path.empty()) text += fmt::format("{}# {}\n{}", text.empty() ? "" : "\n", path, settings.text);
  if (!settings.then.empty()) text += fmt::format("\n# then: {}\n", settings.then);
  return text;
}

int run_connect(const ConnectOptions& options) {
  const auto settings = client_settings(options.client, options.server);
  if (!settings) {
    return fail(kExitUsage,
                fmt::format("no client is called {}: there are {}", options.client, fmt::join(known_clients(), ", ")));
  }
  const std::string path = client_file(*settings, [](const char* name) { return std::getenv(name); });
  if (!options.writes && !options.restores) {
    const std::error_code unwritten = write_out(shown_settings(*settings, path));
    return unwritten ? fail_to_write(unwritten) : kExitDone;
  }
  if (path.empty()) return fail(kExitUsage, fmt::format("{} has no file: it reads variables alone", options.client));
  const Status done = options.restores ? put_back_old(path) : write_keeping_old(path, settings->text);
  if (!done.ok()) return fail(kExitFailure, done.error().message);
  remark(
      fmt::format("{} {}", path, options.restores ? "is as it was" : "is written; --restore puts back what was there"));
  return kExitDone;
}

}  // namespace

void add_connect_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("connect", "Tell a client how to use a server of ours");
  auto options = std::make_shared<ConnectOptions>();
  command.add_option("client", options->client, fmt::format("Which: {}", fmt::join(known_clients(), ", ")))
      ->required()
      ->type_name("CLIENT");
  command.add_option("--url", options->server.url, "Where the server is")->type_name("URL")->capture_default_str();
  command.add_option("-m,--model", options->server.model, "How it calls the model")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--key", options->server.key, "An API key, where the server has some")
      ->type_name("KEY")
      ->capture_default_str();
  command
      .add_option("--ctx", options->server.context, "Tokens of the model's context, for clients that ask; 0: not said")
      ->range(0, 1 << 30)
      ->capture_default_str();
  command.add_flag("--write", options->writes, "Write the client's file, keeping what was there");
  command.add_flag("--restore", options->restores, "Put back what was there before --write");
  command->footer(kConnectExamples);
  command->callback([options, &action] { action = [options] { return run_connect(*options); }; });
}

}  // namespace paceline
