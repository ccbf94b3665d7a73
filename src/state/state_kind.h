// The kinds of memory that layers have of a sequence, as a model declares them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/recurrent_ops.h"

namespace paceline {

// paged: keys and values of every position, page by page. window: of the newest ones, in a ring of pages. draft_paged,
// draft_window: likewise, of a drafter's own layers, which see as far as they like. recurrent: one state, which every
// row changes. tape: what the newest rows did to it, row by row, as long as they may be taken back.
enum class StateKind : uint8_t { paged, window, draft_paged, draft_window, recurrent, tape };
inline constexpr std::array kStateKinds{StateKind::paged,        StateKind::window,    StateKind::draft_paged,
                                        StateKind::draft_window, StateKind::recurrent, StateKind::tape};
// Those that have a block for every page; and of them, those of which all are held, and only the newest.
inline constexpr std::array kPageKinds{StateKind::paged, StateKind::window, StateKind::draft_paged,
                                       StateKind::draft_window};
inline constexpr std::array kGrowingKinds{StateKind::paged, StateKind::draft_paged};
inline constexpr std::array kWindowKinds{StateKind::window, StateKind::draft_window};
constexpr bool grows(StateKind kind) { return kind == StateKind::paged || kind == StateKind::draft_paged; }
// A sequence can do without those: it has no drafts of that drafter then.
constexpr bool is_drafters(StateKind kind) { return kind == StateKind::draft_paged || kind == StateKind::draft_window; }

// One of each.
template <typename T>
struct ByKind {
  std::array<T, kStateKinds.size()> each{};
  T& operator[](StateKind kind) { return each[static_cast<size_t>(kind)]; }
  const T& operator[](StateKind kind) const { return each[static_cast<size_t>(kind)]; }
  friend bool operator==(const ByKind&, const ByKind&) = default;
};

// What one layer remembers.
struct LayerState {
  StateKind kind = StateKind::window;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  int32_t kv_layer = 0;  // the layer whose keys and values it reads: itself, or an earlier one
  // Where values are keys that nothing has rotated or weighed, so that both can be kept as one: the numbers of a key
  // that are rotated. 0: they cannot.
  int32_t joined = 0;
  bool drafts = false;             // a drafter's, which are never in codes
  kernels::DeltaShape delta = {};  // of a recurrent one, which has nothing of the above
};

struct ModelState {
  int32_t window = 0;        // positions that layers of that kind see, their own among them
  int32_t draft_window = 0;  // likewise
  std::vector<LayerState> layers;
};

}  // namespace paceline
