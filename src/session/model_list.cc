#include "session/model_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/gemma4/config_reader.h"
#include "model/qwen/config_reader.h"
#include "session/found_drafter.h"
#include "session/model_path.h"
#include "weights/gguf/gguf_checkpoint.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// What most of the bytes are.
std::string format_of_most(const Checkpoint& checkpoint) {
  std::map<std::string, size_t> bytes;
  for (const TensorView& tensor : checkpoint.tensors()) {
    std::string name = in_blocks(tensor.blocks) ? weight_format_name(tensor.blocks) : dtype_name(tensor.dtype);
    bytes[std::move(name)] += tensor.bytes;
  }
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? "" : most->first;
}

struct Look {
  std::string type, format_note;
  bool is_drafter = false;
};

Status look_at(const Checkpoint& opened, Look* look) {
  look->is_drafter = is_assistant_config(opened.config_json());
  if (look->is_drafter) {
    look->type = "gemma4_assistant";
    return Done{};
  }
  if (qwen::is_qwen_config(opened.config_json())) {
    TRY_ASSIGN(const auto config, qwen::read_config(opened.config_json(), ""));
    look->type = config.model_type;
    if (config.quant_bits > 0) look->format_note = fmt::format("{} bits", config.quant_bits);
    return Done{};
  }
  TRY_ASSIGN(const auto config, read_config(opened.config_json(), ""));
  look->type = config.model_type;
  if (config.quant_bits > 0) look->format_note = fmt::format("{} bits", config.quant_bits);
  return Done{};
}

void add_drafter_name(ListedModel* model, const HubCaches& caches) {
  std::error_code error;
  for (const fs::path& place : drafter_places(model->place, caches)) {
    if (!fs::exists(place / "config.json", error) && !is_gguf_place(place)) continue;
    model->drafter = place.filename().string();
    return;
  }
}

ListedModel listed(std::string name, const fs::path& place, const HubCaches& caches) {
  ListedModel model;
  model.name = std::move(name);
  model.place = place;
  Look look;
  const auto opened = Checkpoint::open(place, [&](const Checkpoint& checkpoint) { return look_at(checkpoint, &look); });
  model.type = look.type;
  model.is_drafter = look.is_drafter;
  if (!opened.ok()) {
    model.problem = opened.error().message;
    return model;
  }
  model.format = look.format_note.empty() ? format_of_most(**opened) : look.format_note;
  for (const MappedFile& file : (*opened)->files()) model.bytes += file.bytes().size();
  if (!model.is_drafter) add_drafter_name(&model, caches);
  return model;
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
  for (const fs::path& model : entries_of(cache)) {
    std::string name = model.filename().string();
    if (!name.starts_with(kBegin)) continue;
    name.erase(0, kBegin.size());
    if (const size_t border = name.find("--"); border != std::string::npos) name.replace(border, 2, "/");
    if (const auto snapshot = main_snapshot(model); snapshot.ok()) list_folder(name, *snapshot, caches, out);
  }
}

void list_studio(const fs::path& store, const HubCaches& caches, std::vector<ListedModel>* out) {
  std::error_code error;
  for (const fs::path& org : entries_of(store)) {
    if (!fs::is_directory(org, error)) continue;
    for (const fs::path& model : entries_of(org))
      if (fs::is_directory(model, error))
        list_folder(fmt::format("{}/{}", org.filename().string(), model.filename().string()), model, caches, out);
  }
}

// manifests/HOST/NAMESPACE/NAME/TAG
void list_ollama(const fs::path& store, const HubCaches& caches, std::vector<ListedModel>* out) {
  const fs::path registry = store / "manifests" / "registry.ollama.ai";
  for (const fs::path& space : entries_of(registry))
    for (const fs::path& model : entries_of(space))
      for (const fs::path& tag : entries_of(model)) {
        const std::string prefix = space.filename() == "library" ? "" : space.filename().string() + "/";
        out->push_back(listed(fmt::format("ollama:{}{}:{}", prefix, model.filename().string(), tag.filename().string()),
                              tag, caches));
      }
}

}  // namespace

std::vector<ListedModel> list_models(const HubCaches& caches) {
  std::vector<ListedModel> all;
  if (const auto shipped = find_shipped_model(); shipped.ok()) all.push_back(listed("(default)", *shipped, caches));
  for (const fs::path& cache : caches.folders) list_cache(cache, caches, &all);
  for (const fs::path& store : caches.lm_studio) list_studio(store, caches, &all);
  for (const fs::path& store : caches.ollama) list_ollama(store, caches, &all);
  return all;
}

}  // namespace paceline
