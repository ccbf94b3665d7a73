#include "session/vision.h"

#include <fmt/format.h>

#include <optional>

#include "base/regular_file.h"
#include "media/decode.h"
#include "model/vision/vision_config_reader.h"
#include "model/vision/vision_limits.h"

namespace paceline {
namespace {

Result<int32_t> picture_budget_of(const Checkpoint& checkpoint) {
  for (const char* name : {"processor_config.json", "preprocessor_config.json"}) {
    TRY_ASSIGN(const std::optional<std::string> text, checkpoint.side_file(name));
    if (text) return read_picture_budget(*text);
  }
  return kDefaultBudget;
}

// Newer checkpoints have it within the one file, older ones in one of its own, and some nowhere.
Result<ClipBudget> clip_budget_of(const Checkpoint& checkpoint) {
  TRY_ASSIGN(const std::optional<std::string> whole, checkpoint.side_file("processor_config.json"));
  if (whole) {
    TRY_ASSIGN(const std::optional<ClipBudget> nested, read_nested_clip_budget(*whole));
    if (nested) return *nested;
  }
  TRY_ASSIGN(const std::optional<std::string> own, checkpoint.side_file("video_preprocessor_config.json"));
  if (own) return read_clip_budget(*own);
  return ClipBudget{};
}

FileBytes bytes_of(const std::string& file) { return {reinterpret_cast<const uint8_t*>(file.data()), file.size()}; }

Error of_file(const std::filesystem::path& file, const Error& why) {
  return {fmt::format("{}: {}", file.string(), why.message), why.code};
}

}  // namespace

Result<Vision::Budgets> Vision::read_budgets(const Checkpoint& checkpoint) {
  Budgets budgets;
  TRY_ASSIGN(budgets.picture, picture_budget_of(checkpoint));
  TRY_ASSIGN(budgets.clip, clip_budget_of(checkpoint));
  return budgets;
}

Result<std::unique_ptr<Vision>> Vision::load(const LoadedModel& model, Precision precision, ThreadPool& pool,
                                             kernels::Ops& ops) {
  const std::string folder = model.checkpoint->folder().string();
  auto weights = load_vision_weights(model.checkpoint, model.config.hidden, pool);
  if (!weights.ok()) return Error{fmt::format("{}: {}", folder, weights.error().message)};
  if (const Status limits = check_limits((*weights)->config, ops.limits()); !limits.ok())
    return Error{fmt::format("{}: {}", folder, limits.error().message)};
  if (model.config.ids.image < 0) return Error{fmt::format("{}: config.json names no image token", folder)};
  const auto budgets = read_budgets(*model.checkpoint);
  if (!budgets.ok()) return Error{fmt::format("{}: {}", folder, budgets.error().message)};
  return std::unique_ptr<Vision>(new Vision(std::move(*weights), ops, precision, *budgets));
}

Result<Patches> Vision::cut(const Picture& picture, int32_t budget) const {
  TRY_ASSIGN(Patches patches,
             make_patches(picture, config().shape, config().side(), budget > 0 ? budget : budgets_.picture));
  TRY(forward_.check(patches));
  return patches;
}

Result<Patches> Vision::read(FileBytes file, int32_t budget, const PictureLimits& limits) const {
  TRY_ASSIGN(const Picture picture, decode_picture(file, limits));
  return cut(picture, budget);
}

Result<Clip> Vision::read_clip(FileBytes file, int32_t frames, const ClipLimits& limits) const {
  if (frames < 0 || frames > kMostFrames)
    return Error{fmt::format("1 to {} frames may be shown of a clip, not {}", kMostFrames, frames)};
  const FrameWishes wishes{config().shape, config().side(), budgets_.clip.tokens,
                           frames > 0 ? frames : budgets_.clip.frames};
  TRY_ASSIGN(Clip clip, paceline::read_clip(file, wishes, limits));
  for (const Clip::Frame& frame : clip.frames) TRY(forward_.check(*frame.patches));
  return clip;
}

Result<Patches> Vision::read(const std::filesystem::path& file, int32_t budget) const {
  TRY_ASSIGN(const std::string bytes, read_file(file, PictureLimits{}.bytes));
  auto patches = read(bytes_of(bytes), budget);
  if (!patches.ok()) return of_file(file, patches.error());
  return patches;
}

Result<Clip> Vision::read_clip(const std::filesystem::path& file, int32_t frames) const {
  TRY_ASSIGN(const std::string bytes, read_file(file, ClipLimits{}.bytes));
  auto clip = read_clip(bytes_of(bytes), frames);
  if (!clip.ok()) return of_file(file, clip.error());
  return clip;
}

}  // namespace paceline
