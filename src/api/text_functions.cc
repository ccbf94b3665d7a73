// paceline.h: conversations, texts and tokens.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <span>

#include "api/ask.h"
#include "api/handles.h"
#include "api/structs.h"

namespace paceline::api {
namespace {

Outcome render_text(const paceline_model* model, const paceline_chat* given, char** text) {
  if (model == nullptr || text == nullptr) return invalid("model and text must not be NULL");
  paceline_chat chat = default_chat();
  if (Outcome wrong = take_struct(given, "chat", chat); !wrong.ok()) return wrong;
  std::string rendered;
  if (Outcome wrong = render(*model->running, chat, rendered); !wrong.ok()) return wrong;
  *text = handed_out(rendered);
  return {};
}

Outcome tokenize(const RunningModel& model, std::string_view text, bool add_special, int32_t** ids, size_t* count) {
  if (const Status fits = Tokenizer::check_size(text.size()); !fits.ok()) return invalid(fits.error().message);
  const std::vector<TokenId> made = model.text().tokenizer.encode(text, add_special);
  auto* copy = static_cast<int32_t*>(std::malloc(std::max<size_t>(made.size(), 1) * sizeof(int32_t)));
  if (copy == nullptr) return {PACELINE_FAILED, {}};
  std::copy(made.begin(), made.end(), copy);
  *ids = copy;
  *count = made.size();
  return {};
}

Outcome detokenize(const RunningModel& model, std::span<const TokenId> ids, bool skip_special, char** text,
                   size_t* text_bytes) {
  const int32_t vocab = model.text().loaded.config.vocab;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocab) continue;
    return invalid(fmt::format("ids[{}] must be from 0 to {}, not {}", i, vocab - 1, ids[i]));
  }
  const std::string made = model.text().tokenizer.decode(ids, skip_special);
  *text = handed_out(made);
  if (text_bytes != nullptr) *text_bytes = made.size();
  return {};
}

}  // namespace
}  // namespace paceline::api

using namespace paceline::api;

paceline_result paceline_render(const paceline_model* model, const paceline_chat* chat, char** text, char** problem) {
  if (text != nullptr) *text = nullptr;
  return guarded(problem, [&] { return render_text(model, chat, text); });
}

paceline_result paceline_tokenize(const paceline_model* model, const char* text, size_t text_bytes, int32_t add_special,
                                  int32_t** ids, size_t* count, char** problem) {
  if (ids != nullptr) *ids = nullptr;
  if (count != nullptr) *count = 0;
  return guarded(problem, [&] {
    if (model == nullptr || text == nullptr || ids == nullptr || count == nullptr) {
      return invalid("model, text, ids and count must not be NULL");
    }
    const size_t bytes = text_bytes == SIZE_MAX ? std::strlen(text) : text_bytes;
    return tokenize(*model->running, {text, bytes}, add_special != 0, ids, count);
  });
}

paceline_result paceline_detokenize(const paceline_model* model, const int32_t* ids, size_t count, int32_t skip_special,
                                    char** text, size_t* text_bytes, char** problem) {
  if (text != nullptr) *text = nullptr;
  if (text_bytes != nullptr) *text_bytes = 0;
  return guarded(problem, [&]() -> Outcome {
    if (model == nullptr || text == nullptr || (ids == nullptr && count > 0)) {
      return invalid("model, ids and text must not be NULL");
    }
    return detokenize(*model->running, {ids, count}, skip_special != 0, text, text_bytes);
  });
}
