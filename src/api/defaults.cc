// What every setting is where the caller says nothing.
#include "api/structs.h"
#include "engine/engine_settings.h"

namespace paceline::api {

paceline_open_options default_open_options() {
  const EngineSettings engine;
  paceline_open_options options{};
  options.size = sizeof(options);
  options.vision = PACELINE_VISION_IF_POSSIBLE;
  options.depth = -1;
  options.keep_prefixes = engine.keeps_prefixes ? 1 : 0;
  options.picture_bytes = engine.feature_bytes;
  options.batch_rows = engine.batch_rows;
  options.chunk_rows = engine.chunk_rows;
  options.chunk_rows_beside = engine.chunk_rows_beside;
  options.max_running = engine.most_running;
  options.queue_length = engine.queue_length;
  options.latency_ms = -1;
  options.queue_bytes = engine.queue_bytes;
  options.reserve_tokens = engine.reserve_tokens;
  return options;
}

paceline_chat default_chat() {
  paceline_chat chat{};
  chat.size = sizeof(chat);
  chat.thinking = -1;
  return chat;
}

paceline_medium default_medium() {
  paceline_medium medium{};
  medium.size = sizeof(medium);
  return medium;
}

paceline_request default_request() {
  paceline_request request{};
  request.size = sizeof(request);
  request.prompt_bytes = SIZE_MAX;
  request.max_tokens = 512;
  request.temperature = request.top_p = -1;
  request.top_k = -1;
  request.repetition_penalty = 1;
  request.choices = 1;
  request.top_logprobs = -1;
  request.max_depth = -1;
  request.depth = -1;
  return request;
}

}  // namespace paceline::api

using namespace paceline::api;

void paceline_open_options_init(paceline_open_options* options, size_t size) {
  init_struct(default_open_options(), options, size);
}
void paceline_chat_init(paceline_chat* chat, size_t size) { init_struct(default_chat(), chat, size); }
void paceline_medium_init(paceline_medium* medium, size_t size) { init_struct(default_medium(), medium, size); }
void paceline_request_init(paceline_request* request, size_t size) { init_struct(default_request(), request, size); }
