// paceline.h: a model, and what can be known about it.
#include <cstdlib>

#include "api/handles.h"
#include "api/structs.h"
#include "base/one_line.h"

namespace paceline::api {
namespace {

std::string text_or(const char* text, const char* otherwise) { return text != nullptr ? text : otherwise; }

Outcome read_kv(const char* name, int32_t asked, KvChoice& choice) {
  switch (asked) {
    case PACELINE_KV_AUTO: choice = KvChoice::automatic; return {};
    case PACELINE_KV_BF16: choice = KvChoice::bf16; return {};
    case PACELINE_KV_Q8: choice = KvChoice::q8; return {};
    default: return invalid(fmt::format("{} must be one of PACELINE_KV_..., not {}", name, asked));
  }
}

Outcome read_kinds(const paceline_open_options& asked, OpenOptions& options) {
  switch (asked.device) {
    case PACELINE_DEVICE_AUTO: options.run.device = Device::automatic; break;
    case PACELINE_DEVICE_CPU: options.run.device = Device::cpu; break;
    case PACELINE_DEVICE_CUDA: options.run.device = Device::cuda; break;
    default: return invalid(fmt::format("device must be one of PACELINE_DEVICE_..., not {}", asked.device));
  }
  switch (asked.precision) {
    case PACELINE_PRECISION_BF16: options.run.precision = Precision::bf16; break;
    case PACELINE_PRECISION_F32: options.run.precision = Precision::f32; break;
    default: return invalid(fmt::format("precision must be one of PACELINE_PRECISION_..., not {}", asked.precision));
  }
  switch (asked.vision) {
    case PACELINE_VISION_NONE: options.vision = VisionUse::none; break;
    case PACELINE_VISION_IF_POSSIBLE: options.vision = VisionUse::if_possible; break;
    case PACELINE_VISION_NEEDED: options.vision = VisionUse::needed; break;
    default: return invalid(fmt::format("vision must be one of PACELINE_VISION_..., not {}", asked.vision));
  }
  if (Outcome wrong = read_kv("kv", asked.kv, options.run.kv); !wrong.ok()) return wrong;
  if (Outcome wrong = read_kv("kv_sliding", asked.kv_sliding, options.run.kv_sliding); !wrong.ok()) return wrong;
  if (asked.depth < -1) return invalid(fmt::format("depth must be -1 or more, not {}", asked.depth));
  if (asked.depth >= 0) options.draft.depth = asked.depth;
  options.draft.draft = text_or(asked.draft, "auto");
  options.draft.kind = text_or(asked.draft_kind, "auto");
  return {};
}

OpenOptions options_of(const paceline_open_options& asked) {
  OpenOptions options;
  options.run.model = text_or(asked.model, "");
  options.run.threads = asked.threads;
  EngineSettings& engine = options.engine;
  engine.kv_bytes = asked.kv_bytes;
  engine.feature_bytes = asked.picture_bytes;
  engine.keeps_prefixes = asked.keep_prefixes != 0;
  engine.batch_rows = asked.batch_rows;
  engine.chunk_rows = asked.chunk_rows;
  engine.chunk_rows_beside = asked.chunk_rows_beside;
  engine.most_running = asked.max_running;
  engine.queue_length = asked.queue_length;
  engine.speculates_up_to_running = asked.draft_up_to_running;
  engine.speculates_up_to_context = asked.draft_up_to_context;
  engine.speculates_up_to_kv = asked.draft_up_to_kv;
  if (asked.latency_ms != -1) engine.latency_ms = static_cast<float>(asked.latency_ms);
  engine.queue_bytes = asked.queue_bytes;
  engine.reserve_tokens = asked.reserve_tokens;
  options.draft.lazy = asked.lazy_drafter != 0;
  if (asked.on_remark != nullptr) {
    options.tell = [hear = asked.on_remark, user = asked.user](const std::string& text) {
      hear(user, one_line(text).c_str());
    };
  }
  if (asked.on_progress != nullptr) {
    options.progress = [hear = asked.on_progress, user = asked.user](int64_t done, int64_t total) {
      hear(user, done, total);
    };
  }
  return options;
}

Outcome open(const paceline_open_options* given, paceline_model** model) {
  if (model == nullptr) return invalid("model is NULL: there is no place for what is opened");
  *model = nullptr;
  paceline_open_options asked = default_open_options();
  if (given != nullptr) {
    if (Outcome wrong = take_struct(given, "options", asked); !wrong.ok()) return wrong;
  }
  OpenOptions options = options_of(asked);
  if (Outcome wrong = read_kinds(asked, options); !wrong.ok()) return wrong;
  auto handle = std::make_unique<paceline_model>();
  if (Outcome wrong = RunningModel::open(options, handle->running); !wrong.ok()) return wrong;
  *model = handle.release();
  return {};
}

Outcome facts_of(const RunningModel& model, paceline_facts* out) {
  const TextModel& text = model.text();
  const EngineDescription& made = model.opened().description();
  const bool sees = model.opened().vision() != nullptr;
  paceline_facts facts{};
  facts.size = sizeof(facts);
  facts.name = model.name().c_str();
  facts.folder = model.folder().c_str();
  facts.kernels = made.kernels.c_str();
  facts.precision = made.precision.c_str();
  facts.drafter = made.drafter.c_str();
  facts.drafter_kind = made.drafter_kind.c_str();
  facts.kv_bytes = made.settings.kv_bytes;
  facts.context = text.loaded.config.context;
  facts.vocab = text.loaded.config.vocab;
  facts.threads = made.threads;
  facts.has_chat = text.has_chat() ? 1 : 0;
  facts.takes_pictures = sees ? 1 : 0;
  facts.takes_clips = sees && text.loaded.config.ids.video >= 0 ? 1 : 0;
  facts.bos = text.special_tokens.bos.value_or(-1);
  facts.eos = text.special_tokens.eos.value_or(-1);
  facts.kv = made.kv.c_str();
  return fill_struct(facts, "facts", out);
}

Outcome load_of(const RunningModel& model, paceline_load* out) {
  const EngineStats stats = model.stats();
  paceline_load load{};
  load.size = sizeof(load);
  load.kv_bytes = stats.kv_bytes;
  load.kv_used_bytes = stats.used_bytes;
  load.running = stats.running;
  load.waiting = stats.waiting;
  return fill_struct(load, "load", out);
}

}  // namespace
}  // namespace paceline::api

using namespace paceline::api;

const char* paceline_version(void) { return PACELINE_VERSION; }
int32_t paceline_abi_version(void) { return PACELINE_ABI_VERSION; }
void paceline_free(void* handed_out) { take_back(handed_out); }

const char* paceline_result_name(paceline_result result) {
  switch (result) {
    case PACELINE_OK: return "ok";
    case PACELINE_INVALID: return "invalid";
    case PACELINE_NO_MODEL: return "no_model";
    case PACELINE_BUSY: return "busy";
    case PACELINE_CLOSED: return "closed";
    case PACELINE_CANCELLED: return "cancelled";
    case PACELINE_DEADLINE: return "deadline";
    case PACELINE_FAILED: return "failed";
    default: return "unknown";
  }
}

paceline_result paceline_open(const paceline_open_options* options, paceline_model** model, char** problem) {
  return guarded(problem, [&] { return open(options, model); });
}

paceline_result paceline_close(paceline_model* model) {
  if (model == nullptr) return PACELINE_OK;
  const paceline_result result = guarded(nullptr, [&] { return model->running->close(); });
  if (result == PACELINE_OK) delete model;
  return result;
}

paceline_result paceline_model_facts(const paceline_model* model, paceline_facts* facts, char** problem) {
  return guarded(problem, [&] {
    if (model == nullptr) return invalid("model is NULL");
    return facts_of(*model->running, facts);
  });
}

paceline_result paceline_model_load(const paceline_model* model, paceline_load* load, char** problem) {
  return guarded(problem, [&] {
    if (model == nullptr) return invalid("model is NULL");
    return load_of(*model->running, load);
  });
}
