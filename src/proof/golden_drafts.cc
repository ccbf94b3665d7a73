#include "proof/golden_drafts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/regular_file.h"
#include "kernels/row_buffer.h"
#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/mtp_forward.h"
#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostTokens = 1 << 20;

Result<const boost::json::array*> list_of(const JsonFields& fields, std::string_view name) {
  const auto* value = fields.find(name);
  if (value == nullptr || !value->is_array()) return fields.wrong(name, "a list");
  return &value->get_array();
}

Result<GoldenDraft> read_draft(const boost::json::value& value, const std::string& where) {
  if (!value.is_object()) return Error{fmt::format("{} is not an object", where)};
  const JsonFields fields(value.get_object(), where);
  GoldenDraft draft;
  TRY_ASSIGN(const int64_t length, fields.integer("length", 2, kMostTokens));
  draft.length = static_cast<int32_t>(length);
  TRY_ASSIGN(draft.drafted, read_token_list(fields, "drafted"));
  TRY_ASSIGN(draft.min_gap, fields.number_or("min_gap", 0, 0, 1e9));
  return draft;
}

// One prompt of the goldens with the target run over as much of it as each proposal wants.
class PromptRun {
 public:
  PromptRun(const GoldenPrompt& prompt, const DraftsSettings& settings, Forward& forward)
      : settings_(settings), forward_(forward), tokens_(prompt.ids), kv_(forward.kv_layout(), capacity_of(prompt)) {
    tokens_.insert(tokens_.end(), prompt.greedy.begin(), prompt.greedy.end());
  }

  // The state in which `length` tokens stand and the newest has not been run.
  Result<MtpContext> stand_at(int32_t length) {
    if (length > static_cast<int32_t>(tokens_.size()) || length - 1 < kv_.length()) {
      return Error{fmt::format("drafts.json: expected rising lengths up to {}, found {}", tokens_.size(), length)};
    }
    const auto width = static_cast<size_t>(forward_.config().hidden);
    while (kv_.length() < length - 1) {
      const int32_t rows = std::min(length - 1 - kv_.length(), settings_.chunk_rows);
      const SeqRows seq{&kv_, rows};
      const auto some = std::span(tokens_).subspan(static_cast<size_t>(kv_.length()), static_cast<size_t>(rows));
      const ForwardOutput output = forward_.run({some, {&seq, 1}, {}, {}});
      const float* last = output.hidden + static_cast<size_t>(rows - 1) * width;
      forward_.ops().copy(hidden_.sized(forward_.ops(), static_cast<int64_t>(width)), last, width * sizeof(float));
    }
    return MtpContext{&kv_, tokens_[static_cast<size_t>(length - 1)], hidden_.data()};
  }

 private:
  static int32_t capacity_of(const GoldenPrompt& prompt) {
    return static_cast<int32_t>(prompt.ids.size() + prompt.greedy.size());
  }

  const DraftsSettings& settings_;
  Forward& forward_;
  std::vector<TokenId> tokens_;
  KvCache kv_;
  kernels::RowBuffer hidden_;
};

Status compare_prompt(const GoldenPrompt& prompt, const std::vector<GoldenDraft>& golden,
                      const DraftsSettings& settings, Forward& forward, MtpForward& drafter, DraftsCheck* check) {
  const int32_t vocab = forward.config().vocab;
  for (const TokenId id : prompt.greedy) {
    if (id >= vocab) return Error{fmt::format("golden.json: token {}, vocabulary {}", id, vocab)};
  }
  PromptRun run(prompt, settings, forward);
  std::vector<TokenId> ours;
  for (const GoldenDraft& draft : golden) {
    TRY_ASSIGN(const MtpContext at, run.stand_at(draft.length));
    if (draft.min_gap < settings.clear_gap) continue;
    ours.assign(draft.drafted.size(), -1);
    drafter.propose(at, static_cast<int32_t>(ours.size()), ours.data());
    const auto differs = std::mismatch(ours.begin(), ours.end(), draft.drafted.begin()).first;
    ++check->proposals;
    check->proposals_equal += differs == ours.end() ? 1 : 0;
    check->tokens += static_cast<int64_t>(ours.size());
    check->tokens_equal += differs - ours.begin();
  }
  return Done{};
}

}  // namespace

Result<GoldenDrafts> read_golden_drafts(const fs::path& path, std::string_view key) {
  const std::string file = path.filename().string();
  TRY_ASSIGN(const std::string text, read_file(path, kMostGoldenJsonBytes));
  TRY_ASSIGN(const boost::json::object object, parse_json_object(text, file));
  TRY_ASSIGN(const boost::json::array* prompts, list_of(JsonFields(object, file), "prompts"));
  GoldenDrafts all;
  for (const auto& value : *prompts) {
    const std::string where = fmt::format("{}: prompts[{}]", file, all.size());
    if (!value.is_object()) return Error{fmt::format("{} is not an object", where)};
    const JsonFields fields(value.get_object(), where);
    TRY(list_of(fields, key));
    TRY_ASSIGN(std::vector<GoldenDraft> drafts, read_draft_list(*fields.find(key), fields.path_of(key)));
    all.push_back(std::move(drafts));
  }
  return all;
}

Result<std::vector<GoldenDraft>> read_draft_list(const boost::json::value& list, const std::string& where) {
  if (!list.is_array()) return Error{fmt::format("{} is not a list", where)};
  std::vector<GoldenDraft> drafts;
  for (const auto& row : list.get_array()) {
    TRY_ASSIGN(GoldenDraft draft, read_draft(row, fmt::format("{}[{}]", where, drafts.size())));
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

Result<DraftsCheck> check_golden_drafts(const fs::path& folder, const GoldenFile& golden,
                                        const DraftsSettings& settings, ThreadPool& pool, Forward& forward) {
  std::error_code error;
  if (!fs::exists(folder / "assistant", error) || !fs::exists(folder / "drafts.json", error)) return DraftsCheck{};
  TRY_ASSIGN(const GoldenDrafts drafts, read_golden_drafts(folder / "drafts.json"));
  TRY_ASSIGN(const auto weights, load_mtp(folder / "assistant", pool));
  return compare_golden_drafts(weights, drafts, golden, settings, forward);
}

Result<DraftsCheck> compare_golden_drafts(const std::shared_ptr<const MtpWeights>& weights, const GoldenDrafts& drafts,
                                          const GoldenFile& golden, const DraftsSettings& settings, Forward& forward) {
  DraftsCheck check;
  if (drafts.size() != golden.prompts().size()) {
    return Error{fmt::format("drafts.json: expected {} prompts, as golden.json has, found {}", golden.prompts().size(),
                             drafts.size())};
  }
  TRY(check_fits(weights->config, *forward.weights()));
  MtpForward drafter(weights, as_gemma4(forward.weights()), forward.ops(), settings.precision);
  for (size_t i = 0; i < drafts.size(); ++i) {
    TRY(compare_prompt(golden.prompts()[i], drafts[i], settings, forward, drafter, &check));
  }
  return check;
}

}  // namespace paceline
