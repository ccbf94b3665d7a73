#include "cli/serve_options.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <type_traits>

#include "cli/byte_size.h"
#include "cli/generate_options.h"
#include "cli/serve_file.h"
#include "media/video.h"
#include "server/api_keys.h"
#include "server/media_url.h"
#include "server/origin_check.h"

namespace paceline {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

class Group {
 public:
  Group(const Command& command, const char* name) : command_(command), name_(name) {}

  template <class Value>
  Option add(const char* flag, Value& value, const char* help) {
    return command_.add_option(flag, value, help)->group(name_)->capture_default_str();
  }
  template <class Value>
  Option number(const char* flag, Value& value, double low, double high, const char* help) {
    return add(flag, value, help)->range(low, high);
  }
  Option bytes(const char* flag, size_t& value, const SizeRange& range, const char* help) {
    const auto to_number = [range](std::string& text) -> std::string {
      const Result<size_t> size = read_byte_size(text, range);
      if (!size.ok()) return size.error().message;
      text = std::to_string(*size);
      return "";
    };
    return add(flag, value, help)->transform(to_number)->type_name("BYTES");
  }
  // An empty name is a variable that somebody forgot to set, and what it was to bring is not there.
  Option file(const char* flag, std::string& path, const char* help) {
    const auto named = [](const std::string& text) -> std::string {
      return text.empty() ? "expected the name of a file, found none" : "";
    };
    return add(flag, path, help)->check(named)->type_name("FILE");
  }
  // Separated by commas, or given several times.
  Option list(const char* flag, std::vector<std::string>& values, Status (*check)(std::string_view entry),
              const char* help) {
    const auto checked = [check](const std::string& entry) {
      const Status good = check(entry);
      return good.ok() ? "" : good.error().message;
    };
    return add(flag, values, help)
        ->check(checked)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->default_str("")
        ->type_name("LIST");
  }

 private:
  const Command& command_;
  const char* name_;
};

Status check_alias(std::string_view entry) {
  if (entry.empty() || entry.substr(0, entry.size() - 1).find('*') != std::string_view::npos)
    return Error{fmt::format("expected a name, with * at its end or nowhere, found {}", entry)};
  return Done{};
}

void add_listening(const Command& command, ServeOptions& options) {
  Group group(command, "Listening");
  ServerSettings& server = options.server;
  group.add("--host", server.host, "Address to listen on; 0.0.0.0: all of this machine's")->type_name("ADDRESS");
  group.number("--port", server.port, 0, 65535, "Port; 0: one that is free");
  group.list("--allowed-hosts", server.allowed_hosts, check_allowed_host,
             "Names that clients may call the server by, besides localhost and addresses, separated by commas; *: any, "
             "which lets web pages of rebound names in");
  group.list(
      "--cors-origins", server.cors_origins, check_cors_origin,
      "Web pages that may use the server, by their origins, as https://page.example, separated by commas; *: any; "
      "default: none but its own");
  group.add("--served-model-name", server.model_name, "How clients call the model; default: its folder's name")
      ->type_name("NAME");
  group.list("--aliases", server.aliases, check_alias,
             "Further names of the model, separated by commas; one that ends in * stands for all that begin so, as "
             "claude-*");
  group.file("--api-key-file", options.key_file,
             "Clients need one of these keys, one per line; also from $PACELINE_API_KEYS, separated by commas");
  group.file("--admin-key-file", options.admin_key_file,
             "Keys of those who see and end others' requests, one per line; default: only from this machine");
  group.number("--key-requests", server.allowance.requests_per_minute, 0, 1e9,
               "Requests that each key has for a minute; 0: no limit");
  group.number("--key-tokens", server.allowance.tokens_per_minute, 0, 1e12,
               "Tokens that each key has for a minute, prompts included; 0: no limit");
  group.add("--ollama", server.ollama,
            "Answers on Ollama's routes, too: /api/chat, /api/generate, /api/tags, /api/show");
  group.add("--console", server.console, "The page at /: chats, speculation made visible, what the server does");
  group.add("--console-dir", server.console_dir, "Its files from this folder, for those who work on them")
      ->type_name("DIR");
  command.add_flag("--open", options.opens_browser, "Opens that page in a browser, where there is one")
      ->group("Listening");
  group.file("--config", options.config_file, "A TOML file with settings: each line a flag without its dashes");
  command
      .add_choice<LogLevel>("--log-level", options.log_level,
                            {{"error", LogLevel::error}, {"info", LogLevel::info}, {"debug", LogLevel::debug}},
                            "What is written to stderr; prompts and outputs never are")
      ->group("Listening")
      ->type_name("error|info|debug")
      ->default_str("info");
}

void add_models(const Command& command, ServeOptions& options) {
  Group group(command, "Several models");
  ModelsOptions& models = options.models;
  group
      .add("--models-dir,--models", models.folder,
           "Serves every model in this folder, NAME or ORG/NAME, loaded at first use; with -m that one always")
      ->type_name("DIR");
  group.bytes("--memory", models.memory, {},
              "Memory of all loaded models together; 0: what is free at start, less a tenth");
  group.bytes("--min-kv", models.min_kv, {.low = kMegabyte},
              "Memory for keys and values that a model of several has at least, where --kv-bytes does not say");
  group.add("--autoload", models.autoload, "A request for a model that is not loaded loads it");
  group.number("--load-seconds", options.server.load_s, 0.1, 86400, "Seconds that a request waits for its model");
  group.number("--model-idle-seconds", models.idle_s, 0, 1e9,
               "Seconds without a request after which a model goes; 0: when others need the room");
}

void add_capacity(const Command& command, ServeOptions& options) {
  Group group(command, "Capacity");
  EngineSettings& engine = options.engine.engine;
  group.bytes("--kv-bytes", engine.kv_bytes, {},
              "Memory for keys and values, as 512MB or 8GB; 0: half of what is free, of a device the rest");
  group.number("--batch-rows", engine.batch_rows, 1, 1024, "Tokens of one step, drafts included");
  group.number("--chunk-rows", engine.chunk_rows, 0, 2048,
               "Tokens of prompts in a step where nobody writes; 0: 256, on a GPU 2048");
  group
      .add("--latency-ms", engine.latency_ms,
           "Milliseconds that a step may take while others write: as much of prompts as fits; 0: 64 tokens of them, "
           "whatever that takes; default: 50 on a GPU, else 0")
      ->range(0, 60000);
  group.number("--max-running", engine.most_running, 1, 65536, "Sequences computed at once");
  group.number("--reserve-tokens", engine.reserve_tokens, 0, 1 << 30,
               "Tokens behind its prompt, up to its max_tokens, that must have room when a request begins; fewer: more "
               "at once, of which some may have to be computed again");
  group.number("--queue-length", engine.queue_length, 1, 1 << 20, "Requests that may wait; more are answered 429");
  group.bytes("--queue-bytes", engine.queue_bytes, {.low = kMegabyte},
              "Memory of requests that wait or run, beside keys and values: prompts, pictures; more are answered 429");
  group.add("--prefix-cache", engine.keeps_prefixes, "Keep the beginnings of prompts for requests that share them");
  group.number("--io-threads", options.server.io_threads, 1, 64, "Threads that read and write");
  group.number("--worker-threads", options.server.worker_threads, 1, 64,
               "Threads that parse, render and encode; half as many more for longer requests, and for very long ones");
  group.bytes("--max-waiting-bytes", options.server.waiting_bytes, {},
              "Bodies of longer requests that are being prepared or wait for it; more are answered 429");
  group.number("--decode-threads", options.server.decode_threads, 1, 64,
               "Threads that decode pictures; as many more for large ones and for clips");
  group.bytes("--decode-bytes", options.server.decode_bytes, {.low = kMegabyte},
              "Memory for large pictures and clips while they are decoded, and as much for what all become until the "
              "engine has it; those that find none wait");
  group.bytes("--fetched-bytes", options.server.fetched_bytes, {.low = kMegabyte},
              "Memory for media that are fetched, of all requests, until they are decoded; more are answered 429");
  group.number("--max-connections", options.server.max_connections, 1, 1 << 20,
               "Open connections; more are answered 503");
}

void add_random_model(const Command& command, RandomModel& random) {
  Group group(command, "Model");
  group
      .add("--synthetic", random.shape,
           "For measurements: random weights of a shape, with the tokenizer of the model that came with the program")
      ->type_name("SHAPE");
  group.add("--synthetic-format", random.format, "What these are in, as for bench's --format")->type_name("FORMAT");
  group.number("--synthetic-group", random.group, 32, 128, "Weights per scale in q8 and q4");
}

void add_speculation_caps(const Command& command, ServeOptions& options) {
  Group group(command, "Speed (never changes the text)");
  EngineSettings& engine = options.engine.engine;
  group.number("--speculate-up-to-running", engine.speculates_up_to_running, 0, 1 << 20,
               "No drafts while more sequences run; 0: no such cap");
  group.number("--speculate-up-to-context", engine.speculates_up_to_context, 0, 1 << 30,
               "No drafts for longer contexts; 0: no such cap");
  group.number("--speculate-up-to-kv", engine.speculates_up_to_kv, 0, 1,
               "No drafts while running requests hold more of the KV memory, 1 being all of it; 0: no such cap");
  group.add(
      "--lazy-drafter", options.engine.draft.lazy,
      "A drafter's weights are arranged at its first use (MTP: drafts are asked for; DFlash: a text begins), not at "
      "start");
  group.file("--routing-log", options.routing.file,
             "A file for JSON lines: who drafts how deep for each request, and why, whenever that changes");
  command
      .add_choice<SpeculationReport>("--speculation-report", options.server.limits.speculation_report,
                                     {{"none", SpeculationReport::none},
                                      {"summary", SpeculationReport::summary},
                                      {"detailed", SpeculationReport::detailed}},
                                     "What chats say about speculation under vLLM's names, where they do not ask")
      ->group("Speed (never changes the text)")
      ->type_name("none|summary|detailed")
      ->default_str("none");
  group.add("--routing-log-steps", options.routing.every_step, "A line for every step, not only for changes");
  group.bytes("--routing-log-bytes", options.routing.most_bytes, {.low = kMegabyte},
              "Size of the file at which it becomes FILE.1, and another begins");
}

// A number within bounds, or a word.
ValueCheck number_or(const std::string& word, double low, double high, bool is_whole) {
  return [=](const std::string& text) -> std::string {
    double read = 0;
    const bool is_number = read_number(text, read) && read >= low && read <= high;
    if (text == word || (is_number && (!is_whole || read == std::floor(read)))) return "";
    return fmt::format("expected {} or a number from {} to {}", word, low, high);
  };
}

void add_defaults(Group& group, DefaultTexts& texts) {
  group
      .add("--default-temperature", texts.temperature,
           "Temperature, where it does not say; model: as its files have it")
      ->check(number_or("model", 0, 2, false))
      ->type_name("NUMBER|model");
  group.add("--default-top-p", texts.top_p, "Likewise top_p")
      ->check(number_or("model", 0.01, 1, false))
      ->type_name("NUMBER|model");
  group.add("--default-top-k", texts.top_k, "Likewise top_k; 0: all")
      ->check(number_or("model", 0, 1 << 30, true))
      ->type_name("INT|model");
  const auto flag = [](const std::string& text) -> std::string {
    return text == "true" || text == "false" || text == "model" ? "" : "expected true, false or model";
  };
  group
      .add("--default-thinking", texts.thinking,
           "Whether it thinks, where it does not say; model: as its template has it")
      ->check(flag)
      ->type_name("true|false|model");
  group
      .add("--default-depth", texts.depth,
           "Always so many guesses per check, where it does not say; auto: as many as pay")
      ->check(number_or("auto", 0, kMaxDraftTokens, true))
      ->type_name("INT|auto");
}

void add_limits(const Command& command, ServeOptions& options) {
  Group group(command, "Limits of a request");
  RequestLimits& limits = options.server.limits;
  group.number("--ctx", limits.context, 0, 1 << 30, "Most tokens, prompt included; 0: as much as the model has");
  group.number("--default-max-tokens", limits.default_max_tokens, 1, 1 << 30, "Most new tokens, where it does not say");
  add_defaults(group, options.defaults);
  group.number("--max-choices", limits.max_choices, 1, 1024, "Completions: n times its prompts");
  group.number("--max-messages", limits.max_messages, 1, 1 << 20, "Messages of a conversation");
  group.number("--render-seconds", limits.render_s, 0.01, 86400,
               "Seconds of a core for the model's template to write it down");
  group.number("--max-images", limits.max_images, 0, 1024, "Images");
  group.number("--max-videos", limits.max_videos, 0, 1024, "Videos");
  group.number("--max-frames", limits.max_frames, 1, kMostFrames, "Frames that are shown of a video");
  group.number("--max-pixels", limits.max_pixels, 1, 1e9, "Pixels of an image or a frame, decoded");
  group.bytes("--max-body-bytes", options.server.max_body_bytes, {.low = 1}, "Bytes of the body");
  group.bytes("--max-header-bytes", options.server.max_header_bytes, {.low = 256, .high = kMegabyte << 10},
              "Bytes of the header");
  constexpr double kDay_s = 86400;
  command
      .add_choice<std::optional<bool>>("--unknown-fields", options.server.ignores_unknown_fields,
                                       {{"refuse", false}, {"ignore", true}},
                                       "Fields that nobody knows; default: refused in completions, and left out in "
                                       "responses and messages, whose clients add some every month")
      ->group("Limits of a request")
      ->type_name("refuse|ignore");
  group.bytes("--response-store", options.server.response_store_bytes, {},
              "Memory for responses that others go on from, the oldest out; 0: none are kept");
  group.list(
      "--media-hosts", limits.media_hosts, check_media_host,
      "Hosts that media given by URL are fetched from, as HOST or HOST:PORT, separated by commas; default: none");
  group.bytes("--media-bytes", limits.media_bytes, {.low = 1}, "Bytes of the media that are fetched, all together");
  group.number("--media-seconds", limits.media_s, 0.1, kDay_s, "Seconds to fetch them");
  group.number("--request-seconds", limits.request_s, 0, kDay_s, "Seconds from arrival to end; 0: no limit");
  group.number("--header-seconds", options.server.header_s, 0.1, kDay_s, "Seconds for its header");
  group.number("--body-seconds", options.server.body_s, 0.1, kDay_s, "Seconds for its body");
  group.number("--idle-seconds", options.server.idle_s, 0.1, kDay_s, "Seconds between requests of a connection");
  group.number("--life-sign-seconds", options.server.life_sign_s, 0.1, kDay_s,
               "Seconds in which a stream has nothing to say, after which it shows that it lives");
  group.number("--write-stall-seconds", options.server.write_stall_s, 0.1, kDay_s,
               "Seconds in which a client takes nothing of its answer");
  group.number("--drain-grace", options.server.drain_grace_s, 0, kDay_s,
               "Seconds after SIGTERM in which it serves on and says that it is not ready");
  group.number("--drain-seconds", options.server.drain_s, 0, kDay_s,
               "Seconds for running requests to end, after the grace or Ctrl-C");
  group
      .add("--watchdog-seconds", options.watchdog_s,
           "Seconds without a step, though there is work, after which running requests end with an error and the "
           "server exits with 75, as when the engine has failed; 0: never; default: 10 on a GPU, else 0")
      ->range(0.0, kDay_s);
  group.number("--stuck-seconds", options.server.stuck_s, 0.1, kDay_s,
               "Seconds without a step, or without a request prepared, though there is work, that make /health 503");
}

}  // namespace

RequestDefaults request_defaults(const DefaultTexts& texts) {
  RequestDefaults made;
  const auto read = [](const std::string& text, auto& into) {
    using Number = typename std::decay_t<decltype(into)>::value_type;
    if (double number = 0; read_number(text, number)) into = static_cast<Number>(number);
  };
  read(texts.temperature, made.temperature);
  read(texts.top_p, made.top_p);
  read(texts.top_k, made.top_k);
  read(texts.depth, made.depth);
  if (texts.thinking != "model") made.thinks = texts.thinking == "true";
  return made;
}

void add_serve_options(const Command& command, ServeOptions& options) {
  options.engine.engine.kv_bytes = 0;
  add_listening(command, options);
  add_run_options(command, options.engine.run);
  add_random_model(command, options.engine.run.random);
  add_draft_options(command, options.engine.draft);
  add_speculation_caps(command, options);
  add_models(command, options);
  add_capacity(command, options);
  add_limits(command, options);
  command.name_environment("PACELINE_");
}

namespace {

Status give_model_line(const SettingLine& line, ModelsOptions& models) {
  if (models.list.empty() || models.list.back().name != line.model) models.list.emplace_back().name = line.model;
  ModelTable& table = models.list.back();
  if (line.key == "aliases") {
    table.aliases = line.values;
    return Done{};
  }
  if (line.values.size() != 1) return Error{fmt::format("{}: expected one value", line.key)};
  const std::string& value = line.values.front();
  const auto number = [&](double low, double high, auto& out) -> Status {
    using Number = typename std::decay_t<decltype(out)>::value_type;
    double read = 0;
    if (!read_number(value, read) || !(read >= low && read <= high) ||
        (std::is_integral_v<Number> && read != std::floor(read)))
      return Error{fmt::format("{}: expected a number from {} to {}", line.key, low, high)};
    out = static_cast<Number>(read);
    return Done{};
  };
  const auto flag = [&](bool& out) -> Status {
    if (value != "true" && value != "false") return Error{fmt::format("{}: expected true or false", line.key)};
    out = value == "true";
    return Done{};
  };
  if (line.key == "model") {
    table.model = value;
  } else if (line.key == "draft") {
    table.draft = value;
  } else if (line.key == "kv-bytes") {
    TRY_ASSIGN(table.kv_bytes, read_byte_size(value, {}));
  } else if (line.key == "pin") {
    return flag(table.pin);
  } else if (line.key == "load-at-start") {
    return flag(table.load_at_start);
  } else if (line.key == "idle-seconds") {
    return number(0, 1e9, table.idle_s);
  } else if (line.key == "ctx") {
    std::optional<int32_t> context;
    TRY(number(0, 1 << 30, context));
    table.defaults.context = *context;
  } else if (line.key == "thinking") {
    return flag(table.defaults.thinks.emplace());
  } else if (line.key == "temperature") {
    return number(0, 2, table.defaults.temperature);
  } else if (line.key == "top-p") {
    return number(0.01, 1, table.defaults.top_p);
  } else if (line.key == "top-k") {
    return number(0, 1 << 30, table.defaults.top_k);
  } else {
    return Error{
        fmt::format("{} is no setting of a model (model, draft, aliases, ctx, kv-bytes, pin, load-at-start, "
                    "idle-seconds, thinking, temperature, top-p, top-k)",
                    line.key)};
  }
  return Done{};
}

}  // namespace

Status read_settings_file(const Command& command, const std::string& path, ModelsOptions* models) {
  // What is no file may never end, or never begin.
  std::error_code unknown;
  const auto kind = std::filesystem::status(path, unknown).type();
  using Kind = std::filesystem::file_type;
  if (kind == Kind::fifo || kind == Kind::socket || kind == Kind::character || kind == Kind::block)
    return Error{fmt::format("{}: expected a file, found {}", path,
                             kind == Kind::fifo     ? "a pipe"
                             : kind == Kind::socket ? "a socket"
                                                    : "a device")};
  errno = 0;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  // A folder can be opened, and not be read.
  if (!file.is_open() || file.bad() || (text.fail() && errno != 0))
    return Error{fmt::format("{}: cannot read: {}", path, std::generic_category().message(errno))};
  if (const Status given = give_settings(command, text.str(), models); !given.ok())
    return Error{fmt::format("{}: {}", path, given.error().message)};
  return Done{};
}

Status give_settings(const Command& command, std::string_view text, ModelsOptions* models) {
  TRY_ASSIGN(const std::vector<SettingLine> lines, read_setting_lines(text));
  for (const SettingLine& line : lines) {
    const Status given = !line.model.empty() && models != nullptr ? give_model_line(line, *models)
                         : line.key == "config"                   ? Error{"config is no setting"}
                                                                  : command.give(line.key, line.values);
    if (!given.ok()) return Error{fmt::format("line {}: {}", line.number, given.error().message)};
  }
  return Done{};
}

// A variable that is set and says nothing was meant to say something.
Status check_environment() {
  for (const char* name : {"PACELINE_API_KEY_FILE", "PACELINE_ADMIN_KEY_FILE", "PACELINE_CONFIG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value == 0)
      return Error{fmt::format("${}: expected the name of a file, found none", name)};
  }
  return Done{};
}

Status read_api_keys(ServeOptions& options) {
  if (!options.key_file.empty()) {
    TRY_ASSIGN(options.server.api_keys, read_key_file(options.key_file));
  }
  if (!options.admin_key_file.empty()) {
    TRY_ASSIGN(options.server.admin_keys, read_key_file(options.admin_key_file));
  }
  if (const char* keys = std::getenv("PACELINE_API_KEYS")) {
    std::vector<std::string> found = split_keys(keys);
    if (found.empty()) return Error{"$PACELINE_API_KEYS: expected API keys, separated by commas; found none"};
    for (std::string& key : found) options.server.api_keys.push_back(std::move(key));
  }
  return Done{};
}

}  // namespace paceline
