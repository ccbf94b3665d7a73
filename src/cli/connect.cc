// paceline connect: what a client needs to be told to use a server of ours.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "cli/client_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/server_question.h"

namespace paceline {
namespace {

constexpr const char* kConnectExamples = R"(
Examples:
  paceline connect codex
  paceline connect claude --url http://127.0.0.1:8080 --write
  paceline connect claude --restore

The model's name and its context are asked of the server where they are not given. --write puts its part into the
client's own file (JSON, TOML; YAML is replaced) and keeps what was there beside it until --restore.)";

struct ConnectOptions {
  std::string client;
  ServerPlace server{.model = ""};
  bool writes = false, restores = false;
};

std::string shown_settings(const ClientSettings& settings, const std::string& path) {
  std::string text;
  for (const auto& [name, value] : settings.variables) text += fmt::format("export {}={}\n", name, shell_word(value));
  if (!path.empty()) text += fmt::format("{}# {}\n{}", text.empty() ? "" : "\n", path, settings.text);
  if (!settings.then.empty()) text += fmt::format("\n# then: {}\n", settings.then);
  return text;
}

// What was not given, as the server says it.
void ask_server(ServerPlace& server) {
  const auto models = ask_for_models(server.url, server.key == ServerPlace().key ? "" : server.key);
  const ServerModel* found = models.ok() ? model_called(*models, server.model) : nullptr;
  if (!models.ok()) {
    remark(fmt::format("the server was not asked for its model: {}", models.error().message));
  } else if (found == nullptr) {
    remark(fmt::format("{} has no model{}", server.url, server.model.empty() ? "" : " called " + server.model));
  } else {
    if (server.model.empty()) server.model = found->name;
    if (server.context == 0) server.context = found->context;
  }
  if (server.model.empty()) server.model = ServerPlace().model;
}

int write_settings(const ConnectOptions& options, const ClientSettings& settings, const std::string& path) {
  const Status done = write_client_file(path, settings);
  if (!done.ok()) return fail(kExitFailure, done.error().message);
  remark(fmt::format("{} is written; paceline connect {} --restore puts back what was there", path, options.client));
  return kExitDone;
}

int restore_settings(const std::string& path, const ClientSettings& settings) {
  const auto restored = restore_client_file(path, settings);
  if (!restored.ok()) return fail(kExitFailure, restored.error().message);
  if (restored->was_edited)
    remark(fmt::format("{} had been edited since: what it was until now is kept as {}", path, restored->kept));
  remark(restored->keeps_edits
             ? fmt::format("{}: what paceline had put there is taken out, what else was edited stays", path)
             : fmt::format("{} is as it was", path));
  return kExitDone;
}

// http://HOST or https://HOST, with a port or a path behind it.
bool is_server_url(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string_view rest = url.substr(scheme.size()), host = rest.substr(0, rest.find_first_of("/:?#"));
    const bool has_host = !host.empty() || (rest.starts_with('[') && rest.find(']') != std::string_view::npos);
    return has_host && rest.find_first_of(" \t\r\n\"") == std::string_view::npos;
  }
  return false;
}

int run_connect(ConnectOptions options) {
  auto settings = client_settings(options.client, options.server);
  if (!settings) {
    return fail(kExitUsage,
                fmt::format("no client is called {}: there are {}", options.client, fmt::join(known_clients(), ", ")));
  }
  if (options.writes && options.restores) return fail(kExitUsage, "--write and --restore: expected one of them");
  const auto environment = [](const char* name) { return std::getenv(name); };
  const std::string path =
      options.restores ? written_client_file(*settings, environment) : client_file(*settings, environment);
  if ((options.writes || options.restores) && path.empty())
    return fail(kExitUsage, fmt::format("{} has no file: it reads variables alone", options.client));
  if ((options.writes || options.restores) && path.starts_with("~/"))
    return fail(kExitUsage, fmt::format("$HOME is not set: where {} has its file is not known", options.client));
  if (options.restores) return restore_settings(path, *settings);
  std::string& url = options.server.url;
  if (!is_server_url(url)) return fail(kExitUsage, fmt::format("--url: expected http://HOST:PORT, found {}", url));
  url = server_root(url);
  ask_server(options.server);
  settings = client_settings(options.client, options.server);
  if (options.writes) return write_settings(options, *settings, path);
  const std::error_code unwritten = write_out(shown_settings(*settings, path));
  return unwritten ? fail_to_write(unwritten) : kExitDone;
}

}  // namespace

void add_connect_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("connect", "Tell a client how to use a server of ours");
  auto options = std::make_shared<ConnectOptions>();
  command.add_option("client", options->client, fmt::format("Which: {}", fmt::join(known_clients(), ", ")))
      ->required()
      ->type_name("CLIENT");
  command.add_option("--url", options->server.url, "Where the server is")->type_name("URL")->capture_default_str();
  command.add_option("-m,--model", options->server.model, "How it calls the model; else the server is asked")
      ->type_name("NAME");
  command.add_option("--key", options->server.key, "An API key, where the server has some")
      ->type_name("KEY")
      ->capture_default_str();
  command.add_option("--ctx", options->server.context, "Tokens of the model's context; 0: the server is asked")
      ->range(0, 1 << 30)
      ->capture_default_str();
  command.add_flag("--write", options->writes, "Write it into the client's file, keeping what was there");
  command.add_flag("--restore", options->restores, "Put back what was there before --write");
  command->footer(kConnectExamples);
  command->callback([options, &action] { action = [options] { return run_connect(*options); }; });
}

}  // namespace paceline
