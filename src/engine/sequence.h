// One text on its way: what stands is prompt and output; of it, the first kv.length() tokens have been run.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/event.h"
#include "engine/request.h"
#include "kernels/row_buffer.h"
#include "model/forward.h"
#include "sample/choose.h"
#include "sample/device_choice.h"
#include "speculate/counters.h"
#include "speculate/drafter.h"
#include "speculate/routed_depth.h"
#include "state/prefixes.h"

namespace paceline {

using RequestId = uint64_t;

// A request that was taken on; shared by its choices.
struct Accepted {
  RequestId id = 0;
  Request request;
  PrefixText text;  // of the request
  std::shared_ptr<Listener> listener;
  std::shared_ptr<const void> holding;  // of its memory beside keys and values: request_bytes.h
  size_t bytes_per_choice = 0;          // that a choice takes at most, at its end
  bool drafts = true;                   // false: with what the drafter keeps it would never fit
  // All choices; the largest number there is where that is not enough.
  [[nodiscard]] size_t bytes() const {
    const auto choices = static_cast<size_t>(request.choices);
    constexpr size_t kMost = std::numeric_limits<size_t>::max();
    return bytes_per_choice > kMost / choices ? kMost : bytes_per_choice * choices;
  }
  int32_t positions = 0;  // that a choice may reach
  int32_t most_rows = 0;  // of one forward
  EngineClock::time_point submitted;
};

// What a round chose for one sequence.
struct Verdict {
  std::vector<NewToken> tokens;  // in order; without a stop token
  std::optional<EndReason> end;
  TokenId stop_token = -1;
  std::string problem;  // why, where it ends as failed
  bool cut = false;     // the text ended within the round: a draft behind the last one kept was not judged
};

// Who came before whom: by its request, and of one request by its choice.
struct SequenceOrder {
  uint64_t request = 0;
  int32_t choice = 0;
  auto operator<=>(const SequenceOrder&) const = default;
};

struct Sequence {
  Sequence(std::shared_ptr<const Accepted> accepted, KvCache cache);
  // The same text so far, of another choice. Where there is no memory for it, it begins as one that gave way.
  [[nodiscard]] std::unique_ptr<Sequence> fork(int32_t other_choice) const;
  // Gives up all that is computed again when it runs the next time. What the text is made of stays.
  void give_way();
  // What is to be read before it goes on is all that stands: the prompt, or with it what was written before it gave
  // way.
  void begin_reading();
  // How much of the prompt has been run; never less than before. False: no more than before.
  bool note_progress();

  [[nodiscard]] const Request& request() const { return accepted->request; }
  // As far as it stood when it began to read.
  [[nodiscard]] const PrefixText& text() const { return text_read; }
  [[nodiscard]] int32_t prompt_size() const { return static_cast<int32_t>(request().prompt.size()); }
  [[nodiscard]] std::span<const TokenId> generated() const {
    return std::span(standing).subspan(request().prompt.size());
  }
  // Rows that stand and were not run.
  [[nodiscard]] int32_t rows_left() const { return static_cast<int32_t>(standing.size()) - kv.length(); }
  // Others write: all but the newest of their tokens have been run.
  [[nodiscard]] bool reads() const { return !chose || rows_left() > 1; }
  // A round emits one token more than the drafts it keeps: the last one that may be emitted needs no draft.
  [[nodiscard]] int32_t most_drafts() const;
  // The first picture that is still to be run and has not been seen.
  [[nodiscard]] std::optional<size_t> unseen_picture() const;
  void show(size_t picture, std::shared_ptr<const std::vector<float>> rows);
  // So many of the rows left as fit into `most`: before a picture rather than in it where pictures must not be cut, or
  // a whole one. None beyond a picture that has not been seen.
  [[nodiscard]] int32_t next_rows(int32_t most, bool whole_pictures) const;

  std::shared_ptr<const Accepted> accepted;
  int32_t choice = 0;
  SequenceOrder order;
  KvCache kv;
  HeldUnits drafter_units;  // where drafter_state lies
  std::vector<TokenId> standing;
  std::vector<SoftTokens> soft;                                     // of the request's pictures
  std::vector<std::shared_ptr<const std::vector<float>>> features;  // likewise; none: not seen
  bool chose = false;                                               // for the first time
  bool forked = false;                                              // its other choices go their own ways
  kernels::RowBuffer hidden;                                        // [hidden] of the row that chose the newest token
  SampleSettings sampling;
  TokenCounts counts;
  std::unique_ptr<ConstraintCursor> cursor;
  std::unique_ptr<DeviceChoice> device_choice;  // where the backend chooses
  std::unique_ptr<DrafterState> drafter_state;
  std::unique_ptr<RoutedDepth> depth;
  Prefixes::Walk walk;
  PrefixText text_read;
  int32_t prompt_done = 0;               // tokens of the prompt that have been run or were cached, at some time
  int32_t cached = 0;                    // of them, those that came from the prefixes
  PrefixMiss missed = PrefixMiss::none;  // why it was no more
  bool leaves_pages = false;
  bool started = false;  // has run
  bool waits = false;    // gave way, and has not come back
  uint64_t last_step = 0;
  bool cancelled = false;

  // This step's.
  std::vector<TokenId> drafts;
  int32_t draft_room = kMaxDraftTokens;       // that there is memory for
  int32_t first_draft = 0, draft_stride = 0;  // where they lie in the backend's memory, while only it knows them
  RoundReport round;
  DepthReason depth_reason = DepthReason::policy;  // of the round
  Verdict verdict;

  SpeculationCounters counters;
  EngineClock::time_point admitted, first_choice;
};

}  // namespace paceline
