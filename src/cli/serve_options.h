// The options of `paceline serve`: each a flag, an environment variable and a line of the settings file.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command_line.h"
#include "server/log.h"
#include "server/routing_log.h"
#include "server/settings.h"
#include "session/opened_model.h"

namespace paceline {

struct ServeOptions {
  OpenOptions engine;
  ServerSettings server;
  std::string config_file;
  std::string key_file, admin_key_file;
  RoutingLogSettings routing;
  LogLevel log_level = LogLevel::info;
};

void add_serve_options(const Command& command, ServeOptions& options);

// The settings file's lines for what neither the command line nor the environment said. An error names the line.
Status read_settings_file(const Command& command, const std::string& path);

// Whether no variable that names a file is set to nothing.
Status check_environment();

// Keys from the file and the environment; never from the command line, where everyone on the machine can read them.
Status read_api_keys(ServeOptions& options);

}  // namespace paceline
