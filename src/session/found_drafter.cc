#include "session/found_drafter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/regular_file.h"
#include "model/gemma4/backend_limits.h"
#include "model/gemma4/mtp_binding.h"
#include "speculate/dflash/dflash_drafter.h"
#include "speculate/mtp/mtp_drafter.h"
#include "weights/gguf/gguf_checkpoint.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAssistant = "-assistant", kDflash = "-DFlash";
// Who publishes most DFlash drafters, under the names of their targets.
constexpr std::string_view kDflashAuthors = "z-lab";
constexpr size_t kMaxConfigBytes = 4u << 20;

struct HubName {
  std::string org, name;
};

// …/models--org--name/snapshots/commit; "": not in a cache.
HubName hub_name(const fs::path& target) {
  constexpr std::string_view kBegin = "models--", kBetween = "--";
  const std::string folder = target.parent_path().parent_path().filename().string();
  if (target.parent_path().filename() != "snapshots" || !folder.starts_with(kBegin)) return {};
  const std::string id = folder.substr(kBegin.size());
  const size_t border = id.find(kBetween);
  if (border == std::string::npos) return {};
  return {id.substr(0, border), id.substr(border + kBetween.size())};
}

Status named(const fs::path& folder, const Status& status) {
  if (status.ok()) return status;
  return Error{fmt::format("{}: {}", folder.string(), status.error().message)};
}

}  // namespace

DraftedBy kind_of_drafter(const fs::path& folder) {
  const auto config = read_file(folder / "config.json", kMaxConfigBytes);
  return config.ok() && is_dflash_config(*config) ? DraftedBy::dflash : DraftedBy::mtp;
}

std::vector<fs::path> drafter_places(const fs::path& target, const HubCaches& caches) {
  std::error_code error;
  // A file of a cache is a link to one without a name, and without neighbours.
  const bool is_file = fs::is_regular_file(target, error);
  const fs::path folder = is_file ? fs::absolute(target, error).parent_path() : target;
  fs::path whole = fs::weakly_canonical(folder, error);
  if (error) whole = folder;
  if (is_file) whole /= target.filename();
  const fs::path beside = whole.parent_path();
  const std::string name = whole.filename().string();
  std::vector<fs::path> places{whole / "assistant", beside / (name + std::string(kAssistant)), beside / "assistant",
                               whole / "dflash",    beside / (name + std::string(kDflash)),    beside / "dflash"};
  if (is_gguf_place(whole))
    for (fs::path& drafter : gguf_drafters_beside(whole)) places.push_back(std::move(drafter));
  const HubName hub = hub_name(fs::is_directory(whole, error) ? whole : beside);
  if (hub.name.empty()) return places;
  for (const std::string& id :
       {fmt::format("{}/{}{}", hub.org, hub.name, kAssistant), fmt::format("{}/{}{}", hub.org, hub.name, kDflash),
        fmt::format("{}/{}{}", kDflashAuthors, hub.name, kDflash)})
    if (auto cached = resolve_model(id, caches); cached.ok()) places.push_back(std::move(*cached));
  return places;
}

Result<FoundDrafter> FoundDrafter::load(const fs::path& folder, Forward& target, ThreadPool& pool, kernels::Ops& ops) {
  if (kind_of_drafter(folder) == DraftedBy::dflash) {
    TRY_ASSIGN(auto weights, load_dflash(folder, *target.weights(), pool));
    TRY(named(folder, check_backend(weights->config, ops)));
    return FoundDrafter(folder, std::move(weights), target);
  }
  TRY_ASSIGN(auto weights, load_mtp(folder, pool));
  if (const Status fits = check_fits(weights->config, *target.weights()); !fits.ok()) {
    return Error{fmt::format("{}: does not fit the model: {}", folder.string(), fits.error().message)};
  }
  TRY(named(folder, check_limits(*weights, ops.limits())));
  return FoundDrafter(folder, std::move(weights), target);
}

std::vector<FoundDrafter> FoundDrafter::find(const fs::path& target_folder, Forward& target, ThreadPool& pool,
                                             kernels::Ops& ops, std::string* passed_by) {
  std::vector<FoundDrafter> all;
  for (const fs::path& place : drafter_places(target_folder, HubCaches::from_environment())) {
    std::error_code error;
    if (!fs::exists(place / "config.json", error) && !is_gguf_place(place)) continue;
    const DraftedBy kind = kind_of_drafter(place);
    if (std::any_of(all.begin(), all.end(), [&](const FoundDrafter& one) { return one.kind() == kind; })) continue;
    auto found = load(place, target, pool, ops);
    if (found.ok()) {
      all.push_back(std::move(*found));
    } else if (passed_by != nullptr) {
      *passed_by += fmt::format("; {}", found.error().message);
    }
  }
  return all;
}

DraftedBy FoundDrafter::kind() const { return weights_.index() == 0 ? DraftedBy::mtp : DraftedBy::dflash; }

const MtpWeights* FoundDrafter::mtp() const {
  const auto* found = std::get_if<0>(&weights_);
  return found != nullptr ? found->get() : nullptr;
}

std::unique_ptr<Drafter> FoundDrafter::drafter() const {
  if (kind() == DraftedBy::dflash) return std::make_unique<DflashDrafter>(dflash_forward(DflashForward::Arranged::now));
  return std::make_unique<MtpDrafter>(std::make_unique<MtpForward>(
      *std::get_if<0>(&weights_), as_gemma4(target_->weights()), target_->ops(), target_->precision()));
}

std::unique_ptr<DflashForward> FoundDrafter::dflash_forward(DflashForward::Arranged arranged) const {
  return std::make_unique<DflashForward>(std::get<1>(weights_), *target_, arranged);
}

}  // namespace paceline
