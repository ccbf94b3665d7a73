#include "cli/check_kv.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

#include "cli/console.h"
#include "proof/kv_check.h"
#include "session/model_path.h"
#include "weights/mapped_file.h"

namespace paceline {
namespace {

constexpr size_t kLongestText = size_t{64} << 20;

double per(double sum, int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

std::string row_of(const std::string& name, const KvBucket& bucket) {
  const auto kept = [&](const KvDistance& d) { return 100 * per(static_cast<double>(d.kept), bucket.positions); };
  const auto perplexity = [&](double surprisal) { return std::exp(per(surprisal, bucket.positions)); };
  return fmt::format("{:<14} {:>9} {:>11.3e} {:>11.3e} {:>9.2f} {:>9.2f} {:>11.4f} {:>11.4f} {:>11.4f}\n", name,
                     bucket.positions, per(bucket.floor.kl, bucket.positions), per(bucket.asked.kl, bucket.positions),
                     kept(bucket.floor), kept(bucket.asked), perplexity(bucket.truth_surprisal),
                     perplexity(bucket.floor.surprisal), perplexity(bucket.asked.surprisal));
}

std::string table_of(const KvCheck& check, const std::string& asked) {
  std::string out = fmt::format(
      "Mean KL divergence from keys and values in float32 (nats), first choices kept (%), perplexity\n"
      "{:<14} {:>9} {:>11} {:>11} {:>9} {:>9} {:>11} {:>11} {:>11}\n",
      "position", "positions", "KL bf16", "KL " + asked, "bf16 %", asked + " %", "f32", "bf16", asked);
  for (const KvBucket& bucket : check.buckets) out += row_of(fmt::format("{} …", bucket.first), bucket);
  return out + row_of("all", check.all());
}

boost::json::object json_of(const KvBucket& bucket) {
  const auto distance = [&](const KvDistance& d) {
    return boost::json::object{{"kl", per(d.kl, bucket.positions)},
                               {"kept", per(static_cast<double>(d.kept), bucket.positions)},
                               {"perplexity", std::exp(per(d.surprisal, bucket.positions))}};
  };
  return {{"first_position", bucket.first},
          {"positions", bucket.positions},
          {"perplexity_f32", std::exp(per(bucket.truth_surprisal, bucket.positions))},
          {"bf16", distance(bucket.floor)},
          {"asked", distance(bucket.asked)}};
}

Result<KvCheck> checked(const RunOptions& run, const std::string& text_file) {
  TRY_ASSIGN(const std::string text, read_file(text_file, kLongestText));
  TRY_ASSIGN(const auto folder, find_model(run.model));
  TRY_ASSIGN(const auto machine, Machine::make({.threads = run.threads, .device = run.device}));
  TRY_ASSIGN(const TextModel model, load_text_model(folder, machine->pool()));
  const ModelWeights& weights = *model.loaded.weights;
  TRY(weights.check(machine->ops().limits()));
  TRY(check_formats(kv_formats(run), weights.state(), machine->ops().limits()));
  const std::vector<TokenId> tokens = model.tokenizer.encode(text, true);
  if (tokens.size() < 2) return Error{fmt::format("{}: a text of two tokens at least is needed", text_file)};
  return check_kv(*weights.placed_for(machine->ops()), machine->ops(), tokens,
                  {.asked = kv_formats(run), .precision = run.precision});
}

}  // namespace

int check_kv_of(const RunOptions& run, const std::string& text_file, bool json) {
  const auto check = checked(run, text_file);
  if (!check.ok()) return fail(kExitFailure, check.error().message);
  const std::string asked = kv_formats_name(kv_formats(run));
  std::string out = table_of(*check, asked);
  if (json) {
    boost::json::array buckets;
    for (const KvBucket& bucket : check->buckets) buckets.push_back(json_of(bucket));
    out = boost::json::serialize(
              boost::json::object{{"kv", asked}, {"buckets", buckets}, {"all", json_of(check->all())}}) +
          "\n";
  }
  if (const auto error = write_out(out)) return fail_to_write(error);
  return kExitDone;
}

}  // namespace paceline
