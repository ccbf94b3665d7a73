// paceline serve: the model behind HTTP, for OpenAI's and Anthropic's clients.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/file_limit.h"
#include "base/units_text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/draft_options.h"
#include "cli/serve_options.h"
#include "server/server.h"
#include "session/model_path.h"

namespace paceline {
namespace {

constexpr const char* kServeExamples = R"(
Examples:
  paceline serve
  paceline serve -m google/gemma-4-E2B-it --draft google/gemma-4-E2B-it-assistant --port 8080
  paceline serve --host 0.0.0.0 --api-key-file keys.txt --kv-bytes 8GB
  PACELINE_PORT=8080 paceline serve --config paceline.toml

  curl http://127.0.0.1:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hello"}]}'

A flag goes before its environment variable, and that before the file's line. In the file:
  port = 8080
  draft = "ngram"
SIGTERM drains: not ready, but serving on for a while, then new requests are refused and running ones may end.
Ctrl-C leaves out the while; a second signal ends at once.
Exit codes: 0 drained, 1 something failed, 2 the command line or the file makes no sense.)";

// A log whose reader goes is no reason to end. And where stderr was closed, no client's socket takes its number.
void hold_standard_files() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one.
    if (::fcntl(fd, F_GETFD) == -1) (void)::open("/dev/null", O_RDWR);
  }
}

// What a stranger made the server take, it gives back. glibc's allocator takes large blocks from the system one by one,
// until the first of them is freed: from then on blocks of up to 32 MB are cut from heaps, one for every few threads,
// which hardly shrink again. (Eight minutes of hostile load: 1.9 GB that way, and growing; 0.4 GB this way.)
void give_memory_back() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
  ::mallopt(M_ARENA_MAX, 4);
#endif
}

class ServeCommand {
 public:
  explicit ServeCommand(ServeOptions& options) : options_(options), log_(options.log_level) {}

  int run() {
    if (const Status status = check_draft_options(options_.engine.draft); !status.ok()) {
      return fail(kExitUsage, status.error().message);
    }
    if (const Status status = read_api_keys(options_); !status.ok()) return fail(kExitFailure, status.error().message);
    raise_file_limit();
    const auto name = served_name();
    if (!name.ok()) return fail(kExitFailure, name.error().message);
    Metrics metrics(*name);
    options_.engine.observer = &metrics;
    std::unique_ptr<RoutingLog> routing;
    if (!options_.routing.file.empty()) {
      auto made = RoutingLog::open(options_.routing, *name, &metrics);
      if (!made.ok()) return fail(kExitFailure, made.error().message);
      routing = std::move(*made);
      options_.engine.observer = routing.get();
    }
    options_.engine.tell = [this](const std::string& text) { log_.info(text); };
    auto opened = OpenedModel::open(options_.engine);
    if (!opened.ok()) return fail(kExitFailure, opened.error().message);
    tell_about(**opened);
    ServedModel model((*opened)->text(), (*opened)->engine(), (*opened)->vision(), *name, (*opened)->description());
    model.set_aliases(options_.server.aliases);
    const int exit_code = serve(model, metrics);
    if (exit_code == kExitDone) (*opened)->keep_costs();
    return exit_code;
  }

 private:
  // As the operator says; else as the model was asked for, or as its folder is called.
  [[nodiscard]] Result<std::string> served_name() const {
    if (!options_.server.model_name.empty()) return options_.server.model_name;
    const std::string& asked = options_.engine.run.model;
    TRY_ASSIGN(const std::filesystem::path folder, find_model(asked));
    return model_name(asked, folder);
  }

  void tell_about(const OpenedModel& opened) {
    const EngineDescription& made = opened.description();
    log_.info(fmt::format("{} · {} · {} threads · KV {} · drafter {}", opened.folder().string(), made.kernels,
                          made.threads, bytes_text(static_cast<double>(made.settings.kv_bytes)), made.drafter));
  }

  int serve(ServedModel& model, Metrics& metrics) {
    auto server = Server::start(model, metrics, log_, options_.server);
    if (!server.ok()) return fail(kExitFailure, server.error().message);
    (*server)->handle_signals();
    model.start_hashing();
    const std::string& host = options_.server.host;
    // As in a URL: an address with colons stands in brackets.
    const std::string shown = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
    log_.info(fmt::format("serving {} on http://{}:{}{}", model.name(), shown, (*server)->port(),
                          options_.server.api_keys.empty() ? "" : " with API keys"));
    (*server)->wait();
    return kExitDone;
  }

  ServeOptions& options_;
  Log log_;
};

}  // namespace

void add_serve_command(const Command& program, Action& action) {
  const Command command =
      program.add_subcommand("serve", "Serve a model over HTTP, for OpenAI's and Anthropic's clients");
  auto options = std::make_shared<ServeOptions>();
  add_serve_options(command, *options);
  command->footer(kServeExamples);
  command->callback([options, command, &action] {
    action = [options, command] {
      if (const Status named = check_environment(); !named.ok()) return fail(kExitUsage, named.error().message);
      if (!options->config_file.empty()) {
        const Status read = read_settings_file(command, options->config_file);
        if (!read.ok()) return fail(kExitUsage, read.error().message);
      }
      hold_standard_files();
      give_memory_back();
      return ServeCommand(*options).run();
    };
  });
}

}  // namespace paceline
