#include "session/engine_request.h"

#include <random>

#include "session/prompt_checks.h"

namespace paceline {
namespace {

uint64_t new_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

int32_t context_of(const TextModel& model, int32_t asked) { return asked > 0 ? asked : model.loaded.config.context; }

}  // namespace

Result<std::string> render_conversation(const TextModel& model, const ChatRequest& chat) {
  if (!model.has_chat()) return Error{model.why_no_chat()};
  return model.chat->render_request(chat);
}

Result<std::vector<TokenId>> encode_chat(const TextModel& model, const ChatRequest& chat) {
  TRY_ASSIGN(const std::string text, render_conversation(model, chat));
  TRY(Tokenizer::check_size(text.size()));
  return model.tokenizer.encode(text, false);
}

Result<MediaPrompt> encode_chat(const TextModel& model, const ChatRequest& chat, std::span<const Medium> media) {
  if (!model.has_chat()) return Error{model.why_no_chat()};
  TRY_ASSIGN(const std::string text, model.chat->render_request(chat));
  return encode_with_media(model, text, false, media);
}

Status check_prompt(const TextModel& model, std::span<const TokenId> prompt, int32_t context) {
  const ModelConfig& config = model.loaded.config;
  if (prompt.empty()) return Error{"the prompt has no tokens"};
  TRY(check_ids(prompt, config.vocab));
  return check_length(prompt.size(), context_of(model, context), config.context);
}

Result<Request> make_request(const TextModel& model, std::vector<TokenId> prompt, const Wishes& wishes) {
  const ModelConfig& config = model.loaded.config;
  Request request;
  request.prompt = std::move(prompt);
  request.sampling = wishes.sampling;
  request.sampling.temperature = wishes.temperature.value_or(config.temperature);
  request.sampling.top_p = wishes.top_p.value_or(config.top_p);
  request.sampling.top_k = wishes.top_k.value_or(config.top_k);
  request.sampling.seed = wishes.seed ? *wishes.seed : new_seed();
  request.sampling.suppressed = model.never_sampled;
  sort_biases(request.sampling.logit_bias);
  TRY(check_settings(request.sampling, config.vocab));

  request.stop_ids = wishes.stop_ids;
  if (!wishes.ignore_eos) {
    request.stop_ids.insert(request.stop_ids.end(), model.stop_ids.begin(), model.stop_ids.end());
  }
  sort_unique(request.stop_ids);
  request.max_tokens = wishes.max_tokens;
  request.context = context_of(model, wishes.context);
  request.choices = wishes.choices;
  request.top_logprobs = wishes.top_logprobs;
  request.max_depth = wishes.max_depth;
  request.depth = wishes.depth;
  request.wants_estimates = wishes.wants_estimates;
  return request;
}

}  // namespace paceline
