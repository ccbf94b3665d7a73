// What an operator decides. Each is a flag, an environment variable and a line of the settings file: cli/serve_options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine_settings.h"
#include "server/key_guard.h"
#include "session/engine_request.h"

namespace paceline {

// How much a chat's answer says about speculation, beside its counts.
enum class SpeculationReport : uint8_t { none, summary, detailed };

// What is asked for where a request does not say; none: as the model has it.
struct RequestDefaults {
  std::optional<float> temperature, top_p;
  std::optional<int32_t> top_k;
  std::optional<bool> thinks;
  std::optional<int32_t> depth;  // always so many drafts; none: as many as pay

  void fill(Wishes& wishes) const;
};

// What one request may ask for.
struct RequestLimits {
  int32_t context = 0;                // most tokens, prompt included; 0: what the model has
  int32_t default_max_tokens = 4096;  // where a request does not say
  RequestDefaults defaults;
  int32_t max_choices = 16;  // n, and prompts of one request
  int32_t max_images = 16;
  int32_t max_videos = 4;
  int32_t max_messages = 4096;             // of a conversation
  double render_s = 5;                     // of a core, for the model's template to write it down
  int32_t max_frames = 32;                 // shown of a video
  int64_t max_pixels = int64_t{64} << 20;  // of a picture or a frame, decoded
  SpeculationReport speculation_report = SpeculationReport::none;  // where it does not say
  double request_s = 600;                                          // from its arrival to its end; 0: no limit
  // HOST or HOST:PORT, from where media are fetched that a request names by URL; none: from nowhere.
  std::vector<std::string> media_hosts;
  size_t media_bytes = size_t{256} << 20;  // fetched for one request, all its media together
  double media_s = 10;                     // for that
};

// A setting as the console shows it.
struct DescribedSetting {
  std::string name, group, help, value;
  bool is_live = false;  // can change while it serves
  std::string source;    // flag, environment, file or default
  std::string variable;  // of the environment
};

// What can.
struct LiveSettings {
  RequestLimits limits;
  EngineDials dials;
  double idle_s = 75;                  // of connections, as in ServerSettings
  std::optional<double> model_idle_s;  // of models that have none of their own; none: as it is
};

// What a client needs to be told to use this server.
struct ClientText {
  std::string name, variables, file, text, then;
};

// A measurement of this very server: so many streams at once, plain and with drafts by turns.
struct BenchmarkPlan {
  std::vector<int32_t> at_once{1, 4, 16};
  int32_t requests = 24, rounds = 1, output_tokens = 64;
  // Each of them apart; none: short questions of all kinds.
  std::vector<int32_t> prompt_words;
  std::vector<std::string> kinds;
  std::vector<std::optional<int32_t>> depths{std::nullopt};  // of drafts; none: as the policy chooses
};
struct BenchmarkHooks {
  std::function<void(int64_t done, int64_t total)> progress;
  std::function<void(std::string what)> begin;   // what is measured now
  std::function<void(std::string report)> hear;  // JSON, as far as it is known
  std::function<bool()> stopped;
};
// At this address, with the code of `paceline bench --serve`. What comes back is a picture, as SVG.
using RunBenchmark =
    std::function<Result<std::string>(const std::string& url, const BenchmarkPlan& plan, const BenchmarkHooks& hooks)>;

struct ServerSettings {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;  // 0: one that is free
  int32_t io_threads = 1;
  // Names and addresses that clients may call the server by, besides those that it listens on; "*": any.
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> cors_origins;     // whose pages may use it; "*": any page's
  int32_t worker_threads = 2;                // that read, render and encode requests
  size_t waiting_bytes = size_t{512} << 20;  // of bodies, but small ones, that are being prepared or wait for it
  int32_t decode_threads = 1;                // that decode pictures
  size_t decode_bytes = size_t{1} << 30;     // for pictures and clips while they are decoded; as much for the decoded
  size_t fetched_bytes = size_t{1} << 30;    // of media that were fetched and are still to be decoded
  size_t max_body_bytes = size_t{32} << 20;
  size_t max_header_bytes = size_t{32} << 10;
  int32_t max_connections = 4096;
  double header_s = 30;        // for a request's header, from its first byte
  double body_s = 120;         // for its body
  double idle_s = 75;          // between requests
  double life_sign_s = 10;     // a stream that has nothing to say for so long shows that it lives
  double write_stall_s = 120;  // a reader that takes nothing for so long has gone
  double drain_grace_s = 5;    // after a signal: serving on, while nobody should come any more
  double drain_s = 30;         // for running requests, after that
  double load_s = 300;         // that a request waits for its model to come
  double stuck_s = 60;         // a step, or a request's preparation, that takes longer never ends
  // A step that takes longer has hung the device, as an engine that failed has: whoever waits hears of it, and the
  // server ends, for somebody to start it again. 0: it stays, and says that it is stuck or has failed.
  float watchdog_s = 0;
  std::string model_name;             // how clients call the model; "": as its folder is called
  std::vector<std::string> aliases;   // further names of it; one that ends in * stands for all that begin so
  std::vector<std::string> api_keys;  // none: everyone may
  // Of those who look inside and end others' requests; none: only from this machine.
  std::vector<std::string> admin_keys;
  KeyAllowance allowance;                   // of each key
  bool ollama = false;                      // answers on Ollama's routes
  bool console = true;                      // the page at /
  std::string console_dir;                  // its files, for those who work on them; "": those in the program
  std::vector<DescribedSetting> described;  // what the console shows of all this
  // One of those that are live, as a flag would give it: whether it makes sense; and it changed, with all of them as
  // they are then. Both may be empty.
  std::function<Status(const std::string& name, const std::string& value)> check_setting;
  std::function<Result<LiveSettings>(const std::string& name, const std::string& value)> change_setting;
  std::string config_file;  // where settings were read from; "": from none
  // Whether it could be read with this in it; where not, the line and why. May be empty.
  std::function<Status(const std::string& text)> check_config;
  // Of each client that is known, for a server at this address. May be empty.
  std::function<std::vector<ClientText>(const std::string& url, const std::string& model, int32_t context)>
      client_texts;
  RunBenchmark run_benchmark;                // may be empty
  std::string benchmark_file;                // where its runs are kept; "": in memory alone
  std::string totals_file;                   // where sums of all servers are kept; "": nowhere
  std::vector<std::string> benchmark_kinds;  // of texts that it knows
  // What happens to fields that nobody knows: none: as each route has it.
  std::optional<bool> ignores_unknown_fields;
  size_t response_store_bytes = size_t{64} << 20;  // of responses, for those who go on from them; 0: none are kept
  RequestLimits limits;

  // Whoever watches wants to hear of it no later.
  [[nodiscard]] double stuck_after_s() const {
    const auto watched_s = static_cast<double>(watchdog_s);
    return watched_s > 0 && watched_s < stuck_s ? watched_s : stuck_s;
  }
};

}  // namespace paceline
