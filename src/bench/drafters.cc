#include "bench/drafters.h"

#include <fmt/format.h>

#include "session/drafter.h"
#include "session/model_path.h"
#include "speculate/calibrate.h"
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

Result<Drafter> named_drafter(const std::string& asked, const Forward& forward, Machine& machine) {
  TRY_ASSIGN(const fs::path folder, find_model(asked));
  return Drafter::load(folder, forward, machine.pool(), machine.ops());
}

}  // namespace

Result<BenchDrafter> BenchDrafter::make(const std::string& asked, const BenchSource& source, const BenchTarget& target,
                                        const Forward& forward, Machine& machine) {
  BenchDrafter drafter;
  drafter.name_ = asked;
  if (asked == "perfect") {
    drafter.known_ = std::make_shared<KnownText>();
    drafter.proposer_ = std::make_unique<SeparateProposers>([known = drafter.known_, vocab = forward.config().vocab] {
      return std::make_unique<KnowingProposer>(known->prompt, known->output, vocab, 1.0);
    });
  } else if (asked == "ngram") {
    drafter.steady_ = std::make_unique<NgramProposer>();
    drafter.proposer_ = std::make_unique<SeparateProposers>([] { return std::make_unique<NgramProposer>(); });
  } else if (asked == "random") {
    TRY_ASSIGN(const auto weights, random_weights(source, target, forward, machine));
    const auto make = [&] {
      return std::make_unique<MtpDrafter>(weights, as_gemma4(forward.weights()), machine.ops(), forward.precision());
    };
    drafter.steady_ = std::make_unique<MtpProposer>(make());
    drafter.proposer_ = std::make_unique<MtpBatchProposer>(make());
  } else {
    TRY_ASSIGN(const Drafter found,
               asked == "auto" ? own_drafter(target, forward, machine) : named_drafter(asked, forward, machine));
    drafter.steady_ = found.proposer();
    drafter.proposer_ = found.batch_proposer();
    drafter.name_ = found.folder().string();
  }
  return drafter;
}

void BenchDrafter::tell(const Request& request, const std::vector<TokenId>& output) {
  if (known_ != nullptr) *known_ = {request.prompt, output};
}

StepCosts BenchDrafter::time_rounds(Forward& forward) const {
  constexpr double kCalibrationMs = 500;
  StepCosts costs;
  calibrate(forward, steady_.get(), costs, kCalibrationMs);
  return costs;
}

}  // namespace paceline
