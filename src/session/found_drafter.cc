#include "session/found_drafter.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "model/gemma4/backend_limits.h"
#include "model/gemma4/mtp_binding.h"
#include "speculate/mtp/mtp_drafter.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = "-assistant";

// …/models--org--name/snapshots/commit → org/name-assistant; "": not in a cache.
std::string drafter_id(const fs::path& target) {
  constexpr std::string_view kBegin = "models--", kBetween = "--";
  const std::string folder = target.parent_path().parent_path().filename().string();
  if (target.parent_path().filename() != "snapshots" || !folder.starts_with(kBegin)) return "";
  const std::string id = folder.substr(kBegin.size());
  const size_t border = id.find(kBetween);
  if (border == std::string::npos) return "";
  return fmt::format("{}/{}{}", id.substr(0, border), id.substr(border + kBetween.size()), kSuffix);
}

}  // namespace

std::vector<fs::path> drafter_places(const fs::path& target, const HubCaches& caches) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(target, error);
  if (error) whole = target;
  const fs::path beside = whole.parent_path();
  std::vector<fs::path> places{whole / "assistant", beside / (whole.filename().string() + std::string(kSuffix)),
                               beside / "assistant"};
  const std::string id = drafter_id(whole);
  if (id.empty()) return places;
  if (auto cached = resolve_model(id, caches); cached.ok()) places.push_back(std::move(*cached));
  return places;
}

FoundDrafter::FoundDrafter(fs::path folder, std::shared_ptr<const MtpWeights> weights, const Forward& target,
                           kernels::Ops& ops)
    : folder_(std::move(folder)),
      weights_(std::move(weights)),
      target_(as_gemma4(target.weights())),
      precision_(target.precision()),
      ops_(&ops) {}

Result<FoundDrafter> FoundDrafter::load(const fs::path& folder, const Forward& target, ThreadPool& pool,
                                        kernels::Ops& ops) {
  TRY_ASSIGN(auto weights, load_mtp(folder, pool));
  if (const Status fits = check_fits(weights->config, *target.weights()); !fits.ok()) {
    return Error{fmt::format("{}: does not fit the model: {}", folder.string(), fits.error().message)};
  }
  if (const Status limits = check_limits(*weights, ops.limits()); !limits.ok())
    return Error{fmt::format("{}: {}", folder.string(), limits.error().message)};
  return FoundDrafter(folder, std::move(weights), target, ops);
}

std::optional<FoundDrafter> FoundDrafter::find(const fs::path& target_folder, const Forward& target, ThreadPool& pool,
                                               kernels::Ops& ops, std::string* passed_by) {
  for (const fs::path& place : drafter_places(target_folder, HubCaches::from_environment())) {
    std::error_code error;
    if (!fs::exists(place / "config.json", error)) continue;
    auto found = load(place, target, pool, ops);
    if (found.ok()) return std::move(*found);
    if (passed_by != nullptr) *passed_by += fmt::format("; {}", found.error().message);
  }
  return std::nullopt;
}

std::unique_ptr<Drafter> FoundDrafter::drafter() const {
  return std::make_unique<MtpDrafter>(std::make_unique<MtpForward>(weights_, target_, *ops_, precision_));
}

}  // namespace paceline
