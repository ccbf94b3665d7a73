// Proposers for many sequences at once: one that drafts for all of them in a pass, or one of each sequence's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "speculate/proposer.h"

namespace paceline {

// One sequence's part of a round of drafting.
struct DraftAsk {
  DraftContext context;
  Proposer* own = nullptr;  // what start() gave for the sequence
  std::span<TokenId> out;   // as many as are wanted
  int32_t drafted = 0;      // written: how many there are
  // Written by enqueue(): the first draft's place, and how far behind it the next one lies.
  int32_t first = 0, stride = 0;
};

class BatchProposer {
 public:
  BatchProposer() = default;
  BatchProposer(const BatchProposer&) = delete;
  BatchProposer& operator=(const BatchProposer&) = delete;
  virtual ~BatchProposer() = default;

  // What a new sequence keeps for itself; may be none.
  virtual std::unique_ptr<Proposer> start() = 0;
  virtual void propose(std::span<DraftAsk> asks) = 0;
  // The same, but as many as are wanted of each, left in the backend's memory, with nobody waiting for them. None: this
  // proposer's drafts come from the host.
  virtual const TokenId* enqueue(std::span<DraftAsk> asks) {
    (void)asks;
    return nullptr;
  }
};

// Each sequence has a proposer of its own.
class SeparateProposers : public BatchProposer {
 public:
  using Make = std::function<std::unique_ptr<Proposer>()>;
  explicit SeparateProposers(Make make) : make_(std::move(make)) {}

  std::unique_ptr<Proposer> start() override { return make_(); }
  void propose(std::span<DraftAsk> asks) override {
    for (DraftAsk& ask : asks) ask.drafted = ask.own->propose(ask.context, ask.out);
  }

 private:
  Make make_;
};

}  // namespace paceline
