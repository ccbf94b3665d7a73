// Who drafts in a measurement: real drafters, and the extremes that no drafter gets beyond.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/target.h"
#include "engine/request.h"
#include "model/forward.h"
#include "session/machine.h"
#include "speculate/drafter.h"
#include "speculate/scripted_drafters.h"
#include "speculate/step_costs.h"

namespace paceline {

class BenchDrafter {
 public:
  // asked: several, with commas between; of each or alone: auto, all that the program would take; ngram; a folder;
  // random: a drafter of the model's own drafter's shape with random weights, which costs what that one costs and is
  // never right; random-dflash: likewise, of a synthetic shape's block drafter; perfect: told beforehand, free and
  // always right.
  static Result<BenchDrafter> make(const std::string& asked, const BenchSource& source, const BenchTarget& target,
                                   Forward& forward, Machine& machine);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Drafter& drafter() const { return *drafter_; }
  // It must be told each text, and knows one at a time.
  [[nodiscard]] bool wants_texts() const { return knowing_ != nullptr; }
  // The request that comes next, and what its plain run gave.
  void tell(const Request& request, const std::vector<TokenId>& output);
  // What rounds take, timed before the first that counts.
  [[nodiscard]] std::vector<StepCosts> time_rounds(Forward& forward) const;

 private:
  using Drafters = std::vector<std::unique_ptr<Drafter>>;
  Status add(const std::string& asked, const BenchSource& source, const BenchTarget& target, Forward& forward,
             Machine& machine, Drafters& drafters);
  void called(const std::string& name) { name_ += (name_.empty() ? "" : ", ") + name; }

  std::string name_;
  std::unique_ptr<Drafter> drafter_;
  std::vector<Drafter*> each_;         // of it
  KnowingDrafter* knowing_ = nullptr;  // the same, where it is `perfect`
};

}  // namespace paceline
