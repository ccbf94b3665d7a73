// Who drafts while `paceline bench --speculation` measures: real drafters, and the extremes that no drafter gets
// beyond.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/bench_target.h"
#include "proof/decode.h"
#include "session/machine.h"
#include "speculate/batch_proposer.h"

namespace paceline {

class BenchDrafter {
 public:
  // asked: auto, ngram, a folder; random: a drafter of the model's own drafter's shape with random weights, which costs
  // what that one costs and is never right; perfect: told beforehand, free and always right.
  static Result<BenchDrafter> make(const std::string& asked, const BenchSource& source, const BenchTarget& target,
                                   const Forward& forward, Machine& machine);

  [[nodiscard]] const std::string& name() const { return name_; }
  // For a request whose plain run gave these tokens; lives until the next call.
  Proposer& for_request(const DecodeRequest& request, const std::vector<TokenId>& output);
  // For what costs the same whatever the text; none for `perfect`.
  [[nodiscard]] Proposer* steady() const { return proposer_.get(); }
  // The same for many requests at once; none for `perfect`.
  [[nodiscard]] BatchProposer* batch() const { return batch_.get(); }

 private:
  std::string name_;
  std::unique_ptr<Proposer> proposer_;
  std::unique_ptr<BatchProposer> batch_;
  // perfect
  int32_t vocab_ = 0;
  std::unique_ptr<Proposer> knowing_;
};

}  // namespace paceline
