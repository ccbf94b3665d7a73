#include "cli/bench_drafter.h"

#include <fmt/format.h>

#include "cli/model_path.h"
#include "model/mtp_binding.h"
#include "session/drafter.h"
#include "speculate/mtp_proposer.h"
#include "speculate/ngram.h"
#include "speculate/scripted_proposers.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

Result<fs::path> own_drafter(const BenchTarget& target) {
  std::error_code error;
  for (const fs::path& place : drafter_places(target.folder, HubCaches::from_environment())) {
    if (!target.folder.empty() && fs::exists(place / "config.json", error)) return place;
  }
  return Error{fmt::format("no drafter found for {}: give --draft", target.name)};
}

Result<std::unique_ptr<Proposer>> make_random(const BenchSource& source, const BenchTarget& target,
                                              const Forward& forward, Machine& machine) {
  AssistantConfig config;
  SyntheticFormat format = synthetic_format(source);
  if (!source.synthetic.empty()) {
    TRY_ASSIGN(config, synthetic_mtp_config(source.synthetic));
  } else {
    TRY_ASSIGN(const fs::path own, own_drafter(target));
    TRY_ASSIGN(const auto weights, load_mtp(own, machine.pool()));
    TRY(check_fits(weights->config, forward.weights().config));
    config = weights->config;
    format = {weights->post_projection.format, std::max(weights->post_projection.group, 32)};
  }
  auto drafter = std::make_unique<MtpDrafter>(make_synthetic_mtp(config, format, machine.pool()),
                                              forward.shared_weights(), machine.ops(), forward.precision());
  return std::unique_ptr<Proposer>(std::make_unique<MtpProposer>(std::move(drafter)));
}

}  // namespace

Result<BenchDrafter> BenchDrafter::make(const std::string& asked, const BenchSource& source, const BenchTarget& target,
                                        const Forward& forward, Machine& machine) {
  BenchDrafter drafter;
  drafter.name_ = asked;
  drafter.vocab_ = forward.weights().config.vocab;
  if (asked == "perfect") return drafter;
  if (asked == "ngram") {
    drafter.proposer_ = std::make_unique<NgramProposer>();
  } else if (asked == "random") {
    TRY_ASSIGN(drafter.proposer_, make_random(source, target, forward, machine));
  } else {
    fs::path folder;
    if (asked == "auto") {
      TRY_ASSIGN(folder, own_drafter(target));
    } else {
      TRY_ASSIGN(folder, find_model(asked));
    }
    TRY_ASSIGN(drafter.proposer_, load_drafter(folder, forward, machine.pool(), machine.ops()));
    drafter.name_ = folder.string();
  }
  return drafter;
}

Proposer& BenchDrafter::for_request(const DecodeRequest& request, const std::vector<TokenId>& output) {
  if (proposer_ != nullptr) return *proposer_;
  knowing_ = std::make_unique<KnowingProposer>(request.prompt, output, vocab_, 1.0);
  return *knowing_;
}

}  // namespace paceline
