#include "cli/bench_drafter.h"

#include <fmt/format.h>

#include "session/drafter.h"
#include "session/model_path.h"
#include "speculate/mtp_proposer.h"
#include "speculate/ngram.h"
#include "speculate/scripted_proposers.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

Result<Drafter> own_drafter(const BenchTarget& target, const Forward& forward, Machine& machine) {
  std::string passed_by;
  if (!target.folder.empty()) {
    auto found = Drafter::find(target.folder, forward, machine.pool(), machine.ops(), &passed_by);
    if (found) return std::move(*found);
  }
  return Error{fmt::format("no drafter found for {}: give --draft{}", target.name, passed_by)};
}

Result<std::shared_ptr<const MtpWeights>> random_weights(const BenchSource& source, const BenchTarget& target,
                                                         const Forward& forward, Machine& machine) {
  AssistantConfig config;
  SyntheticFormat format = synthetic_format(source);
  if (!source.synthetic.empty()) {
    TRY_ASSIGN(config, synthetic_mtp_config(source.synthetic));
  } else {
    TRY_ASSIGN(const Drafter own, own_drafter(target, forward, machine));
    config = own.weights().config;
    format = {own.weights().post_projection.format, std::max(own.weights().post_projection.group, 32)};
  }
  return make_synthetic_mtp(config, format, machine.pool());
}

Result<Drafter> named(const std::string& asked, const Forward& forward, Machine& machine) {
  TRY_ASSIGN(const fs::path folder, find_model(asked));
  return Drafter::load(folder, forward, machine.pool(), machine.ops());
}

}  // namespace

Result<BenchDrafter> BenchDrafter::make(const std::string& asked, const BenchSource& source, const BenchTarget& target,
                                        const Forward& forward, Machine& machine) {
  BenchDrafter drafter;
  drafter.name_ = asked;
  drafter.vocab_ = forward.config().vocab;
  if (asked == "perfect") return drafter;
  if (asked == "ngram") {
    drafter.proposer_ = std::make_unique<NgramProposer>();
    drafter.batch_ = std::make_unique<SeparateProposers>([] { return std::make_unique<NgramProposer>(); });
  } else if (asked == "random") {
    TRY_ASSIGN(const auto weights, random_weights(source, target, forward, machine));
    const auto make = [&] {
      return std::make_unique<MtpDrafter>(weights, as_gemma4(forward.weights()), machine.ops(), forward.precision());
    };
    drafter.proposer_ = std::make_unique<MtpProposer>(make());
    drafter.batch_ = std::make_unique<MtpBatchProposer>(make());
  } else {
    TRY_ASSIGN(const Drafter found,
               asked == "auto" ? own_drafter(target, forward, machine) : named(asked, forward, machine));
    drafter.proposer_ = found.proposer();
    drafter.batch_ = found.batch_proposer();
    drafter.name_ = found.folder().string();
  }
  return drafter;
}

Proposer& BenchDrafter::for_request(const DecodeRequest& request, const std::vector<TokenId>& output) {
  if (proposer_ != nullptr) return *proposer_;
  knowing_ = std::make_unique<KnowingProposer>(request.prompt, output, vocab_, 1.0);
  return *knowing_;
}

}  // namespace paceline
