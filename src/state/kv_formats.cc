#include "state/kv_formats.h"

#include "kernels/kv_rotation.h"

namespace paceline {
namespace {

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::i8: return "q8";
    default: return "bf16";
  }
}

}  // namespace

std::string kv_formats_name(const KvFormats& formats) {
  const DType paged = formats.dtype[StateKind::paged], window = formats.dtype[StateKind::window];
  const std::string name = name_of(paged);
  return paged == window ? name : name + ", sliding " + name_of(window);
}

Status check_formats(const KvFormats& formats, const ModelState& state, const kernels::Limits& limits) {
  for (const LayerState& layer : state.layers) {
    if (layer.drafts || formats.dtype[layer.kind] != DType::i8) continue;
    if (!limits.codes) return Error{"keys and values in q8: this backend does not have them; use bf16"};
    const kernels::HeadShape shape{1, layer.kv_heads, layer.head_dim, DType::i8, layer.joined};
    const int32_t joined = formats.joined && limits.joins(shape) ? layer.joined : 0;
    if (joined == 0 && !limits.codes_apart)
      return Error{"keys and values in q8: this backend has them only where they are joined, in heads of " +
                   std::to_string(limits.joined_head) + " numbers; found heads of " + std::to_string(layer.head_dim) +
                   "; use bf16 there"};
    if (kernels::rotation_block({1, layer.kv_heads, layer.head_dim, DType::i8, joined}) > 0) continue;
    return Error{"keys and values in q8: heads of " + std::to_string(layer.head_dim) + " numbers, " +
                 std::to_string(joined) + " of them rotated, are not blocks of a power of two; use bf16"};
  }
  return Done{};
}

}  // namespace paceline
