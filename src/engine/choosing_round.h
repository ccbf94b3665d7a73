// The end of a step: choices, and which of them stand. Where the backend chooses, all of it is enqueued behind the
// forward; where it does not, the host chooses once the forward is done.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "engine/engine_parts.h"
#include "engine/step_plan.h"
#include "model/forward.h"

namespace paceline {

struct RoundInput {
  const ForwardRows& rows;
  bool drafts_unknown = false;  // the drafts lie in the backend's memory, and the host does not know them
  std::span<const Choosing> choosing;
};

struct RoundTimes {
  double choose_ms = 0;  // apart from waiting for the forward
  double draft_ms = 0;   // of drafts that the host did not wait for
  double idle_ms = 0;    // that a device had nothing to do since the round before
};

class ChoosingRound {
 public:
  // The form that suits the backend.
  static std::unique_ptr<ChoosingRound> make(const EngineParts& parts);

  ChoosingRound() = default;
  ChoosingRound(const ChoosingRound&) = delete;
  ChoosingRound& operator=(const ChoosingRound&) = delete;
  virtual ~ChoosingRound() = default;

  // A new sequence.
  virtual void start(Sequence& seq) = 0;
  // Whether the host need not know drafts before the round is over.
  [[nodiscard]] virtual bool takes_unknown_drafts() const = 0;
  // A step begins; and its drafts have been made, or enqueued.
  virtual void begin() = 0;
  virtual void drafted() = 0;
  // Waits for everything, and fills the sequences' verdicts; and their drafts, where only the backend knew them. After
  // a fault, which is what comes back then, the verdicts mean nothing.
  virtual Result<RoundTimes> run(const RoundInput& input) = 0;
};

}  // namespace paceline
