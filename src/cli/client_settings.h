// What clients need to be told to use a server of ours: variables, and a file of theirs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline {

struct ServerPlace {
  std::string url = "http://127.0.0.1:8000";  // without a slash at its end
  std::string model = "default", key = "none";
  int32_t context = 0;  // tokens; 0: not known
};

struct ClientSettings {
  std::vector<std::pair<std::string, std::string>> variables;
  std::string file;                // below the home folder; "": none
  std::string text;                // that belongs there
  std::string then;                // how the client is started
  const char* moved_by = nullptr;  // a variable with another folder, in place of the first one of the file's path
  const char* instead = nullptr;   // a file beside it, which the client reads later where it is there
  std::vector<std::string> replaces = {};  // keys of a TOML file, with dots, that go for the text's
};

// codex, claude, opencode, pi, continue, openai, anthropic. None: another.
std::optional<ClientSettings> client_settings(std::string_view client, const ServerPlace& server);
std::vector<std::string> known_clients();
// A server's address as ServerPlace has it: without what clients put behind it themselves, /v1.
std::string server_root(std::string url);
// As one word of a shell's line.
std::string shell_word(const std::string& text);

}  // namespace paceline
