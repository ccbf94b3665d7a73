#include "weights/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "weights/mapped_file.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRefBytes = 4096;

std::optional<fs::path> folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

constexpr const char* kWhatIsRead = "a folder in Hugging Face layout, with config.json and weights in .safetensors";

bool is_gguf(const fs::path& file) {
  const std::string kind = file.extension().string();
  return kind == ".gguf" || kind == ".GGUF";
}

bool holds_only_gguf(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "config.json", error)) return false;
  fs::directory_iterator entries(folder, error);
  return !error && std::any_of(begin(entries), end(entries), [](const auto& entry) { return is_gguf(entry.path()); });
}

// Letters, digits, '.', '_' and '-', not beginning with '.': no path can hide in it.
bool is_plain_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), allowed);
}

// org/name → models--org--name; nothing where the argument is not of that form.
std::optional<std::string> cache_folder_name(std::string_view id) {
  const size_t slash = id.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view org = id.substr(0, slash), name = id.substr(slash + 1);
  if (!is_plain_name(org) || !is_plain_name(name)) return std::nullopt;
  return fmt::format("models--{}--{}", org, name);
}

// The snapshot that refs/main points at.
Result<fs::path> main_snapshot(const fs::path& model) {
  TRY_ASSIGN(std::string commit, read_file(model / "refs" / "main", kMaxRefBytes));
  commit.erase(commit.find_last_not_of(" \t\r\n") + 1);
  if (!is_plain_name(commit)) {
    return Error{fmt::format("{}: expected a commit, found \"{}\"", (model / "refs" / "main").string(), commit)};
  }
  fs::path snapshot = model / "snapshots" / commit;
  if (!is_folder(snapshot))
    return Error{fmt::format("{}: expected a folder, as refs/main names it", snapshot.string())};
  return snapshot;
}

}  // namespace

HubCaches HubCaches::from_environment() {
  HubCaches caches;
  if (const auto cache = folder_in("HF_HUB_CACHE")) caches.folders.push_back(*cache);
  if (const auto home = folder_in("HF_HOME")) caches.folders.push_back(*home / "hub");
  if (const auto home = folder_in("HOME")) caches.folders.push_back(*home / ".cache" / "huggingface" / "hub");
  return caches;
}

Result<fs::path> resolve_model(std::string_view argument, const HubCaches& caches) {
  const fs::path as_path(argument);
  std::error_code error;
  const bool folder = is_folder(as_path);
  if (folder ? holds_only_gguf(as_path) : fs::exists(as_path, error) && is_gguf(as_path)) {
    return Error{fmt::format("{}: GGUF is not read yet; expected {}", argument, kWhatIsRead)};
  }
  if (folder) return as_path;
  if (fs::exists(as_path, error)) return Error{fmt::format("{}: expected {}, found a file", argument, kWhatIsRead)};
  const auto name = cache_folder_name(argument);
  if (!name) {
    return Error{
        fmt::format("{}: expected a folder, or an id like org/name of the local Hugging Face cache", argument)};
  }
  std::string looked;
  for (const fs::path& cache : caches.folders) {
    const fs::path model = cache / *name;
    if (is_folder(model)) return main_snapshot(model);
    looked += fmt::format("\n  {}", model.string());
  }
  return Error{
      fmt::format("{}: no such folder, and not in the local Hugging Face cache (nothing is downloaded); looked in{}",
                  argument, looked.empty() ? " no folder: HF_HUB_CACHE, HF_HOME and HOME are not set" : looked)};
}

}  // namespace paceline
