// A model's weights, bound, as those see them who need not know its family. Immutable once made, shared between
// engines.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "kernels/ops.h"
#include "model/config.h"
#include "state/kv_formats.h"
#include "state/state_kind.h"
#include "tensor/matrix.h"

namespace paceline {

class Forward;

// What unquantised matrices are multiplied with, and what keys and values are kept in unless told. Quantised matrices
// always take activations quantised to 8 bits per row and group.
enum class Precision : uint8_t { f32, bf16 };

inline DType kv_dtype_of(Precision precision) { return precision == Precision::f32 ? DType::f32 : DType::bf16; }

// Layers done and in all, the head counting as one. False: nobody wants it any more.
using PlaceProgress = std::function<bool(size_t, size_t)>;

// What a drafter without an embedding and a head of its own borrows of its target.
struct LentEnds {
  const Matrix* embedding = nullptr;  // [vocab, hidden]; none: this family lends nothing
  const Matrix* head = nullptr;       // [vocab, hidden]
  float embedding_scale = 1;          // that the target's own rows are multiplied with
  float softcap = 0;                  // of its logits; 0: none
  int32_t layers = 0;
};

class ModelWeights : public std::enable_shared_from_this<ModelWeights> {
 public:
  virtual ~ModelWeights() = default;

  [[nodiscard]] virtual const ModelConfig& facts() const = 0;
  // What its layers remember of a sequence.
  [[nodiscard]] virtual ModelState state() const = 0;
  // Whether a backend's kernels take a model of this shape: asked when a model is loaded, so that a file that asks too
  // much is refused in words.
  [[nodiscard]] virtual Status check(const kernels::Limits& limits) const = 0;
  // As a backend reads them best (kernels::Ops::place): the same weights where nothing had to be done, or they were
  // placed already. None: the progress said so.
  [[nodiscard]] virtual std::shared_ptr<const ModelWeights> placed_for(kernels::Ops& ops,
                                                                       const PlaceProgress& progress = {}) const = 0;
  // Places them, too, where that was not done. The backend outlives it. kv: what check_formats() allows; none: what the
  // precision says.
  [[nodiscard]] virtual std::unique_ptr<Forward> make_forward(kernels::Ops& ops, Precision precision,
                                                              const std::optional<KvFormats>& kv = {}) const = 0;

  // As they are placed.
  [[nodiscard]] virtual LentEnds lent_ends() const { return {}; }

  // Bytes a plain decode step of one row reads: every matrix once, of the experts only those chosen, one row of
  // each embedding.
  [[nodiscard]] virtual size_t bytes_per_decode() const = 0;
  [[nodiscard]] virtual size_t total_bytes() const = 0;

 protected:
  ModelWeights() = default;
  ModelWeights(const ModelWeights&) = default;
  ModelWeights& operator=(const ModelWeights&) = default;
};

}  // namespace paceline
