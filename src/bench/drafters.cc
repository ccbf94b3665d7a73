#include "bench/drafters.h"

#include <fmt/format.h>

#include "model/gemma4/synthetic.h"
#include "session/found_drafter.h"
#include "session/model_path.h"
#include "speculate/calibrate.h"
#include "speculate/dflash/dflash_drafter.h"
#include "speculate/dflash/dflash_synthetic.h"
#include "speculate/drafter_set.h"
#include "speculate/mtp/mtp_drafter.h"
#include "speculate/ngram/ngram_drafter.h"
#include "speculate/scripted_drafters.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

Result<std::vector<FoundDrafter>> own_drafters(const BenchTarget& target, Forward& forward, Machine& machine) {
  std::string passed_by;
  if (!target.folder.empty()) {
    auto found = FoundDrafter::find(target.folder, forward, machine.pool(), machine.ops(), &passed_by);
    if (!found.empty()) return found;
  }
  return Error{fmt::format("no drafter found for {}: give --draft{}", target.name, passed_by)};
}

Result<std::shared_ptr<const MtpWeights>> random_weights(const BenchSource& source, const BenchTarget& target,
                                                         Forward& forward, Machine& machine) {
  if (!source.random.shape.empty()) return make_random_mtp_weights(source.random, machine.pool());
  TRY_ASSIGN(const std::vector<FoundDrafter> all, own_drafters(target, forward, machine));
  const FoundDrafter& own = all.front();
  if (own.mtp() == nullptr)
    return Error{fmt::format("{}: no MTP drafter, of which a random one could be made", own.folder().string())};
  const SyntheticFormat format{own.mtp()->post_projection.format, std::max(own.mtp()->post_projection.group, 32)};
  return make_synthetic_mtp(own.mtp()->config, format, machine.pool());
}

Result<std::unique_ptr<Drafter>> random_dflash(const BenchSource& source, Forward& forward, Machine& machine) {
  if (source.random.shape.empty()) return Error{"--draft random-dflash goes with --synthetic"};
  TRY_ASSIGN(const DflashConfig config, synthetic_dflash_config(source.random.shape));
  TRY(check_backend(config, machine.ops()));
  const auto weights = make_synthetic_dflash(config, synthetic_format(source.random), machine.pool());
  return std::unique_ptr<Drafter>(std::make_unique<DflashDrafter>(std::make_unique<DflashForward>(weights, forward)));
}

Result<FoundDrafter> named_drafter(const std::string& asked, Forward& forward, Machine& machine) {
  TRY_ASSIGN(const fs::path folder, find_model(asked));
  return FoundDrafter::load(folder, forward, machine.pool(), machine.ops());
}

}  // namespace

Status BenchDrafter::add(const std::string& asked, const BenchSource& source, const BenchTarget& target,
                         Forward& forward, Machine& machine, Drafters& drafters) {
  if (asked == "auto") {
    TRY_ASSIGN(const std::vector<FoundDrafter> all, own_drafters(target, forward, machine));
    for (const FoundDrafter& found : all) {
      drafters.push_back(found.drafter());
      called(found.folder().string());
    }
    return add("ngram", source, target, forward, machine, drafters);
  }
  if (asked == "perfect") {
    auto knowing =
        std::make_unique<KnowingDrafter>(std::vector<TokenId>(), std::vector<TokenId>(), forward.config().vocab, 1.0);
    knowing_ = knowing.get();
    drafters.push_back(std::move(knowing));
  } else if (asked == "ngram") {
    drafters.push_back(std::make_unique<NgramDrafter>());
  } else if (asked == "random-dflash") {
    TRY_ASSIGN(auto made, random_dflash(source, forward, machine));
    drafters.push_back(std::move(made));
  } else if (asked == "random") {
    if (as_gemma4(forward.weights()) == nullptr) return Error{"--draft random is for Gemma's MTP drafters"};
    TRY_ASSIGN(const auto weights, random_weights(source, target, forward, machine));
    drafters.push_back(std::make_unique<MtpDrafter>(
        std::make_unique<MtpForward>(weights, as_gemma4(forward.weights()), machine.ops(), forward.precision())));
  } else {
    TRY_ASSIGN(const FoundDrafter found, named_drafter(asked, forward, machine));
    drafters.push_back(found.drafter());
    called(found.folder().string());
    return Done{};
  }
  called(asked);
  return Done{};
}

Result<BenchDrafter> BenchDrafter::make(const std::string& asked, const BenchSource& source, const BenchTarget& target,
                                        Forward& forward, Machine& machine) {
  BenchDrafter drafter;
  Drafters drafters;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = asked.find(',', begin);
    TRY(drafter.add(asked.substr(begin, end - begin), source, target, forward, machine, drafters));
  }
  for (const auto& one : drafters) drafter.each_.push_back(one.get());
  drafter.drafter_ = drafters.size() == 1 ? std::move(drafters.front())
                                          : std::make_unique<DrafterSet>(std::move(drafters), forward.config().hidden);
  return drafter;
}

void BenchDrafter::tell(const Request& request, const std::vector<TokenId>& output) {
  if (knowing_ != nullptr) knowing_->know(request.prompt, output);
}

std::vector<StepCosts> BenchDrafter::time_rounds(Forward& forward) const {
  constexpr double kCalibrationMs = 500;
  std::vector<StepCosts> costs(each_.size());
  std::vector<TimedDrafter> timed;
  // What is told beforehand costs nothing.
  for (size_t i = 0; i < each_.size(); ++i) timed.push_back({each_[i] == knowing_ ? nullptr : each_[i], &costs[i]});
  calibrate(forward, timed, kCalibrationMs);
  return costs;
}

}  // namespace paceline
