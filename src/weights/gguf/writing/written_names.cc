#include <fmt/format.h>

#include "weights/gguf/writing/written_gemma4.h"
#include "weights/gguf/writing/written_tensor.h"

namespace paceline {
namespace {

// What the format has no place for: sound, and the drafter's shortened head.
bool is_left_out(std::string_view name) {
  for (const char* part : {"audio_tower.", "embed_audio.", "audio_embedder.", "masked_embedding."})
    if (name.find(part) != std::string_view::npos) return true;
  return name.ends_with("rotary_emb.inv_freq");
}

bool is_vision(std::string_view name) {
  return name.find("vision_tower.") != std::string_view::npos ||
         name.find("vision_embedder.") != std::string_view::npos ||
         name.find("embed_vision.") != std::string_view::npos;
}

}  // namespace

Result<WrittenNames> WrittenNames::of(const Checkpoint& checkpoint) {
  WrittenNames names;
  for (const TensorView& tensor : checkpoint.tensors()) {
    const std::string plain = plain_written_name(tensor.name);
    if (is_left_out(plain)) continue;
    TRY(check_written_form(tensor));
    bool placed = false;
    if (is_vision(plain)) {
      GgufVisionName name = gemma4_vision_gguf_name(plain);
      placed = !name.name.empty() && names.vision.emplace(name.name, Vision{&tensor, name.order}).second;
    } else {
      const std::string name = gemma4_gguf_name(plain);
      placed = !name.empty() && names.text.emplace(name, &tensor).second;
    }
    if (!placed) return Error{fmt::format("tensor \"{}\" has no name in GGUF, or one that is taken", tensor.name)};
  }
  return names;
}

const TensorView* WrittenNames::find(const std::string& name) const {
  const auto at = text.find(name);
  return at == text.end() ? nullptr : at->second;
}

std::vector<float> in_gguf_order(const std::vector<float>& values, const std::vector<int64_t>& shape,
                                 GgufVisionName::Order order) {
  if (order == GgufVisionName::Order::same) return values;
  std::vector<float> to(values.size());
  if (order == GgufVisionName::Order::channels_first) {
    const size_t width = static_cast<size_t>(shape.back()), square = width / 3;
    for (size_t row = 0; row < values.size() / width; ++row)
      for (size_t at = 0; at < square; ++at)
        for (size_t c = 0; c < 3; ++c) to[row * width + c * square + at] = values[row * width + at * 3 + c];
    return to;
  }
  const auto count = static_cast<size_t>(shape[0]), axes = static_cast<size_t>(shape[1]);
  const auto width = static_cast<size_t>(shape[2]);
  for (size_t i = 0; i < count; ++i)
    for (size_t a = 0; a < axes; ++a)
      for (size_t k = 0; k < width; ++k) to[(a * count + i) * width + k] = values[(i * axes + a) * width + k];
  return to;
}

}  // namespace paceline
