// What keys and values are kept in.
#pragma once

#include <string>

#include "base/result.h"
#include "kernels/ops.h"
#include "state/state_kind.h"
#include "tensor/dtype.h"

namespace paceline {

// By kind of layer: bf16, f32 for checks, i8 for codes of 8 bits (kernels/kv_rotation.h). Recurrent states are float32,
// always.
struct KvFormats {
  ByKind<DType> dtype;
  bool joined = true;  // as one, where a layer and the backend allow it

  KvFormats(DType both) : KvFormats(both, both) {}  // NOLINT(google-explicit-constructor)
  KvFormats(DType paged, DType window) {
    dtype[StateKind::paged] = paged;
    dtype[StateKind::window] = window;
    dtype[StateKind::draft_paged] = dtype[StateKind::draft_window] = drafts();
    dtype[StateKind::recurrent] = dtype[StateKind::tape] = DType::f32;
  }
  // Of a drafter's own layers.
  [[nodiscard]] DType drafts() const { return dtype[StateKind::paged] == DType::f32 ? DType::f32 : DType::bf16; }

  friend bool operator==(const KvFormats&, const KvFormats&) = default;
};

// As commands and reports call it: "bf16", "q8", or "q8, sliding bf16".
std::string kv_formats_name(const KvFormats& formats);

// Whether a backend keeps this model's keys and values so.
Status check_formats(const KvFormats& formats, const ModelState& state, const kernels::Limits& limits);

}  // namespace paceline
