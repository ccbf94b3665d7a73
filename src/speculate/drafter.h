// Who guesses the next tokens, for many sequences at once. Guesses are verified by the target and never change what is
// emitted; a drafter may therefore guess in any way, and only its hit rate and its time matter. One that guesses token
// by token and one that guesses a block at a time are the same to whoever asks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sample/settings.h"
#include "state/kv.h"
#include "tensor/dtype.h"

namespace paceline {

// The most drafts of one round, so that what is kept per position has a size.
inline constexpr int32_t kMaxDraftTokens = 16;

// Who it is, for reports.
enum class DraftedBy : uint8_t { ngram, mtp, dflash, another };
inline constexpr size_t kDraftedByKinds = 4;

// What stands when drafts are asked for. Valid during the call only.
struct DraftContext {
  std::span<const TokenId> tokens;  // prompt and output; the newest is chosen but not run yet
  const KvCache* kv = nullptr;      // the target's: holds all of them but the newest
  // [hidden], after the final norm, of the row that chose the newest; the backend's memory
  const float* hidden = nullptr;
  // How the verify will choose, and the number of its first choice: who has logits may choose alike, with the same
  // noise. None: greedily.
  const SampleSettings* sampling = nullptr;
  int64_t output_index = 0;
};

// What a drafter keeps of one sequence.
class DrafterState {
 public:
  DrafterState() = default;
  DrafterState(const DrafterState&) = delete;
  DrafterState& operator=(const DrafterState&) = delete;
  virtual ~DrafterState() = default;
  // Of the rows that stand, the newest ones that the drafter's layers have not been given yet.
  [[nodiscard]] virtual int32_t waiting() const { return 0; }

  // What it keeps in the backend's memory lies in pieces of one size, of the same account as keys and values. Before
  // every step it has been told of so many that Drafter::state_bytes() of all positions that the step runs fit: of all
  // there are, in one order, whenever there are more. Who tells of none has none: then it keeps nothing there.
  virtual void lie_in(std::span<std::byte* const> units, size_t unit_bytes) {
    units_.assign(units.begin(), units.end());
    unit_bytes_ = unit_bytes;
  }
  [[nodiscard]] std::span<std::byte* const> units() const { return units_; }
  [[nodiscard]] size_t unit_bytes() const { return unit_bytes_; }

 private:
  std::vector<std::byte*> units_;
  size_t unit_bytes_ = 0;
};

// One sequence's part of a round of drafting.
struct DraftAsk {
  DraftContext context;
  DrafterState* state = nullptr;  // what start() gave for the sequence
  std::span<TokenId> out;         // as many as are wanted; ids are the target's
  int32_t drafted = 0;            // written: how many there are, in order
  int32_t by = 0;                 // of a drafter that is several: who is asked
  // Written by enqueue(): the first draft's place, and how far behind it the next one lies.
  int32_t first = 0, stride = 0;
};

// Rows of one sequence that a step ran and that stand from now on; what was seen beyond them is taken back.
struct CommittedRows {
  DrafterState* state = nullptr;
  const KvCache* kv = nullptr;
  int32_t length = 0;     // of the sequence's rows, all that stand and have been run
  int32_t first_row = 0;  // of the step's rows: the first of those that are new
  int32_t count = 0;      // how many of them stand
  bool writes = false;    // it has chosen before: nobody takes its last page over, but whole ones
  // Prompt and output; the newest may not have been run yet.
  std::span<const TokenId> standing = {};
  // Of a drafter that is several: the bits of those that are not told (routed_depth.h).
  uint32_t resting = 0;
};

// What layers saw of a step's rows.
struct Taps {
  const float* values = nullptr;  // [tap_layers, rows, hidden], in the backend's memory
  int32_t rows = 0;
};

class Drafter {
 public:
  Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;
  virtual ~Drafter() = default;

  // Several may be one (drafter_set.h); whoever asks says which of them is meant.
  [[nodiscard]] virtual int32_t count() const { return 1; }
  [[nodiscard]] virtual DraftedBy kind(int32_t which) const {
    (void)which;
    return DraftedBy::another;
  }
  // It guesses all drafts in one pass, however many are wanted; others take a pass for each.
  [[nodiscard]] virtual bool guesses_at_once(int32_t which) const {
    (void)which;
    return block_rows() > 0;
  }
  // The most that it guesses at once or one after the other.
  [[nodiscard]] virtual int32_t most_drafts(int32_t which) const {
    (void)which;
    return block_rows() > 0 ? std::min(block_rows(), kMaxDraftTokens) - 1 : kMaxDraftTokens - 1;
  }

  // Layers of the target whose input it wants to see of every row that is run (ForwardInput::tap_layers).
  [[nodiscard]] virtual std::span<const int32_t> tap_layers() const { return {}; }
  // Positions behind what stands that it writes on while it proposes, where the target gave it layers of its own
  // (Forward::add_draft_layers): there is room for as many as the sequence may still have.
  [[nodiscard]] virtual int32_t block_rows() const { return 0; }
  // It takes time of a sequence that it is not asked for: to see what comes to stand.
  [[nodiscard]] virtual bool reads_along(int32_t which) const {
    (void)which;
    return !tap_layers().empty();
  }
  // What it keeps in the backend's memory of a sequence of so many positions.
  [[nodiscard]] virtual size_t state_bytes(int32_t positions) const {
    (void)positions;
    return 0;
  }
  // Another sequence begins, or one that gave its memory up begins again; may be none.
  virtual std::unique_ptr<DrafterState> start() { return nullptr; }

  virtual void propose(std::span<DraftAsk> asks) = 0;
  // The same, but as many as are wanted of each, left in the backend's memory, with nobody waiting for them. None: this
  // drafter's drafts come from the host.
  virtual const TokenId* enqueue(std::span<DraftAsk> asks) {
    (void)asks;
    return nullptr;
  }

  // After each step, with what the layers saw that were asked for.
  virtual void committed(std::span<const CommittedRows> rows, const Taps& taps) {
    (void)rows;
    (void)taps;
  }
};

// One that drafts for each sequence by itself.
class SingleDrafter : public Drafter {
 public:
  void propose(std::span<DraftAsk> asks) final {
    for (DraftAsk& ask : asks) ask.drafted = draft(ask.context, ask.state, ask.out);
  }
  // Writes at most out.size() drafts, in order, and returns how many.
  virtual int32_t draft(const DraftContext& context, DrafterState* state, std::span<TokenId> out) = 0;
};

// A guess that is no token at all goes, with those behind it.
inline void drop_strays(std::vector<TokenId>& drafts, int32_t vocab) {
  const auto stray =
      std::find_if(drafts.begin(), drafts.end(), [&](TokenId draft) { return draft < 0 || draft >= vocab; });
  drafts.erase(stray, drafts.end());
}

}  // namespace paceline
