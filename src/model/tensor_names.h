// What a tensor's name alone says about it.
#pragma once

#include <string_view>

namespace paceline {

// Of the vision or audio parts, which the text model does not bind; with or without "model." before it.
constexpr bool belongs_to_media(std::string_view name) {
  if (name.starts_with("model.")) name.remove_prefix(6);
  for (const std::string_view part : {"vision_tower.", "embed_vision.", "vision_embedder.", "audio_tower.",
                                      "embed_audio.", "multi_modal_projector.", "visual."}) {
    if (name.starts_with(part)) return true;
  }
  return false;
}

}  // namespace paceline
