#include "proof/golden_dflash.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/row_buffer.h"
#include "proof/golden_vision.h"
#include "speculate/dflash/dflash_forward.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// A prompt and its greedy text, run as far as each proposal wants, and told to the drafter chunk by chunk.
class BlockPrompt {
 public:
  BlockPrompt(const GoldenPrompt& prompt, const DraftsSettings& settings, Forward& forward, DflashForward& drafter)
      : settings_(settings),
        forward_(forward),
        drafter_(drafter),
        tokens_(prompt.ids),
        kv_(forward.kv_layout(),
            static_cast<int32_t>(prompt.ids.size() + prompt.greedy.size()) + drafter.config().block_size) {
    tokens_.insert(tokens_.end(), prompt.greedy.begin(), prompt.greedy.end());
  }

  // With `length` tokens standing, the newest not run.
  Result<std::vector<TokenId>> propose(int32_t length, int32_t block) {
    if (length > static_cast<int32_t>(tokens_.size()) || length - 1 < kv_.length())
      return Error{fmt::format("expected rising lengths up to {}, found {}", tokens_.size(), length)};
    while (kv_.length() < length - 1) run(std::min(length - 1 - kv_.length(), settings_.chunk_rows));
    std::vector<TokenId> drafts(static_cast<size_t>(block - 1));
    if (!kv_.reserve(block)) return Error{"no room for a block"};
    const DflashProposal ask{&kv_, tokens_[static_cast<size_t>(length - 1)], block, block - 1, drafts.data()};
    drafter_.propose({&ask, 1});
    return drafts;
  }

 private:
  void run(int32_t rows) {
    const SeqRows seq{&kv_, rows};
    ForwardInput input;
    input.tokens = std::span(tokens_).subspan(static_cast<size_t>(kv_.length()), static_cast<size_t>(rows));
    input.seqs = {&seq, 1};
    input.tap_layers = drafter_.tap_layers();
    const DflashContextRows stand{&kv_, kv_.length(), 0, rows};
    const ForwardOutput output = forward_.run(input);
    drafter_.remember({&stand, 1}, {output.backend_taps, rows});
  }

  const DraftsSettings& settings_;
  Forward& forward_;
  DflashForward& drafter_;
  std::vector<TokenId> tokens_;
  KvCache kv_;
};

class BlocksRun {
 public:
  BlocksRun(const GoldenFile& golden, const DraftsSettings& settings, Forward& forward, DflashForward& drafter,
            DflashCheck* check)
      : golden_(golden), settings_(settings), forward_(forward), drafter_(drafter), check_(check) {}

  Status compare(const fs::path& json, const GoldenStates& states) {
    const int32_t whole = drafter_.config().block_size;
    for (const auto& [key, block] : {std::pair("rows", whole), std::pair("short_rows", whole / 2)}) {
      TRY_ASSIGN(const GoldenDrafts all, read_golden_drafts(json, key));
      if (all.size() != golden_.prompts().size())
        return Error{fmt::format("{}: expected {} prompts, as golden.json has, found {}", json.filename().string(),
                                 golden_.prompts().size(), all.size())};
      for (size_t i = 0; i < all.size(); ++i) {
        BlockPrompt run(golden_.prompts()[i], settings_, forward_, drafter_);
        for (const GoldenDraft& draft : all[i]) {
          if (static_cast<int32_t>(draft.drafted.size()) != block - 1)
            return Error{fmt::format("{}: expected {} drafts, found {}", json.filename().string(), block - 1,
                                     draft.drafted.size())};
          TRY_ASSIGN(const std::vector<TokenId> ours, run.propose(draft.length, block));
          count(draft, ours);
          if (block != whole) continue;
          if (&draft == &all[i].front()) TRY(compare_block(states, fmt::format("prompt{}.first", i)));
          if (&draft == &all[i].back()) TRY(compare_block(states, fmt::format("prompt{}.last", i)));
        }
      }
    }
    return Done{};
  }

 private:
  void count(const GoldenDraft& draft, const std::vector<TokenId>& ours) {
    if (draft.min_gap < settings_.clear_gap) return;
    const auto differs = std::mismatch(ours.begin(), ours.end(), draft.drafted.begin()).first;
    ++check_->drafts.proposals;
    check_->drafts.proposals_equal += differs == ours.end() ? 1 : 0;
    check_->drafts.tokens += static_cast<int64_t>(ours.size());
    check_->drafts.tokens_equal += differs - ours.begin();
  }

  Status compare_block(const GoldenStates& states, const std::string& name) {
    TRY_ASSIGN(const auto golden, states.matrix(name));
    const DflashConfig& config = drafter_.config();
    if (golden.rows != config.block_size || golden.cols != config.hidden)
      return Error{fmt::format("{} should be [{}, {}], is [{}, {}]", name, config.block_size, config.hidden,
                               golden.rows, golden.cols)};
    const size_t floats = golden.values.size();
    kernels::Ops& ops = forward_.ops();
    float* normed = normed_.sized(ops, static_cast<int64_t>(floats));
    ops.rms_norm({drafter_.last_block(), drafter_.weights().norm.for_ops(), normed, config.block_size, config.hidden,
                  config.rms_eps, 1.0f});
    const auto* ours = static_cast<const float*>(ops.fetch(normed, floats * sizeof(float), copy_));
    TRY(ops.wait());
    check_->block_error = std::max(check_->block_error, largest_difference(ours, golden.values));
    return Done{};
  }

  const GoldenFile& golden_;
  const DraftsSettings& settings_;
  Forward& forward_;
  DflashForward& drafter_;
  DflashCheck* check_;
  kernels::RowBuffer normed_;
  kernels::HostCopy copy_;
};

}  // namespace

Result<DflashCheck> check_golden_dflash(const fs::path& folder, const GoldenFile& golden,
                                        const DraftsSettings& settings, const LoadedModel& target, ThreadPool& pool,
                                        kernels::Ops& ops) {
  DflashCheck check;
  if (ops.blocks() == nullptr) return check;
  for (const char* name : {"dflash", "dflash2"}) {
    const fs::path json = folder / fmt::format("{}.json", name);
    std::error_code error;
    if (!fs::exists(json, error) || !fs::exists(folder / name, error)) continue;
    TRY_ASSIGN(const GoldenStates states, GoldenStates::open(folder / fmt::format("{}.safetensors", name)));
    // The drafter's layers lie beside the model's: each has a forward of its own.
    const std::unique_ptr<Forward> forward = target.weights->make_forward(ops, settings.precision);
    TRY_ASSIGN(auto weights, load_dflash(folder / name, *forward->weights(), pool));
    DflashForward drafter(std::move(weights), *forward);
    TRY(BlocksRun(golden, settings, *forward, drafter, &check).compare(json, states));
    TRY(forward->status());
  }
  return check;
}

}  // namespace paceline
