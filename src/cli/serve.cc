// paceline serve: the model behind HTTP, for OpenAI's and Anthropic's clients.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "base/file_limit.h"
#include "bench/serve_bench.h"
#include "bench/texts.h"
#include "cli/browser.h"
#include "cli/client_settings.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/draft_options.h"
#include "cli/live_options.h"
#include "cli/serve_models.h"
#include "cli/serve_options.h"
#include "cli/state_folder.h"
#include "kernels/cuda_device.h"
#include "server/doorman.h"
#include "server/server.h"

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
Exit codes: 0 drained, 1 something failed, 2 the command line or the file makes no sense, 75 a device hung or failed
while it served (--watchdog-seconds): start it again.)";

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

// What `paceline connect` prints, for the console. The key is the reader's own, and is not in it.
std::vector<ClientText> client_texts(const std::string& url, const std::string& model, int32_t context) {
  std::vector<ClientText> made;
  for (const std::string& client : known_clients()) {
    const auto settings = client_settings(client, {.url = url, .model = model, .key = "YOUR_KEY", .context = context});
    if (!settings) continue;
    ClientText& text = made.emplace_back(ClientText{client, "", settings->file, settings->text, settings->then});
    for (const auto& [name, value] : settings->variables)
      text.variables += fmt::format("export {}={}\n", name, shell_word(value));
  }
  return made;
}

// Where something is kept; "": nowhere.
std::string state_file(const char* name) {
  const std::filesystem::path folder = state_folder();
  return folder.empty() ? "" : (folder / name).string();
}

// The console's benchmark: clients of this very server, as `paceline bench --serve` has them.
RunBenchmark benchmark_runner(const ServerSettings& server) {
  return [key = server.api_keys.empty() ? "" : server.api_keys.front()](
             const std::string& url, const BenchmarkPlan& plan, const BenchmarkHooks& hooks) -> Result<std::string> {
    ServeBenchSettings settings;
    settings.url = url;
    settings.api_key = key;
    settings.at_once = plan.at_once;
    settings.requests = plan.requests;
    settings.rounds = plan.rounds;
    settings.kinds = plan.kinds;
    settings.prompt_words = plan.prompt_words;
    settings.depths = plan.depths;
    settings.mix.output_tokens = {plan.output_tokens};
    // Nothing of an earlier request helps, nor of an earlier measurement.
    settings.mix.cache_salt = fmt::format("{} ", std::chrono::steady_clock::now().time_since_epoch().count());
    settings.mix.shares_nothing = true;
    settings.progress = hooks.progress;
    settings.hear_run = [&](const ServeCell& cell) { hooks.begin(fmt::format("{}, {}", cell.name(), cell.way())); };
    settings.stopped = hooks.stopped;
    const auto text_of = [](const ServeReport& report) { return boost::json::serialize(serve_json(report)); };
    settings.hear_load = [&](const ServeReport& report) { hooks.hear(text_of(report)); };
    TRY_ASSIGN(const ServeReport report, bench_serving(settings));
    hooks.hear(text_of(report));
    return plan.kinds.empty() ? plot_serving(report) : plot_depths(report);
  };
}

class ServeCommand {
 public:
  ServeCommand(ServeOptions& options, const LiveOptions& live)
      : options_(options), live_(live), log_(options.log_level) {}

  int run() {
    if (const Status status = check_draft_options(options_.engine.draft); !status.ok()) {
      return fail(kExitUsage, status.error().message);
    }
    if (const Status status = read_api_keys(options_); !status.ok()) return fail(kExitFailure, status.error().message);
    options_.server.run_benchmark = benchmark_runner(options_.server);
    options_.server.benchmark_kinds = bench_kinds();
    raise_file_limit();
    options_.server.watchdog_s = watchdog_s();
    auto models = find_served_models(options_);
    if (!models.ok()) return fail(kExitFailure, models.error().message);
    auto routing = RoutingLog::open(options_.routing);
    if (!routing.ok()) return fail(kExitFailure, routing.error().message);
    ShelfTerms terms{.budget_bytes = models->budget_bytes,
                     .autoload = options_.models.autoload,
                     .stuck_s = options_.server.stuck_after_s(),
                     .routing = routing->get(),
                     .rescan = {}};
    if (options_.models.several()) terms.rescan = [this] { return found_now(); };
    ModelShelf shelf(std::move(models->entries), std::move(terms), log_);
    std::unique_ptr<Doorman> doorman = Doorman::start(options_.server);
    for (const std::string& name : models->at_start) {
      if (const Status loaded = load(shelf, name); !loaded.ok()) return fail(kExitFailure, loaded.error().message);
    }
    doorman.reset();
    return serve(shelf);
  }

 private:
  // A device may hang; a processor's steps may take long.
  [[nodiscard]] float watchdog_s() const {
    constexpr float kOfDevice_s = 10;
    if (options_.watchdog_s) return *options_.watchdog_s;
    const bool on_device = options_.engine.run.device != Device::cpu && kernels::find_cuda_device().ok();
    return on_device ? kOfDevice_s : 0;
  }

  std::vector<ShelfEntry> found_now() const {
    auto found = live_.read(find_served_models);
    return found.ok() ? std::move(found->entries) : std::vector<ShelfEntry>();
  }

  // And waits for it.
  static Status load(ModelShelf& shelf, const std::string& name) {
    const auto settled = std::make_shared<std::promise<void>>();
    const LoadWish wish;
    const auto ticket = shelf.ask(name, &wish);
    ticket->set_wake([settled] { settled->set_value(); });
    settled->get_future().wait();
    if (const auto problem = ticket->problem()) {
      const std::string why = shelf.look(name).error;
      return Error{why.empty() ? problem->message : why};
    }
    return Done{};
  }

  // Who looks holds what is loaded, and lets go of it again.
  static std::string what_is_served(ModelShelf& shelf) {
    const auto views = shelf.look();
    return shelf.is_single() ? views.front().entry.name : fmt::format("{} models", views.size());
  }

  int serve(ModelShelf& shelf) {
    auto server = Server::start(shelf, log_, options_.server);
    if (!server.ok()) return fail(kExitFailure, server.error().message);
    (*server)->handle_signals();
    const std::string& host = options_.server.host;
    // As in a URL: an address with colons stands in brackets.
    const std::string shown = host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
    log_.info(fmt::format("serving {} on http://{}:{}{}", what_is_served(shelf), shown, (*server)->port(),
                          options_.server.api_keys.empty() ? "" : " with API keys"));
    if (options_.server.console) {
      // Where it listens everywhere, this machine is one of the places.
      const bool is_everywhere = host == "0.0.0.0" || host == "::";
      const std::string page = fmt::format("http://{}:{}/", is_everywhere ? "127.0.0.1" : shown, (*server)->port());
      log_.info(fmt::format("console at {}", page));
      if (options_.opens_browser && !open_browser(page)) log_.info("--open: there is no browser here");
    }
    (*server)->wait();
    if ((*server)->has_given_up()) end_at_once();
    return kExitDone;
  }

  // A thread that a device does not answer cannot be waited for.
  [[noreturn]] void end_at_once() {
    log_.error("ending: whoever watches over this process should start it again");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // for the log's own thread
    std::_Exit(kExitRestart);
  }

  ServeOptions& options_;
  const LiveOptions& live_;  // the same, while it serves
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
        const Status read = read_settings_file(command, options->config_file, &options->models);
        if (!read.ok()) return fail(kExitUsage, read.error().message);
      }
      LiveOptions live(command, *options);
      options->server.described = live.described();
      options->server.config_file = options->config_file;
      options->server.limits.defaults = request_defaults(options->defaults);
      options->server.benchmark_file = state_file("benchmarks.json");
      options->server.totals_file = state_file("totals.json");
      options->server.check_setting = [&live](const std::string& name, const std::string& value) {
        return live.check(name, value);
      };
      options->server.change_setting = [&live](const std::string& name, const std::string& value) {
        return live.change(name, value);
      };
      options->server.check_config = LiveOptions::check_file;
      options->server.client_texts = client_texts;
      hold_standard_files();
      give_memory_back();
      return ServeCommand(*options, live).run();
    };
  });
}

}  // namespace paceline
