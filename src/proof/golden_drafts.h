// drafts.json of a goldens folder: what the MTP drafter in assistant/ proposes when the first n tokens of a prompt and
// its greedy text stand; and the comparison of our drafter with it.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/forward.h"
#include "model/gemma4/mtp_weights.h"
#include "proof/golden_file.h"

namespace paceline {

struct GoldenDraft {
  int32_t length = 0;            // tokens that stand
  std::vector<TokenId> drafted;  // as many as were proposed
  double min_gap = 0;            // smallest distance between best and second score on the way
};

// For each prompt its proposals, by rising length.
using GoldenDrafts = std::vector<std::vector<GoldenDraft>>;
// key: of the list that each prompt has.
Result<GoldenDrafts> read_golden_drafts(const std::filesystem::path& path, std::string_view key = "rows");

struct DraftsCheck {
  int64_t proposals = 0, proposals_equal = 0;  // those whose golden has clear gaps
  int64_t tokens = 0, tokens_equal = 0;        // of their drafts, up to the first that differs

  [[nodiscard]] bool all_equal() const { return proposals_equal == proposals; }
  // But for one in fifty.
  [[nodiscard]] bool nearly_all_equal() const { return (proposals - proposals_equal) * 50 <= proposals; }
};

struct DraftsSettings {
  Precision precision = Precision::f32;
  int32_t chunk_rows = kMaxForwardRows;
  double clear_gap = 0;  // proposals with a smaller one may rightly differ
};

// One prompt's, of a JSON list.
Result<std::vector<GoldenDraft>> read_draft_list(const boost::json::value& list, const std::string& where);

// Of a drafter that fits the forward's model; drafts: one list for each prompt of the golden.
Result<DraftsCheck> compare_golden_drafts(const std::shared_ptr<const MtpWeights>& weights, const GoldenDrafts& drafts,
                                          const GoldenFile& golden, const DraftsSettings& settings, Forward& forward);

// All zero where the folder has no assistant/ or no drafts.json.
Result<DraftsCheck> check_golden_drafts(const std::filesystem::path& folder, const GoldenFile& golden,
                                        const DraftsSettings& settings, ThreadPool& pool, Forward& forward);

}  // namespace paceline
