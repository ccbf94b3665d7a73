#include "session/model_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/folder_entries.h"
#include "session/model_path.h"
#include "weights/gguf/gguf_checkpoint.h"
#include "weights/gguf/ollama_manifest.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

ListedModel listed(std::string name, const fs::path& place, const HubCaches& caches) {
  return {read_model_head(place, caches), std::move(name)};
}

// A folder with a config, or each GGUF model in it under its quantisation's name.
void list_folder(const std::string& name, const fs::path& folder, const HubCaches& caches,
                 std::vector<ListedModel>* out) {
  std::error_code error;
  if (fs::exists(folder / "config.json", error)) {
    out->push_back(listed(name, folder, caches));
    return;
  }
  for (const fs::path& file : gguf_models_in(folder)) {
    const std::string quant = gguf_quant_label(file);
    const bool named = !quant.empty() && gguf_named(folder, quant).ok() && *gguf_named(folder, quant) == file;
    out->push_back(listed(named ? fmt::format("{}:{}", name, quant) : file.string(), file, caches));
  }
}

// models--org--name
void list_cache(const fs::path& cache, const HubCaches& caches, std::vector<ListedModel>* out) {
  constexpr std::string_view kBegin = "models--";
  for (const fs::path& model : folder_entries(cache)) {
    std::string name = model.filename().string();
    if (!name.starts_with(kBegin)) continue;
    name.erase(0, kBegin.size());
    if (const size_t border = name.find("--"); border != std::string::npos) name.replace(border, 2, "/");
    if (const auto snapshot = main_snapshot(model); snapshot.ok()) list_folder(name, *snapshot, caches, out);
  }
}

void list_studio(const fs::path& store, const HubCaches& caches, std::vector<ListedModel>* out) {
  std::error_code error;
  for (const fs::path& org : folder_entries(store)) {
    if (!fs::is_directory(org, error)) continue;
    for (const fs::path& model : folder_entries(org))
      if (fs::is_directory(model, error))
        list_folder(fmt::format("{}/{}", org.filename().string(), model.filename().string()), model, caches, out);
  }
}

// manifests/HOST/NAMESPACE/NAME/TAG
void list_ollama(const fs::path& store, const HubCaches& caches, std::vector<ListedModel>* out) {
  for (const fs::path& host : folder_entries(store / "manifests"))
    for (const fs::path& space : folder_entries(host)) {
      std::string prefix;
      if (host.filename() != kOllamaHost) prefix = host.filename().string() + "/";
      if (!prefix.empty() || space.filename() != kOllamaSpace) prefix += space.filename().string() + "/";
      for (const fs::path& model : folder_entries(space))
        for (const fs::path& tag : folder_entries(model)) {
          const std::string name = fmt::format("{}{}", prefix, model.filename().string());
          out->push_back(listed(fmt::format("ollama:{}:{}", name, tag.filename().string()), tag, caches));
        }
    }
}

bool is_model_place(const fs::path& place) {
  std::error_code error;
  return fs::exists(place / "config.json", error) || !gguf_models_in(place).empty();
}

}  // namespace

std::vector<ListedModel> list_models_in(const fs::path& folder, const HubCaches& caches) {
  std::vector<ListedModel> all;
  std::error_code error;
  for (const fs::path& entry : folder_entries(folder)) {
    const std::string name = entry.filename().string();
    if (!fs::is_directory(entry, error) || name.starts_with('.')) continue;
    if (is_model_place(entry)) {
      list_folder(name, entry, caches, &all);
      continue;
    }
    for (const fs::path& model : folder_entries(entry))
      if (fs::is_directory(model, error))
        list_folder(fmt::format("{}/{}", name, model.filename().string()), model, caches, &all);
  }
  std::erase_if(all, [](const ListedModel& model) { return model.is_drafter; });
  return all;
}

std::vector<ListedModel> list_models(const HubCaches& caches) {
  std::vector<ListedModel> all;
  if (const auto shipped = find_shipped_model(); shipped.ok()) all.push_back(listed("(default)", *shipped, caches));
  for (const fs::path& cache : caches.folders) list_cache(cache, caches, &all);
  for (const fs::path& store : caches.lm_studio) list_studio(store, caches, &all);
  for (const fs::path& store : caches.ollama) list_ollama(store, caches, &all);
  return all;
}

}  // namespace paceline
