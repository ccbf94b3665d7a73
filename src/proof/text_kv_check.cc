#include "proof/text_kv_check.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>

#include "base/regular_file.h"
#include "kernels/cpu_ops.h"
#include "proof/rounding_ops.h"
#include "session/model_path.h"

namespace paceline {
namespace {

constexpr size_t kLongestText = size_t{64} << 20;

std::string bucket_row(const KvBucket& bucket, size_t way, const std::string& name) {
  return fmt::format("{:<22} {:>11.3e} {:>9.2f} {:>10.3f} {:>12.4f} {:>+10.4f}\n", name, bucket.kl(way),
                     bucket.ways[0].kl > 0 ? bucket.ways[way].kl / bucket.ways[0].kl : 0, 100 * bucket.kept(way),
                     bucket.perplexity(way), 100 * (bucket.perplexity(way) / bucket.truth_perplexity() - 1));
}

boost::json::object bucket_json(const TextKvCheck& checked, const KvBucket& bucket) {
  boost::json::object ways;
  for (size_t way = 0; way < bucket.ways.size(); ++way)
    ways[checked.ways[way]] =
        boost::json::object{{"kl", bucket.kl(way)}, {"kept", bucket.kept(way)}, {"perplexity", bucket.perplexity(way)}};
  return {{"first_position", bucket.first},
          {"positions", bucket.positions},
          {"perplexity_f32", bucket.truth_perplexity()},
          {"kept_in", ways}};
}

}  // namespace

Result<TextKvCheck> check_text_kv(const RunOptions& run, const std::string& text_file) {
  TRY_ASSIGN(const std::string text, read_file(text_file, kLongestText));
  TRY_ASSIGN(const auto folder, find_model(run.model));
  TRY_ASSIGN(const auto machine, Machine::make({.threads = run.threads, .device = run.device}));
  TRY_ASSIGN(const TextModel model, load_text_model(folder, machine->pool()));
  const ModelWeights& weights = *model.loaded.weights;
  TRY(weights.check(machine->ops().limits()));
  TRY(check_formats(kv_formats(run), weights.state(), machine->ops().limits()));
  const std::vector<TokenId> tokens = model.tokenizer.encode(text, true);
  if (tokens.size() < 2) return Error{fmt::format("{}: a text of two tokens at least is needed", text_file)};
  KvCheckSettings settings;
  settings.precision = run.precision;
  settings.ways = {{"bf16", DType::bf16}, {kv_formats_name(kv_formats(run)), kv_formats(run)}};
  // What others keep in as many bytes, where it can be shown.
  std::optional<RoundingOps> small_floats;
  if (const auto* processor = dynamic_cast<kernels::CpuOps*>(&machine->ops())) {
    small_floats.emplace(processor->table(), machine->pool(), e4m3_rounding());
    KvFormats apart = DType::f32;
    apart.joined = false;
    settings.ways.push_back({"8-bit floats (e4m3)", apart, &*small_floats});
  }
  TextKvCheck out;
  out.kv = kv_formats_name(kv_formats(run));
  for (const KvWay& way : settings.ways) out.ways.push_back(way.name);
  TRY_ASSIGN(out.check, check_kv(*weights.placed_for(machine->ops()), machine->ops(), tokens, settings));
  return out;
}

std::string text_kv_table(const TextKvCheck& checked) {
  std::string out = fmt::format(
      "Next tokens beside those with keys and values in float32: mean KL divergence (nats), the same over bf16's, "
      "first "
      "choices kept (%), perplexity, and how much more it is (%)\n{:<10} {:>10}  {:<22} {:>11} {:>9} {:>10} {:>12} "
      "{:>10}\n",
      "position", "positions", "kept in", "KL", "÷ bf16", "kept", "perplexity", "more");
  const auto add = [&](const std::string& position, const KvBucket& bucket) {
    for (size_t way = 0; way < bucket.ways.size(); ++way) {
      out += way == 0 ? fmt::format("{:<10} {:>10}  ", position, bucket.positions) : std::string(23, ' ');
      out += bucket_row(bucket, way, checked.ways[way]);
    }
  };
  for (const KvBucket& bucket : checked.check.buckets) add(fmt::format("{} …", bucket.first), bucket);
  add("all", checked.check.all());
  return out;
}

boost::json::object text_kv_json(const TextKvCheck& checked) {
  boost::json::array buckets;
  for (const KvBucket& bucket : checked.check.buckets) buckets.push_back(bucket_json(checked, bucket));
  return {{"kv", checked.kv}, {"buckets", buckets}, {"all", bucket_json(checked, checked.check.all())}};
}

}  // namespace paceline
