// How many drafts to ask for. Since tokens cannot change, depth is a question of time alone.
#pragma once

#include <algorithm>
#include <cstdint>

namespace paceline {

// Why a depth was chosen, for reports.
enum class DepthReason : uint8_t {
  policy,       // the best by what is known
  fixed,        // as the operator said
  parked,       // drafts do not pay here
  probe,        // do they pay by now?
  timing,       // a plain step is due, to compare with
  request,      // the request wants none, or no more fit into it
  cap_running,  // more run than speculate
  cap_context,  // it is longer than those that speculate
  cap_kv,       // running sequences hold more of the memory than when they speculate; or it fits without a drafter only
  prompts,      // prompts are being read beside
};

// What one round did, for policies that learn.
struct RoundReport {
  int32_t by = 0;        // which of several drafters was asked
  int32_t asked = 0;     // depth that was chosen
  int32_t drafted = 0;   // drafts that were verified: asked or fewer
  int32_t accepted = 0;  // drafts kept before the first that differed
  bool cut = false;      // the text ended within the round: a draft behind the last one kept was not judged
  int32_t context = 0;   // tokens in the cache before the round
  double draft_ms = 0;
  double step_ms = 0;  // forward and choosing
};

// Decides for one sequence at a time.
class DepthPolicy {
 public:
  DepthPolicy() = default;
  DepthPolicy(const DepthPolicy&) = delete;
  DepthPolicy& operator=(const DepthPolicy&) = delete;
  virtual ~DepthPolicy() = default;

  // Another sequence begins.
  virtual void reset() {}

  // Before drafting. 0: do not draft. `context`: tokens in the cache; `most`: what the request and the memory allow.
  virtual int32_t depth(int32_t context, int32_t most) = 0;

  virtual void observe(const RoundReport& round) { (void)round; }
};

class FixedDepth : public DepthPolicy {
 public:
  explicit FixedDepth(int32_t depth) : depth_(depth) {}
  int32_t depth(int32_t, int32_t most) override { return std::min(depth_, most); }

 private:
  int32_t depth_;
};

}  // namespace paceline
