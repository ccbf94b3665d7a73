#include "cli/client_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

namespace paceline {
namespace {

// All as it stands between double quotes, in JSON, TOML and YAML alike.
ServerPlace within_quotes(const ServerPlace& server) {
  const auto written = [](const std::string& text) {
    const std::string quoted = boost::json::serialize(boost::json::string(text));
    return quoted.substr(1, quoted.size() - 2);
  };
  return {written(server.url), written(server.model), written(server.key), server.context};
}

ClientSettings codex(const ServerPlace& server) {
  const ServerPlace written = within_quotes(server);
  const std::string context = server.context > 0 ? fmt::format("model_context_window = {}\n", server.context) : "";
  return {.variables = {{"PACELINE_KEY", server.key}},
          .file = ".codex/config.toml",
          .text = fmt::format("model = \"{}\"\nmodel_provider = \"paceline\"\n{}\n[model_providers.paceline]\n"
                              "name = \"paceline\"\nbase_url = \"{}/v1\"\nenv_key = \"PACELINE_KEY\"\n"
                              "wire_api = \"responses\"\n",
                              written.model, context, written.url),
          .then = "codex",
          .moved_by = "CODEX_HOME",
          .replaces = {"model", "model_provider", "model_context_window", "model_providers.paceline"}};
}

ClientSettings claude(const ServerPlace& server) {
  const ServerPlace written = within_quotes(server);
  return {.variables = {{"ANTHROPIC_BASE_URL", server.url},
                        {"ANTHROPIC_API_KEY", server.key},
                        {"ANTHROPIC_MODEL", server.model},
                        {"CLAUDE_CODE_ATTRIBUTION_HEADER", "0"},
                        {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
                        {"API_TIMEOUT_MS", "3000000"}},
          .file = ".claude/settings.json",
          .text = fmt::format(
              "{{\n  \"env\": {{\n    \"ANTHROPIC_BASE_URL\": \"{}\",\n    \"ANTHROPIC_API_KEY\": \"{}\",\n"
              "    \"ANTHROPIC_MODEL\": \"{}\",\n    \"CLAUDE_CODE_ATTRIBUTION_HEADER\": \"0\",\n"
              "    \"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC\": \"1\",\n    \"API_TIMEOUT_MS\": \"3000000\"\n"
              "  }}\n}}\n",
              written.url, written.key, written.model),
          .then = "claude",
          .moved_by = "CLAUDE_CONFIG_DIR"};
}

ClientSettings opencode(const ServerPlace& server) {
  const ServerPlace written = within_quotes(server);
  return {.variables = {},
          .file = ".config/opencode/opencode.json",
          .text = fmt::format(
              "{{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"provider\": {{\n    \"paceline\": {{\n"
              "      \"npm\": \"@ai-sdk/openai-compatible\",\n      \"name\": \"paceline\",\n"
              "      \"options\": {{ \"baseURL\": \"{}/v1\", \"apiKey\": \"{}\" }},\n"
              "      \"models\": {{ \"{}\": {{}} }}\n    }}\n  }},\n  \"model\": \"paceline/{}\"\n}}\n",
              written.url, written.key, written.model, written.model),
          .then = "opencode",
          .moved_by = "XDG_CONFIG_HOME",
          .instead = "opencode.jsonc"};
}

ClientSettings pi(const ServerPlace& server) {
  const ServerPlace written = within_quotes(server);
  return {.variables = {},
          .file = ".pi/agent/models.json",
          .text = fmt::format("{{\n  \"providers\": {{\n    \"paceline\": {{\n      \"baseUrl\": \"{}/v1\",\n"
                              "      \"api\": \"openai-completions\",\n      \"apiKey\": \"{}\",\n"
                              "      \"models\": [{{ \"id\": \"{}\" }}]\n    }}\n  }}\n}}\n",
                              written.url, written.key, written.model),
          .then = "pi --provider paceline --model " + shell_word(server.model)};
}

ClientSettings continue_dev(const ServerPlace& server) {
  const ServerPlace written = within_quotes(server);
  return {.variables = {},
          .file = ".continue/config.yaml",
          .text = fmt::format("name: paceline\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: paceline\n"
                              "    provider: openai\n    model: \"{}\"\n    apiBase: \"{}/v1\"\n    apiKey: \"{}\"\n",
                              written.model, written.url, written.key),
          .then = "cn"};
}

}  // namespace

std::vector<std::string> known_clients() {
  return {"codex", "claude", "opencode", "pi", "continue", "openai", "anthropic"};
}

std::string server_root(std::string url) {
  const auto cut = [&] {
    while (url.ends_with('/')) url.pop_back();
  };
  cut();
  if (url.ends_with("/v1")) url.resize(url.size() - 3);
  cut();
  return url;
}

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:@%+=,").find(c) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

std::optional<ClientSettings> client_settings(std::string_view client, const ServerPlace& server) {
  if (client == "codex") return codex(server);
  if (client == "claude") return claude(server);
  if (client == "opencode") return opencode(server);
  if (client == "pi") return pi(server);
  if (client == "continue") return continue_dev(server);
  ClientSettings made;
  if (client == "openai") {
    made.variables = {{"OPENAI_BASE_URL", server.url + "/v1"}, {"OPENAI_API_KEY", server.key}};
  } else if (client == "anthropic") {
    made.variables = {{"ANTHROPIC_BASE_URL", server.url}, {"ANTHROPIC_API_KEY", server.key}};
  } else {
    return std::nullopt;
  }
  return made;
}

}  // namespace paceline
