// Pages of keys and values as operations take them: which positions lie in which, what one takes, where it lies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace paceline::kernels {

// Positions per KV page, and the attention tile: page borders are absolute positions.
inline constexpr int32_t kPageTokens = 64;

// Attention merges pages in chunks of so many, from nothing each, and then the chunks, both in ascending order. A chunk
// is the unit of work, whatever the number of rows and threads.
inline constexpr int32_t kChunkPages = 16;

// The widest head; loading checks it.
inline constexpr int32_t kMaxHeadDim = 512;

// The pages of one layer of one sequence. Position p lies in slot (p / kPageTokens) mod slots, or p / kPageTokens where
// slots is 0. Unless they are joined or in codes,
//   keys:   [kv_head][kPageTokens][head_dim]
//   values: [kv_head][head_dim][kPageTokens], so that both products of attention run along contiguous memory; on CUDA
//           as keys, for it turns them as it loads them
// Memory is dealt out in units of one size, by number; a page of all layers of a kind is a block of some units, which
// lie anywhere. The numbers are the same for all of these layers: a layer only has its own place in a block.
struct KvPages {
  const int32_t* numbers = nullptr;  // [slots, block_units], host memory
  // Ops::next_stamp() of when they last changed: those with one stamp are the same ones. 0: nobody knows.
  uint64_t stamp = 0;
  std::byte* keys = nullptr;    // where the layer's keys would lie if its unit were number 0
  std::byte* values = nullptr;  // likewise
  int64_t unit_bytes = 0;
  int32_t block_units = 1;
  int32_t key_unit = 0, value_unit = 0;  // of a block's units: where the keys lie, where the values
  int32_t slots = 0;

  [[nodiscard]] int32_t slot_of(int32_t page) const { return slots == 0 ? page : page % slots; }
  [[nodiscard]] void* keys_of(int32_t page) const { return keys + offset_of(page, key_unit); }
  [[nodiscard]] void* values_of(int32_t page) const { return values + offset_of(page, value_unit); }

 private:
  [[nodiscard]] int64_t offset_of(int32_t page, int32_t unit) const {
    return numbers[int64_t{slot_of(page)} * block_units + unit] * unit_bytes;
  }
};

// What a page of a layer takes; how it lies inside is the backend's own business. Joined, all of it is where keys are.
struct KvPageBytes {
  size_t keys = 0, values = 0;
};

// Pages that lie one behind the other, each its keys and then its values; numbers: 0, 1, 2 …
inline KvPages pages_in_a_row(void* first, const KvPageBytes& bytes, const int32_t* numbers, int32_t slots = 0) {
  KvPages pages;
  pages.numbers = numbers;
  pages.keys = static_cast<std::byte*>(first);
  pages.values = pages.keys + bytes.keys;
  pages.unit_bytes = static_cast<int64_t>(bytes.keys + bytes.values);
  pages.slots = slots;
  return pages;
}
inline KvPages pages_in_a_row(void* first, size_t each, const int32_t* numbers, int32_t slots = 0) {
  return pages_in_a_row(first, KvPageBytes{each, each}, numbers, slots);
}

// Consecutive rows of one sequence.
struct SeqSpan {
  int32_t first_row = 0;
  int32_t count = 0;
  int32_t first_pos = 0;
  KvPages pages;
};

struct HeadShape {
  int32_t heads = 0, kv_heads = 0, head_dim = 0;
  DType kv_dtype = DType::bf16;  // bf16, f32, or i8: codes with scales (kv_rotation.h)
  // Joined: V is the raw K projection and its norm has no weight, so that a key is the value times k_weight wherever it
  // is not rotated. Pages keep the values and, of the keys, only what is rotated: so many numbers, the first half of
  // them from 0 on, the other half from head_dim / 2 on. 0: keys and values apart.
  int32_t joined = 0;
};

constexpr KvPageBytes kv_page_bytes(const HeadShape& shape) {
  const auto vectors = static_cast<size_t>(shape.kv_heads) * kPageTokens;
  const size_t scale = shape.kv_dtype == DType::i8 ? sizeof(float) : 0;
  const auto bytes_of = [&](int32_t numbers) {
    return static_cast<size_t>(numbers) * dtype_bytes(shape.kv_dtype) + scale;
  };
  if (shape.joined > 0) return {vectors * (bytes_of(shape.head_dim) + bytes_of(shape.joined)), 0};
  return {vectors * bytes_of(shape.head_dim), vectors * bytes_of(shape.head_dim)};
}

}  // namespace paceline::kernels
