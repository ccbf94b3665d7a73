// What one step runs: rows of sequences, in the order of the forward's rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sequence.h"

namespace paceline {

struct StepPart {
  Sequence* seq = nullptr;
  int32_t rows = 0;      // of those that stand; drafts come behind them
  bool chooses = false;  // the rows reach the end of what stands
  // In the forward, once drafts are known.
  int32_t first_row = 0;
  int32_t first_pos = 0;     // of the first row
  int32_t first_logits = 0;  // of the row that chooses
};

// A sequence that chooses in this step: its first choice in the forward's rows and in those with logits.
struct Choosing {
  Sequence* seq = nullptr;
  int32_t first_row = 0;
  int32_t first_logits = 0;
};

struct StepPlan {
  std::vector<StepPart> parts;
  int32_t prompt_rows = 0;  // of those that read
  int32_t rows = 0;         // all, without drafts
  int32_t choosing = 0;     // parts that choose
  int32_t context = 0;      // tokens that a row sees, on the average
  // Where prompts are read: what a row more is thought to add. 0: nobody knows.
  double row_ms = 0;
  int32_t rows_left = 0;  // and how many more still fit into the bound on time

  void clear() {
    parts.clear();
    prompt_rows = rows = choosing = rows_left = 0;
    row_ms = 0;
  }
  // What the parts come to.
  void count() {
    prompt_rows = rows = choosing = 0;
    int64_t seen = 0;
    for (const StepPart& part : parts) {
      seen += int64_t{part.rows} * (part.seq->kv.length() + part.rows / 2);
      prompt_rows += part.seq->reads() ? part.rows : 0;
      rows += part.rows;
      choosing += part.chooses ? 1 : 0;
    }
    context = rows > 0 ? static_cast<int32_t>(seen / rows) : 0;
  }
};

}  // namespace paceline
