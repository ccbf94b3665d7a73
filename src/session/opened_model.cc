#include "session/opened_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "session/drafted_by.h"
#include "session/kv_size.h"
#include "session/largest_steps.h"
#include "session/model_path.h"
#include "speculate/scripted/scripted_drafter.h"
#include "state/kv.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

void say(const OpenOptions& options, const std::string& text) {
  if (options.tell && !text.empty()) options.tell(text);
}

Status go_on(const OpenOptions& options) {
  if (options.gives_up && options.gives_up()) return Error{"given up: nobody wants it any more"};
  return Done{};
}

Status begin_stage(const OpenOptions& options, const char* what) {
  if (options.stage) options.stage(what);
  return go_on(options);
}

void set_defaults(const ModelDefaults& defaults, TextModel& text) {
  ModelConfig& config = text.loaded.config;
  if (defaults.context > 0) config.context = std::min(config.context, defaults.context);
  config.temperature = defaults.temperature.value_or(config.temperature);
  config.top_p = defaults.top_p.value_or(config.top_p);
  config.top_k = defaults.top_k.value_or(config.top_k);
}

Status check_range(const char* what, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most) return Done{};
  return Error{fmt::format("{} must be from {} to {}, not {}", what, least, most, found)};
}

Status check_draft(const DraftOptions& options) {
  if (options.draft.empty()) return Error{"draft must be auto, ngram, none or a drafter's folder, not empty"};
  if (options.kind != "auto" && options.kind != "mtp" && options.kind != "dflash") {
    return Error{fmt::format("draft_kind must be auto, mtp or dflash, not {}", options.kind)};
  }
  if (options.kind != "auto" && (options.draft == "ngram" || options.draft == "none")) {
    return Error{fmt::format("draft_kind {} wants a drafter's folder or auto, not {}", options.kind, options.draft)};
  }
  if (is_scripted(options.draft)) TRY(read_script(options.draft));
  return check_range("depth", options.depth.value_or(0), 0, kMaxDraftTokens);
}

}  // namespace

KvFormats kv_formats(const RunOptions& options) {
  const auto dtype = [&](KvChoice choice) {
    if (choice == KvChoice::automatic) return kv_dtype_of(options.precision);
    return choice == KvChoice::q8 ? DType::i8 : DType::bf16;
  };
  return {dtype(options.kv), dtype(options.kv_sliding)};
}

Status check_open_options(const OpenOptions& options) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const EngineSettings& engine = options.engine;
  TRY(check_range("threads", options.run.threads, 0, 1024));
  TRY(check_draft(options.draft));
  TRY(check_range("batch_rows", engine.batch_rows, 1, kMaxImageRows));
  TRY(check_range("chunk_rows", engine.chunk_rows, 0, kMostForwardRows));
  TRY(check_range("chunk_rows_beside", engine.chunk_rows_beside, 1, kMaxForwardRows));
  if (engine.latency_ms && !(*engine.latency_ms >= 0 && std::isfinite(*engine.latency_ms)))
    return Error{fmt::format("latency_ms must be 0 or more and finite, not {}", *engine.latency_ms)};
  TRY(check_range("draft_up_to_running", engine.speculates_up_to_running, 0, kMost));
  TRY(check_range("draft_up_to_context", engine.speculates_up_to_context, 0, kMost));
  if (!(engine.speculates_up_to_kv >= 0 && engine.speculates_up_to_kv <= 1))
    return Error{fmt::format("draft_up_to_kv must be from 0 to 1, not {}", engine.speculates_up_to_kv)};
  TRY(check_range("reserve_tokens", engine.reserve_tokens, 0, kMost));
  TRY(check_range("max_running", engine.most_running, 1, kMost));
  return check_range("queue_length", engine.queue_length, 1, kMost);
}

Result<std::unique_ptr<OpenedModel>> OpenedModel::open(const OpenOptions& options) {
  TRY(check_open_options(options));
  std::unique_ptr<OpenedModel> made(new OpenedModel());
  TRY(begin_stage(options, "weights"));
  TRY(made->load(options));
  TRY(begin_stage(options, "drafter"));
  TRY(made->add_drafter(options));
  TRY(begin_stage(options, "warm-up"));
  TRY(made->add_vision(options));
  TRY(made->add_engine(options));
  return made;
}

Status OpenedModel::load(const OpenOptions& options) {
  TRY_ASSIGN(folder_, options.run.random.shape.empty() ? find_model(options.run.model) : find_shipped_model());
  TRY_ASSIGN(machine_, Machine::make({.threads = options.run.threads, .device = options.run.device}));
  const auto progress = [&](auto done, auto total) {
    if (options.progress) options.progress(static_cast<int64_t>(done), static_cast<int64_t>(total));
  };
  const RandomModel& random = options.run.random;
  TRY_ASSIGN(TextModel text, random.shape.empty() ? load_text_model(folder_, machine_->pool(), progress)
                                                  : make_random_text_model(random, machine_->pool(), options.tell));
  TRY(text.loaded.weights->check(machine_->ops().limits()));
  const KvFormats kv = kv_formats(options.run);
  if (const Status has = check_formats(kv, text.loaded.weights->state(), machine_->ops().limits()); !has.ok())
    return Error{has.error().message, kBadSetting};
  // Reads and writes every quantised weight once, where the kernels want them in their own order.
  TRY(go_on(options));
  auto placed = text.loaded.weights->placed_for(machine_->ops(), [&](size_t done, size_t total) {
    progress(done, total);
    return !options.gives_up || !options.gives_up();
  });
  TRY(machine_->ops().wait());
  if (placed == nullptr) return Error{"given up: nobody wants it any more"};
  text.loaded.weights = std::move(placed);
  set_defaults(options.defaults, text);
  text_.emplace(std::move(text));
  forward_ = text_->loaded.weights->make_forward(machine_->ops(), options.run.precision, kv);
  description_.kernels = machine_->kernels_name();
  description_.precision = options.run.precision == Precision::f32 ? "f32" : "bf16";
  description_.kv = kv_formats_name(kv);
  description_.threads = machine_->threads();
  return Done{};
}

Status OpenedModel::add_drafter(const OpenOptions& options) {
  TRY_ASSIGN(drafting_, Drafting::make(options.draft, {folder_, *forward_, options.run.random}, *machine_));
  say(options, drafting_->finding());
  std::string names, kinds;
  for (const Drafting::Part& part : drafting_->parts()) {
    if (part.folder.empty()) continue;
    const char* between = names.empty() ? "" : " + ";
    names += between + part.folder.filename().string();
    kinds += between + std::string(drafted_by_name(part.kind));
    description_.drafter_folders.push_back(part.folder);
  }
  const std::string otherwise = drafting_->parts().empty() ? "none" : "ngram";
  description_.drafter = names.empty() ? otherwise : names;
  description_.drafter_kind = kinds.empty() ? otherwise : kinds;
  return Done{};
}

Status OpenedModel::add_vision(const OpenOptions& options) {
  if (options.vision == VisionUse::none || !options.run.random.shape.empty()) return Done{};
  const bool needed = options.vision == VisionUse::needed;
  if (!needed && text_->loaded.config.ids.image < 0) return Done{};
  auto vision = Vision::load(text_->loaded, options.run.precision, machine_->pool(), machine_->ops());
  if (vision.ok()) {
    vision_ = std::move(*vision);
  } else if (needed) {
    return vision.error();
  } else {
    say(options, fmt::format("no pictures: {}", vision.error().message));
  }
  return Done{};
}

Status OpenedModel::add_engine(const OpenOptions& options) {
  EngineSettings& settings = description_.settings;
  settings = options.engine;
  settings.fixed_depth = options.draft.depth;
  // A device is only filled by many rows; a processor by few.
  constexpr float kDeviceLatency_ms = 50;
  const bool on_device = machine_->ops().limits().own_memory;
  if (!settings.latency_ms && on_device) settings.latency_ms = kDeviceLatency_ms;
  if (settings.latency_ms == 0.0f) settings.latency_ms.reset();
  if (settings.chunk_rows == 0) settings.chunk_rows = on_device ? kMostForwardRows : kMaxForwardRows;
  // A device's memory is dealt out once, and what steps scribble on comes first.
  if (on_device) TRY(run_largest_steps({forward_.get(), drafting_->drafter(), vision_.get()}, settings));
  const bool is_asked_for = settings.kv_bytes != 0;
  if (!is_asked_for)
    settings.kv_bytes = options.one_request ? kv_bytes_for_one(*forward_, drafting_->drafter(), settings)
                                            : automatic_kv_bytes(*forward_, settings);
  if (const Status enough = check_kv_bytes(settings.kv_bytes, *forward_); !enough.ok())
    return Error{enough.error().message, is_asked_for ? kBadSetting : kNoMemory};
  const EngineParts parts{.forward = forward_.get(),
                          .pool = &machine_->pool(),
                          .drafter = drafting_->drafter(),
                          .costs = drafting_->costs(),
                          .observer = options.observer,
                          .vision = vision_ != nullptr ? &vision_->forward() : nullptr,
                          .turns = options.turns};
  engine_ = std::make_unique<Engine>(parts, settings);
  if (const EngineStats stats = engine_->stats(); stats.failed)
    return Error{stats.failure + (on_device ? "" : what_is_free()), kNoMemory};
  return Done{};
}

}  // namespace paceline
