#include "weights/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/regular_file.h"
#include "weights/gguf/gguf_checkpoint.h"
#include "weights/gguf/ollama_manifest.h"
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

constexpr const char* kWhatIsRead =
    "a folder in Hugging Face layout, with config.json and weights in .safetensors, or a GGUF file";
constexpr std::string_view kOllama = "ollama:";

bool begins_with_magic(const fs::path& path) {
  const auto file = MappedFile::open(path);
  return file.ok() && begins_as_gguf(file->bytes());
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

// org/name:quant → the two parts; the second may be empty.
std::pair<std::string, std::string> split_quant(std::string_view argument) {
  const size_t colon = argument.rfind(':');
  if (colon == std::string_view::npos) return {std::string(argument), ""};
  return {std::string(argument.substr(0, colon)), std::string(argument.substr(colon + 1))};
}

// The hub's own command, for whoever wants to run it; "": the id has letters that no hub takes.
std::string download_command(const std::string& id, const std::string& quant) {
  if (!quant.empty() && !is_plain_name(quant)) return "";
  const std::string files = quant.empty() ? "" : fmt::format(" --include '*{}*.gguf'", quant);
  return fmt::format("; to fetch it: hf download {}{}", id, files);
}

// Of a model's folder all, or the file whose name has the quantisation in it.
Result<fs::path> quant_in(const fs::path& folder, const std::string& id, const std::string& quant) {
  if (quant.empty()) return folder;
  auto found = gguf_named(folder, quant);
  if (!found.ok()) return Error{found.error().message + download_command(id, quant)};
  return found;
}

Result<fs::path> resolve_id(std::string_view argument, const HubCaches& caches) {
  const auto [id, quant] = split_quant(argument);
  const auto name = cache_folder_name(id);
  if (!name) {
    return Error{fmt::format(
        "{}: expected a folder, or an id like org/name of the local Hugging Face cache, a GGUF file or ollama:NAME",
        argument)};
  }
  std::string looked;
  const auto look_in = [&](const fs::path& place) { looked += (looked.empty() ? " " : ", ") + place.string(); };
  for (const fs::path& cache : caches.folders) {
    const fs::path model = cache / *name;
    if (is_folder(model)) {
      TRY_ASSIGN(const fs::path snapshot, main_snapshot(model));
      return quant_in(snapshot, id, quant);
    }
    look_in(model);
  }
  for (const fs::path& store : caches.lm_studio) {
    if (is_folder(store / id)) return quant_in(store / id, id, quant);
    look_in(store / id);
  }
  return Error{fmt::format(
      "{}: no such folder, and not in the local Hugging Face cache (nothing is downloaded); looked in{}{}", argument,
      looked.empty() ? " no folder: HF_HUB_CACHE, HF_HOME and HOME are not set" : looked, download_command(id, quant))};
}

}  // namespace

HubCaches HubCaches::from_environment() {
  HubCaches caches;
  if (const auto cache = folder_in("HF_HUB_CACHE")) caches.folders.push_back(*cache);
  if (const auto home = folder_in("HF_HOME")) caches.folders.push_back(*home / "hub");
  if (const auto store = folder_in("OLLAMA_MODELS")) caches.ollama.push_back(*store);
  if (const auto home = folder_in("HOME")) {
    caches.folders.push_back(*home / ".cache" / "huggingface" / "hub");
    caches.lm_studio = {*home / ".lmstudio" / "models", *home / ".cache" / "lm-studio" / "models"};
    caches.ollama.push_back(*home / ".ollama" / "models");
  }
  caches.ollama.emplace_back("/usr/share/ollama/.ollama/models");
  return caches;
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

Result<fs::path> resolve_model(std::string_view argument, const HubCaches& caches) {
  const fs::path as_path(argument);
  std::error_code error;
  if (is_folder(as_path)) return as_path;
  if (fs::exists(as_path, error)) {
    if (is_gguf_file(as_path) || begins_with_magic(as_path) || is_ollama_manifest(as_path)) return as_path;
    return Error{fmt::format("{}: expected {}, found another file", argument, kWhatIsRead)};
  }
  if (argument.starts_with(kOllama)) return find_ollama_manifest(argument.substr(kOllama.size()), caches.ollama);
  return resolve_id(argument, caches);
}

}  // namespace paceline
