// The options of `paceline serve`: each a flag, an environment variable and a line of the settings file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "server/log.h"
#include "server/routing_log.h"
#include "server/settings.h"
#include "session/opened_model.h"

namespace paceline {

// A table [models.NAME] of the settings file.
struct ModelTable {
  std::string name;
  std::string model;  // "": as it is called
  std::optional<std::string> draft;
  std::vector<std::string> aliases;
  size_t kv_bytes = 0;  // 0: as all have it
  bool pin = false, load_at_start = false;
  std::optional<double> idle_s;
  ModelDefaults defaults;
};

// Of several models in one process.
struct ModelsOptions {
  std::string folder;                // every model in it; "": none
  std::vector<ModelTable> list;      // and these
  size_t memory = 0;                 // of all that are loaded; 0: what is free at start, less a tenth
  size_t min_kv = size_t{64} << 20;  // for keys and values of one, where nobody says
  bool autoload = true;
  double idle_s = 0;  // after which one that nobody uses goes; 0: never
  [[nodiscard]] bool several() const { return !folder.empty() || !list.empty(); }
};

// As they are written: a number, true or false, or "model"; of depths, "auto".
struct DefaultTexts {
  std::string temperature = "model", top_p = "model", top_k = "model", thinking = "model", depth = "auto";
};
// They have been checked.
RequestDefaults request_defaults(const DefaultTexts& texts);

struct ServeOptions {
  OpenOptions engine;
  ModelsOptions models;
  ServerSettings server;
  DefaultTexts defaults;  // of its limits
  std::string config_file;
  std::string key_file, admin_key_file;
  RoutingLogSettings routing;
  std::optional<float> watchdog_s;  // of ServerSettings
  LogLevel log_level = LogLevel::info;
  bool opens_browser = false;
};

void add_serve_options(const Command& command, ServeOptions& options);

// The settings file's lines for what neither the command line nor the environment said. An error names the line.
Status read_settings_file(const Command& command, const std::string& path, ModelsOptions* models = nullptr);
// The same of a file's text.
Status give_settings(const Command& command, std::string_view text, ModelsOptions* models = nullptr);

// Whether no variable that names a file is set to nothing.
Status check_environment();

// Keys from the file and the environment; never from the command line, where everyone on the machine can read them.
Status read_api_keys(ServeOptions& options);

}  // namespace paceline
