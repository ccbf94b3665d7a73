// One X.json of a folder of GGUF goldens.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>
#include <numeric>

#include "base/regular_file.h"
#include "model/gemma4/config_reader.h"
#include "model/gemma4/mtp_binding.h"
#include "model/load.h"
#include "model/vision/vision_config_reader.h"
#include "proof/decode.h"
#include "proof/gguf_goldens.h"
#include "proof/golden_file.h"
#include "proof/golden_vision.h"
#include "weights/gguf/gguf_checkpoint.h"
#include "weights/gguf/gguf_words.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// What eight bits of activations may turn, in these small models.
constexpr double kRoundedGap = 0.6;

class GgufFileRun {
 public:
  GgufFileRun(const fs::path& path, Precision precision, ThreadPool& pool, kernels::Ops& ops)
      : path_(path), precision_(precision), pool_(pool), ops_(ops) {
    check_.name = path.stem().string();
  }

  Result<GgufFileCheck> run() {
    TRY_ASSIGN(const std::string text, read_file(path_, kMostGoldenJsonBytes));
    TRY_ASSIGN(document_, parse_json_object(text, path_.filename().string()));
    const JsonFields top(document_, path_.filename().string());
    const json::value* files = top.find("files");
    if (files == nullptr || !files->is_array() || files->get_array().empty() || !files->get_array()[0].is_string())
      return top.wrong("files", "a list of names");
    model_ = path_.parent_path() / std::string(files->get_array()[0].get_string());
    if (const Status ran = run_all(top); !ran.ok()) check_.problem = ran.error().message;
    return check_;
  }

 private:
  Status run_all(const JsonFields& top) {
    TRY_ASSIGN(const GgufFiles files, GgufFiles::open(model_));
    TRY(compare_tensors(top, files));
    const std::string architecture = files.architecture();
    if (architecture == "clip") return compare_vision(top, files);
    if (architecture == "gemma4") return compare_model(top);
    return compare_drafter(top);
  }

  Status compare_tensors(const JsonFields& top, const GgufFiles& files) {
    const json::value* tensors = top.find("tensors");
    if (tensors == nullptr || !tensors->is_array()) return top.wrong("tensors", "a list");
    for (const json::value& value : tensors->get_array()) {
      if (!value.is_object()) return top.wrong("tensors", "a list of objects");
      const JsonFields fields(value.get_object(), top.path_of("tensors"));
      TRY_ASSIGN(const std::string name, fields.text("name"));
      TRY_ASSIGN(const std::string digest, fields.text("sha256"));
      ++check_.tensors;
      const GgufTensor* tensor = files.find(name);
      if (tensor == nullptr) continue;
      TRY_ASSIGN(std::vector<float> values, gguf_floats(files, *tensor));
      for (float& one : values) one = one == 0 ? 0.0f : one;
      TRY_ASSIGN(const std::string ours, sha256_hex(std::as_bytes(std::span(values))));
      check_.tensors_equal += ours == digest && shape_of(fields) == tensor->shape ? 1 : 0;
    }
    return Done{};
  }

  static std::vector<int64_t> shape_of(const JsonFields& fields) {
    std::vector<int64_t> shape;
    if (const json::value* list = fields.find("shape"); list != nullptr && list->is_array())
      for (const json::value& size : list->get_array()) shape.push_back(json_integer(size).value_or(-1));
    return shape;
  }

  // All but what a file of one format says and the other does not.
  static Gemma4Config comparable(Gemma4Config config) {
    config.model_type.clear();
    config.ids = {};
    config.stop_ids.clear();
    config.ple_vocab = config.ple_width > 0 ? config.ple_vocab : 0;
    config.context = 0;
    config.images_see_both_ways = config.both_ways_globally = false;
    config.temperature = config.top_p = 0;
    config.top_k = 0;
    return config;
  }

  Status compare_model(const JsonFields& top) {
    TRY_ASSIGN(const LoadedModel model, load_model(model_, pool_));
    TRY(model.weights->check(ops_.limits()));
    const json::value* config = top.find("config");
    if (config != nullptr) {
      TRY_ASSIGN(const Gemma4Config golden, read_config(json::serialize(*config), ""));
      TRY_ASSIGN(const Gemma4Config ours, read_config(model.checkpoint->config_json(), ""));
      check_.configs_equal = comparable(golden) == comparable(ours);
    }
    const auto forward = model.weights->placed_for(ops_)->make_forward(ops_, precision_);
    const fs::path logits_file = fs::path(path_).replace_extension(".safetensors");
    TRY_ASSIGN(const GoldenStates logits, GoldenStates::open(logits_file));
    const json::value* prompts = top.find("prompts");
    if (prompts == nullptr || !prompts->is_array()) return top.wrong("prompts", "a list");
    for (const json::value& value : prompts->get_array()) {
      if (!value.is_object()) return top.wrong("prompts", "a list of objects");
      const JsonFields fields(value.get_object(), top.path_of("prompts"));
      GoldenPrompt prompt;
      TRY_ASSIGN(prompt.ids, read_token_list(fields, "ids"));
      TRY_ASSIGN(prompt.greedy, read_token_list(fields, "greedy"));
      TRY_ASSIGN(prompt.min_gap, fields.number_or("min_gap", 0, 0, 1e9));
      TRY(compare_logits(*forward, prompt, logits));
      compare_greedy(*forward, prompt);
      ++check_.prompts;
    }
    return forward->status();
  }

  Status compare_logits(Forward& forward, const GoldenPrompt& prompt, const GoldenStates& golden) {
    TRY_ASSIGN(const auto logits, golden.matrix(fmt::format("prompt{}.logits", check_.prompts)));
    const auto length = static_cast<int32_t>(prompt.ids.size()), kept = static_cast<int32_t>(logits.rows);
    if (length < kept || logits.cols != forward.config().vocab || length > kMaxImageRows)
      return Error{fmt::format("{}: the logits do not fit", path_.filename().string())};
    KvCache kv(forward.kv_layout(), length, kMaxImageRows);
    const SeqRows seq{&kv, length};
    std::vector<int32_t> rows(static_cast<size_t>(kept));
    std::iota(rows.begin(), rows.end(), length - kept);
    const ForwardOutput output = forward.run({prompt.ids, {&seq, 1}, rows, {}});
    check_.logit_error = std::max(check_.logit_error, largest_difference(output.logits, logits.values));
    return Done{};
  }

  void compare_greedy(Forward& forward, const GoldenPrompt& prompt) {
    DecodeRequest request;
    request.prompt = prompt.ids;
    request.sampling.temperature = 0;
    request.max_tokens = static_cast<int32_t>(prompt.greedy.size());
    request.context = static_cast<int32_t>(prompt.ids.size()) + request.max_tokens + 1;
    const DecodeOutcome outcome = decode(forward, request, {});
    const auto golden =
        std::mismatch(outcome.tokens.begin(), outcome.tokens.end(), prompt.greedy.begin(), prompt.greedy.end()).second;
    check_.tokens += request.max_tokens;
    check_.tokens_equal += golden - prompt.greedy.begin();
    const double clear = precision_ == Precision::f32 ? 2 * 2e-4 : kRoundedGap;
    if (golden != prompt.greedy.end() && prompt.min_gap > clear) ++check_.sequences_missed;
  }

  // Beside the folder, as the goldens name it: "goldens/dense/target (or …)".
  Result<fs::path> beside(const JsonFields& top) const {
    TRY_ASSIGN(const std::string said, top.text("target"));
    const fs::path target = said.substr(0, said.find(' '));
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(path_, error).parent_path();
    for (const fs::path& root : {folder.parent_path(), folder.parent_path().parent_path()})
      if (fs::exists(root / target, error)) return root / target;
    return Error{fmt::format("{} is not beside {}", target.string(), folder.string())};
  }

  Status compare_drafter(const JsonFields& top) {
    TRY_ASSIGN(const auto weights, load_mtp(model_, pool_));
    TRY_ASSIGN(const fs::path target, beside(top));
    TRY_ASSIGN(const LoadedModel model, load_model(target, pool_));
    TRY_ASSIGN(const GoldenFile golden, GoldenFile::open(target.parent_path()));
    GoldenDrafts drafts;
    const json::value* lists = top.find("drafts");
    if (lists == nullptr || !lists->is_array()) return top.wrong("drafts", "a list");
    for (const json::value& list : lists->get_array()) {
      TRY_ASSIGN(auto read, read_draft_list(list, top.path_of("drafts")));
      drafts.push_back(std::move(read));
    }
    const auto forward = model.weights->placed_for(ops_)->make_forward(ops_, precision_);
    TRY_ASSIGN(check_.drafts, compare_golden_drafts(weights, drafts, golden, {precision_}, *forward));
    return forward->status();
  }

  // The same values under the same names as in the checkpoint that it was made from.
  Status compare_vision(const JsonFields& top, const GgufFiles& files) {
    TRY_ASSIGN(const fs::path target, beside(top));
    TRY_ASSIGN(const auto checkpoint, Checkpoint::open(target));
    GgufTensors made;
    TRY(add_gemma4_vision_tensors(files, &made));
    TRY_ASSIGN(const json::object vision, gemma4_vision_gguf_config(files));
    TRY_ASSIGN(const auto ours, read_vision_config(json::serialize(json::object{{"vision_config", vision}})));
    TRY_ASSIGN(const auto golden, read_vision_config(checkpoint->config_json()));
    check_.configs_equal = ours && golden && *ours == *golden;
    for (const TensorView& view : made.take()) {
      ++check_.vision_tensors;
      std::string name = view.name;
      const TensorView* other = checkpoint->find(name);
      // Linears of the tower are wrapped there.
      if (const size_t end = name.rfind(".weight"); other == nullptr && end != std::string::npos)
        other = checkpoint->find(name.replace(end, std::string::npos, ".linear.weight"));
      check_.vision_tensors_equal +=
          other != nullptr && other->shape == view.shape && same_values(view, *other) ? 1 : 0;
    }
    return Done{};
  }

  static float value_in(const TensorView& view, size_t i) {
    if (view.dtype == DType::f32) {
      float value = 0;
      std::memcpy(&value, view.values + 4 * i, sizeof value);
      return value;
    }
    uint16_t half = 0;
    std::memcpy(&half, view.values + 2 * i, sizeof half);
    return view.dtype == DType::bf16 ? bf16_to_f32(half) : f16_to_f32(half);
  }

  static bool same_values(const TensorView& a, const TensorView& b) {
    const size_t count = a.bytes / dtype_bytes(a.dtype);
    if (!is_float(a.dtype) || !is_float(b.dtype) || b.bytes / dtype_bytes(b.dtype) != count) return false;
    for (size_t i = 0; i < count; ++i)
      if (value_in(a, i) != value_in(b, i)) return false;
    return true;
  }

  fs::path path_, model_;
  Precision precision_;
  ThreadPool& pool_;
  kernels::Ops& ops_;
  json::object document_;
  GgufFileCheck check_;
};

}  // namespace

Result<GgufFileCheck> check_gguf_file(const fs::path& json, Precision precision, ThreadPool& pool, kernels::Ops& ops) {
  return GgufFileRun(json, precision, pool, ops).run();
}

}  // namespace paceline
