#include "proof/goldens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/gemma4/backend_limits.h"
#include "model/load.h"
#include "proof/decode.h"

namespace paceline {
namespace {

struct Best {
  size_t at = 0;
  float gap = 0;  // to the second
};

Best best_of(std::span<const float> row) {
  const auto best = std::max_element(row.begin(), row.end());
  float second = -INFINITY;
  for (auto it = row.begin(); it != row.end(); ++it) {
    if (it != best) second = std::max(second, *it);
  }
  return {static_cast<size_t>(best - row.begin()), *best - second};
}

class CaseRun {
 public:
  // vision: none where the goldens have no images.
  CaseRun(const GoldenFile& golden, const GoldenSettings& settings, Forward& forward, GoldenVision* vision)
      : golden_(golden), settings_(settings), forward_(forward), config_(forward.config()), vision_(vision) {
    check_.name = golden.name();
  }

  Result<GoldenCheck> run() {
    for (size_t i = 0; i < golden_.prompts().size(); ++i) {
      const GoldenPrompt& prompt = golden_.prompts()[i];
      TRY(compare_states(prompt, fmt::format("prompt{}.", i)));
      compare_greedy(prompt, {});
      ++check_.prompts;
    }
    for (size_t i = 0; i < golden_.images().size(); ++i) {
      TRY_ASSIGN(const std::vector<float> features, vision_->image(golden_, i, check_.vision));
      TRY(compare_media(golden_.images()[i].prompt, config_.ids.image, {features}, fmt::format("image{}.", i)));
      ++check_.images;
    }
    for (size_t i = 0; i < golden_.clips().size(); ++i) {
      TRY_ASSIGN(const auto features, vision_->clip(golden_, i));
      TRY(compare_media(golden_.clips()[i].prompt, config_.ids.video, features, fmt::format("video{}.", i)));
      ++check_.images;
    }
    return check_;
  }

 private:
  Result<GoldenFile::Values> expect(const std::string& name, int64_t rows, int64_t cols) const {
    TRY_ASSIGN(const GoldenFile::Values values, golden_.matrix(name));
    if (values.rows != rows || values.cols != cols) {
      return Error{fmt::format("golden.safetensors: {} should be [{}, {}], is [{}, {}]", name, rows, cols, values.rows,
                               values.cols)};
    }
    return values;
  }

  Status check_ids(const GoldenPrompt& prompt) const {
    for (const TokenId id : prompt.ids) {
      if (id >= config_.vocab) return Error{fmt::format("golden.json: token {}, vocabulary {}", id, config_.vocab)};
    }
    return Done{};
  }

  // The prompt in chunks; logits, hidden states and layer inputs of each row against the golden's.
  Status compare_states(const GoldenPrompt& prompt, const std::string& prefix) {
    const auto length = static_cast<int32_t>(prompt.ids.size());
    TRY(check_ids(prompt));
    KvCache kv(forward_.kv_layout(), length);
    std::vector<int32_t> layers(forward_.kv_layout().layers.size());
    std::iota(layers.begin(), layers.end(), 0);
    while (kv.length() < length) {
      const int32_t first = kv.length();
      const int32_t rows = std::min(length - first, settings_.chunk_rows);
      std::vector<int32_t> logit_rows(static_cast<size_t>(rows));
      std::iota(logit_rows.begin(), logit_rows.end(), 0);
      const SeqRows seq{&kv, rows};
      const ForwardOutput output =
          forward_.run({std::span(prompt.ids).subspan(first, rows), {&seq, 1}, logit_rows, layers});
      TRY(compare_rows(output, prefix, first, rows, length));
    }
    for (size_t layer = 0; layer < layers.size(); ++layer)
      if (kv.layout().layers[layer].kind == StateKind::recurrent)
        TRY(compare_recurrent(kv, static_cast<int32_t>(layer), fmt::format("{}layer{}.", prefix, layer)));
    return Done{};
  }

  // The golden has the newest inputs channel by channel.
  Status compare_recurrent(const KvCache& kv, int32_t layer, const std::string& prefix) {
    const kernels::DeltaShape& shape = kv.layout().layers[static_cast<size_t>(layer)].delta;
    const int64_t taps = shape.kernel - 1, head_rows = int64_t{shape.value_heads} * shape.key_dim;
    TRY_ASSIGN(const auto state, expect(prefix + "state", head_rows, shape.value_dim));
    TRY_ASSIGN(const auto recent, expect(prefix + "conv", shape.channels(), taps));
    const kernels::DeltaPlaces places = kv.delta_places(layer);
    const int32_t* numbers = kv.delta_span(0, 0).state;
    for (int32_t h = 0; h < shape.value_heads; ++h) {
      TRY_ASSIGN(const float* ours, fetched(places.at(numbers, places.heads[h]), shape.head_floats()));
      const auto floats = static_cast<size_t>(shape.head_floats());
      raise(check_.state_error,
            largest_difference(ours, state.values.subspan(static_cast<size_t>(h) * floats, floats)));
    }
    TRY_ASSIGN(const float* ours, fetched(places.at(numbers, places.recent), shape.recent_floats()));
    for (int64_t j = 0; j < taps; ++j)
      for (int64_t c = 0; c < shape.channels(); ++c)
        raise(check_.state_error, largest_difference(ours + j * shape.channels() + c,
                                                     recent.values.subspan(static_cast<size_t>(c * taps + j), 1)));
    return Done{};
  }

  Result<const float*> fetched(const float* from, int64_t floats) {
    const auto* at =
        static_cast<const float*>(forward_.ops().fetch(from, static_cast<size_t>(floats) * sizeof(float), state_copy_));
    TRY(forward_.ops().wait());
    return at;
  }

  Status compare_rows(const ForwardOutput& output, const std::string& prefix, int32_t first, int32_t rows,
                      int32_t length) {
    TRY_ASSIGN(const auto logits, expect(prefix + "logits", length, config_.vocab));
    TRY_ASSIGN(const auto hidden, expect(prefix + "hidden", length, config_.hidden));
    const auto vocab = static_cast<size_t>(config_.vocab);
    const auto width = static_cast<size_t>(config_.hidden);
    kernels::Ops& ops = forward_.ops();
    const auto* our_hidden = static_cast<const float*>(
        ops.fetch(output.hidden, static_cast<size_t>(rows) * width * sizeof(float), hidden_copy_));
    TRY(ops.wait());
    for (int32_t row = 0; row < rows; ++row) {
      const auto golden_row = logits.values.subspan((first + row) * vocab, vocab);
      const float* our_row = output.logits + row * vocab;
      raise(check_.logit_error, largest_difference(our_row, golden_row));
      compare_choice({our_row, vocab}, golden_row, kBf16Gap);
      raise(check_.hidden_error,
            largest_difference(our_hidden + row * width, hidden.values.subspan((first + row) * width, width)));
    }
    return compare_layer_inputs(output, prefix, first, rows, length);
  }

  Status compare_layer_inputs(const ForwardOutput& output, const std::string& prefix, int32_t first, int32_t rows,
                              int32_t length) {
    constexpr int32_t kGoldenRows = 4;
    const int32_t kept = std::min(kGoldenRows, length);
    const auto width = static_cast<size_t>(config_.hidden);
    for (int32_t layer = 0; layer < static_cast<int32_t>(forward_.kv_layout().layers.size()); ++layer) {
      TRY_ASSIGN(const auto inputs, expect(fmt::format("{}layer{}.input", prefix, layer), kept, config_.hidden));
      for (int32_t row = std::max(0, length - kept - first); row < rows; ++row) {
        const auto golden_row = inputs.values.subspan((first + row - (length - kept)) * width, width);
        raise(check_.layer_input_error,
              largest_difference(output.taps + (static_cast<size_t>(layer) * rows + row) * width, golden_row));
      }
    }
    return Done{};
  }

  void compare_choice(std::span<const float> ours, std::span<const float> golden, double bf16_gap) {
    const Best best = best_of(golden);
    const double clear = settings_.precision == Precision::f32 ? 2 * kF32Tolerance : bf16_gap;
    if (static_cast<double>(best.gap) <= clear) return;
    ++check_.choices;
    if (best_of(ours).at == best.at) ++check_.choices_equal;
  }

  // One call for the whole prompt; logits of the last positions, then what follows greedily.
  Status compare_media(const GoldenPrompt& prompt, TokenId place, const std::vector<std::vector<float>>& features,
                       const std::string& prefix) {
    TRY(check_ids(prompt));
    TRY_ASSIGN(const std::vector<SoftTokens> soft, soft_tokens(prompt, place, features));
    const auto length = static_cast<int32_t>(prompt.ids.size());
    if (length > kMaxImageRows) {
      return Error{fmt::format("golden.json: {} tokens with an image, at most {} are compared", length, kMaxImageRows)};
    }
    TRY_ASSIGN(const auto logits, golden_.matrix(prefix + "logits"));
    if (logits.rows > length || logits.cols != config_.vocab) {
      return Error{fmt::format("golden.safetensors: {}logits does not fit the prompt or the vocabulary", prefix)};
    }
    std::vector<int32_t> wanted(static_cast<size_t>(logits.rows));
    std::iota(wanted.begin(), wanted.end(), length - static_cast<int32_t>(logits.rows));
    KvCache kv(forward_.kv_layout(), length, kMaxImageRows);
    const SeqRows seq{&kv, length, soft};
    const ForwardOutput output = forward_.run({prompt.ids, {&seq, 1}, wanted, {}});
    const double error = largest_difference(output.logits, logits.values);
    raise(check_.image_logit_error, error);
    const auto vocab = static_cast<size_t>(config_.vocab);
    const int64_t differed_before = check_.choices - check_.choices_equal;
    for (size_t row = 0; row < wanted.size(); ++row) {
      compare_choice({output.logits + row * vocab, vocab}, logits.values.subspan(row * vocab, vocab), kBf16PictureGap);
    }
    bool equal = check_.choices - check_.choices_equal == differed_before;
    const bool same_text = compare_greedy(prompt, soft);
    if (settings_.precision == Precision::f32) equal = equal && same_text && error <= kF32Tolerance;
    if (equal) ++check_.images_equal;
    return Done{};
  }

  // Each run of such tokens takes the next of the features.
  Result<std::vector<SoftTokens>> soft_tokens(const GoldenPrompt& prompt, TokenId place,
                                              const std::vector<std::vector<float>>& features) const {
    std::vector<SoftTokens> soft;
    for (auto at = prompt.ids.begin(); at != prompt.ids.end();) {
      const auto begin = std::find(at, prompt.ids.end(), place);
      at = std::find_if(begin, prompt.ids.end(), [&](TokenId id) { return id != place; });
      if (begin == at) break;
      const auto width = static_cast<size_t>(config_.hidden);
      if (soft.size() == features.size() || features[soft.size()].size() != static_cast<size_t>(at - begin) * width) {
        return Error{fmt::format("golden.json: a run of {} image tokens, which no image fills", at - begin)};
      }
      soft.push_back({static_cast<int32_t>(begin - prompt.ids.begin()), static_cast<int32_t>(at - begin),
                      features[soft.size()].data()});
    }
    if (soft.size() == features.size()) return soft;
    return Error{fmt::format("golden.json: {} images or frames, places for {}", features.size(), soft.size())};
  }

  bool compare_greedy(const GoldenPrompt& prompt, std::vector<SoftTokens> soft) {
    DecodeRequest request;
    request.prompt = prompt.ids;
    request.soft = std::move(soft);
    request.sampling.temperature = 0;
    request.max_tokens = static_cast<int32_t>(prompt.greedy.size());
    request.context = static_cast<int32_t>(prompt.ids.size()) + request.max_tokens + 1;
    request.chunk_rows = settings_.chunk_rows;
    const DecodeOutcome outcome = decode(forward_, request, {});
    const auto [ours, golden] = std::mismatch(outcome.tokens.begin(), outcome.tokens.end(), prompt.greedy.begin());
    check_.tokens += request.max_tokens;
    check_.tokens_equal += golden - prompt.greedy.begin();
    const bool same = golden == prompt.greedy.end();
    if (!same && (settings_.precision == Precision::f32 || prompt.min_gap > kBf16Gap)) ++check_.sequences_missed;
    return same;
  }

  static void raise(double& largest, double value) { largest = std::max(largest, value); }

  const GoldenFile& golden_;
  const GoldenSettings& settings_;
  Forward& forward_;
  const ModelConfig& config_;
  GoldenVision* vision_;
  GoldenCheck check_;
  kernels::HostCopy hidden_copy_, state_copy_;
};

}  // namespace

bool GoldenCheck::passed(Precision precision) const {
  if (sequences_missed > 0 || vision.patches_equal != vision.images) return false;
  if (precision == Precision::bf16) {
    // A router's near-tie may turn to another expert, which moves all logits of that row: one choice in fifty may go,
    // and one proposal.
    return std::isfinite(logit_error) && std::isfinite(image_logit_error) && std::isfinite(vision.feature_error) &&
           (choices - choices_equal) * 50 <= choices && drafts.nearly_all_equal() && dflash.drafts.nearly_all_equal();
  }
  if (choices_equal != choices || !drafts.all_equal() || !dflash.drafts.all_equal()) return false;
  if (state_error > kF32StateTolerance) return false;
  return std::max({logit_error, layer_input_error, hidden_error, image_logit_error, vision.feature_error,
                   dflash.block_error}) <= kF32Tolerance;
}

Result<GoldenCheck> check_golden_case(const std::filesystem::path& folder, const GoldenSettings& settings,
                                      ThreadPool& pool, kernels::Ops& ops) {
  TRY_ASSIGN(const GoldenFile golden, GoldenFile::open(folder));
  TRY_ASSIGN(const LoadedModel model, load_model(folder / "target", pool));
  TRY(model.weights->check(ops.limits()));
  const std::unique_ptr<Forward> made = model.weights->make_forward(ops, settings.precision, settings.kv);
  Forward& forward = *made;
  std::unique_ptr<GoldenVision> vision;
  if (!golden.images().empty() || !golden.clips().empty()) {
    TRY_ASSIGN(vision, GoldenVision::open(folder, model, settings.precision, pool, ops));
  }
  TRY_ASSIGN(GoldenCheck check, CaseRun(golden, settings, forward, vision.get()).run());
  const double clear_gap = settings.precision == Precision::f32 ? kF32DraftGap : kBf16Gap;
  TRY_ASSIGN(check.drafts,
             check_golden_drafts(folder, golden, {settings.precision, settings.chunk_rows, clear_gap}, pool, forward));
  TRY(forward.status());
  TRY_ASSIGN(check.dflash, check_golden_dflash(folder, golden, {settings.precision, settings.chunk_rows, clear_gap},
                                               model, pool, ops));
  return check;
}

}  // namespace paceline
