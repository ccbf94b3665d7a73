// Speculation as the command line asks for it, and what is said about it afterwards.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/machine.h"
#include "engine/decode.h"
#include "speculate/adaptive.h"

namespace paceline {

struct DraftOptions {
  std::string draft = "none";
  std::optional<int32_t> depth;  // none: chosen round by round
};

void add_draft_options(CLI::App& command, DraftOptions& options);

// Owns who drafts and who says how deep.
class Drafting {
 public:
  // For a target that runs on the machine. An error says what is wrong with the drafter's folder.
  static Result<std::unique_ptr<Drafting>> make(const DraftOptions& options, const Forward& target, Machine& machine);

  [[nodiscard]] Speculation speculation() const { return {proposer_.get(), depth_.get()}; }
  // "": nobody drafts.
  [[nodiscard]] std::string summary(const SpeculationCounters& counters) const;
  [[nodiscard]] boost::json::object json(const SpeculationCounters& counters) const;

 private:
  explicit Drafting(DraftOptions options);

  DraftOptions options_;
  StepCosts costs_;
  std::unique_ptr<Proposer> proposer_;
  std::unique_ptr<DepthPolicy> depth_;
};

}  // namespace paceline
