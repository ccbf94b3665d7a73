#include "cli/serve_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/free_memory.h"
#include "kernels/cuda_device.h"
#include "session/model_list.h"
#include "session/model_path.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

size_t free_bytes(Device device) {
  if (device != Device::cpu) {
    if (const auto found = kernels::find_cuda_device(); found.ok()) return found->free_bytes;
  }
  return free_host_bytes();
}

class Finder {
 public:
  Finder(const ServeOptions& options, size_t budget)
      : options_(options), budget_(budget), caches_(HubCaches::from_environment()) {}

  // -m, or the one that ships with the program where nothing else is named.
  Result<ShelfEntry> main_model() const {
    const std::string &asked = options_.engine.run.model, &random = options_.engine.run.random.shape;
    TRY_ASSIGN(const fs::path folder, random.empty() ? find_model(asked) : find_shipped_model());
    const std::string found = random.empty() ? model_name(asked, folder) : random;
    const std::string& name = options_.server.model_name;
    ShelfEntry entry = entry_of(name.empty() ? found : name, read_model_head(folder, caches_));
    entry.aliases = options_.server.aliases;
    entry.is_pinned = true;
    entry.idle_s = 0;
    entry.has_own_idle = true;
    return entry;
  }

  Result<ShelfEntry> listed(const ModelTable& table) const {
    TRY_ASSIGN(const fs::path folder, find_model(table.model.empty() ? table.name : table.model));
    ShelfEntry entry = entry_of(table.name, read_model_head(folder, caches_));
    entry.aliases = table.aliases;
    if (table.draft) entry.open.draft.draft = *table.draft;
    if (table.kv_bytes > 0) entry.open.engine.kv_bytes = table.kv_bytes;
    entry.open.defaults = table.defaults;
    int32_t& context = entry.open.defaults.context;
    if (options_.server.limits.context > 0) context = 0;  // a flag goes before a table
    if (context > 0) entry.head.context = std::min(entry.head.context, context);
    entry.is_pinned = table.pin;
    entry.open.draft.lazy = entry.open.draft.lazy && !table.pin;
    entry.idle_s = table.idle_s.value_or(entry.idle_s);
    entry.has_own_idle = table.idle_s.has_value();
    return entry;
  }

  [[nodiscard]] std::vector<ShelfEntry> in_folder() const {
    std::vector<ShelfEntry> all;
    if (options_.models.folder.empty()) return all;
    for (const ListedModel& model : list_models_in(options_.models.folder, caches_))
      all.push_back(entry_of(model.name, model));
    return all;
  }

 private:
  [[nodiscard]] ShelfEntry entry_of(std::string name, const ModelHead& head) const {
    ShelfEntry entry;
    entry.name = std::move(name);
    entry.head = head;
    entry.open = options_.engine;
    entry.open.run.model = head.place.string();
    entry.idle_s = options_.models.idle_s;
    if (!options_.models.several()) return entry;
    entry.open.draft.lazy = true;
    // Of several none may have all that is free: what it has is known before it is loaded.
    constexpr size_t kMost = size_t{8} << 30, kShares = 8;
    const size_t least = options_.models.min_kv;
    size_t& kv_bytes = entry.open.engine.kv_bytes;
    if (kv_bytes > 0) return entry;
    const size_t others = needs_of(entry).without_drafter().all();
    const size_t left = budget_ > others ? budget_ - others : 0;
    kv_bytes = std::max(least, std::min({budget_ / kShares, kMost, left}));
    return entry;
  }

  const ServeOptions& options_;
  size_t budget_;
  HubCaches caches_;
};

bool has(const std::vector<ShelfEntry>& entries, const std::string& name) {
  return std::any_of(entries.begin(), entries.end(), [&](const ShelfEntry& entry) { return entry.name == name; });
}

}  // namespace

Result<ServedModels> find_served_models(const ServeOptions& options) {
  ServedModels made;
  made.budget_bytes = options.models.memory;
  if (options.models.several() && made.budget_bytes == 0)
    made.budget_bytes = free_bytes(options.engine.run.device) / 10 * 9;
  const Finder finder(options, made.budget_bytes);
  if (!options.models.several() || !options.engine.run.model.empty()) {
    TRY_ASSIGN(ShelfEntry entry, finder.main_model());
    made.at_start.push_back(entry.name);
    made.entries.push_back(std::move(entry));
  }
  for (const ModelTable& table : options.models.list) {
    auto entry = finder.listed(table);
    if (!entry.ok()) return Error{fmt::format("[models.{}]: {}", table.name, entry.error().message)};
    if (table.load_at_start) made.at_start.push_back(table.name);
    made.entries.push_back(std::move(*entry));
  }
  for (ShelfEntry& entry : finder.in_folder()) {
    if (!has(made.entries, entry.name)) made.entries.push_back(std::move(entry));
  }
  if (made.entries.empty())
    return Error{fmt::format("--models-dir {}: expected folders with models, found none", options.models.folder)};
  return made;
}

}  // namespace paceline
