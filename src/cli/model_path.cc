#include "cli/model_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace paceline {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Where Hugging Face's own tools keep what they downloaded, by their rules.
fs::path hub_cache() {
  if (const auto cache = environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const auto home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "huggingface" / "hub";
  return fs::path(environment("HOME")) / ".cache" / "huggingface" / "hub";
}

bool is_hub_id(const std::string& text) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_./").find(c) != std::string_view::npos;
  };
  return std::count(text.begin(), text.end(), '/') == 1 && text.front() != '/' && text.front() != '.' &&
         text.back() != '/' && text.find("..") == std::string::npos && std::all_of(text.begin(), text.end(), allowed);
}

// models--org--name/snapshots/<commit>: the commit that refs/main names, or the only one there.
Result<fs::path> find_in_hub_cache(const std::string& id) {
  const fs::path cache = hub_cache();
  std::string name = id;
  name.replace(name.find('/'), 1, "--");
  const fs::path snapshots = cache / ("models--" + name) / "snapshots";
  std::string commit;
  std::ifstream(cache / ("models--" + name) / "refs" / "main") >> commit;
  if (!commit.empty() && is_folder(snapshots / commit)) return snapshots / commit;
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(snapshots, error)) found.push_back(entry.path());
  if (found.size() == 1) return found.front();
  return Error{fmt::format("model {}: no such folder, and not in the Hugging Face cache {}", id, cache.string())};
}

// Installed: beside the program's folder. Built: the source tree that the build folder lies in.
Result<fs::path> find_shipped_model() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> places{folder.parent_path() / "share" / "paceline" / "models" / "default"};
  for (fs::path up = folder; up.has_relative_path(); up = up.parent_path()) places.push_back(up / "models" / "default");
  for (const fs::path& place : places) {
    if (fs::exists(place / "config.json", error)) return place;
  }
  return Error{fmt::format("no model given (-m), and none found beside the program in {}", places.front().string())};
}

}  // namespace

Result<fs::path> find_model(const std::string& asked) {
  const std::string wanted = asked.empty() ? environment("PACELINE_MODEL") : asked;
  if (wanted.empty()) return find_shipped_model();
  if (is_folder(wanted)) return fs::path(wanted);
  if (is_hub_id(wanted)) return find_in_hub_cache(wanted);
  return Error{fmt::format("model {}: no such folder", wanted)};
}

}  // namespace paceline
