// What speculation did, for reports; nothing depends on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "speculate/drafter.h"

namespace paceline {

struct SpeculationCounters {
  int64_t rounds = 0;    // forwards that chose, the one at the prompt's end included
  int64_t drafted = 0;   // drafts that were verified
  int64_t accepted = 0;  // of them, those emitted
  int64_t emitted = 0;   // all tokens
  std::array<int64_t, kMaxDraftTokens> drafted_at{}, accepted_at{};  // by position behind the newest token
  // Rounds with drafts, by who guessed them.
  struct Share {
    int64_t rounds = 0, drafted = 0, accepted = 0;
  };
  std::array<Share, kDraftedByKinds> by{};
  // Of rounds after the prompt. Committing includes handing tokens on.
  double draft_ms = 0, verify_ms = 0, choose_ms = 0, commit_ms = 0;

  SpeculationCounters& operator+=(const SpeculationCounters& more) {
    rounds += more.rounds, drafted += more.drafted, accepted += more.accepted, emitted += more.emitted;
    for (size_t i = 0; i < drafted_at.size(); ++i) {
      drafted_at[i] += more.drafted_at[i];
      accepted_at[i] += more.accepted_at[i];
    }
    for (size_t i = 0; i < by.size(); ++i) {
      by[i].rounds += more.by[i].rounds;
      by[i].drafted += more.by[i].drafted;
      by[i].accepted += more.by[i].accepted;
    }
    draft_ms += more.draft_ms, verify_ms += more.verify_ms;
    choose_ms += more.choose_ms, commit_ms += more.commit_ms;
    return *this;
  }

  [[nodiscard]] double tokens_per_round() const { return ratio(emitted, rounds); }
  [[nodiscard]] double accepted_of_drafted() const { return ratio(accepted, drafted); }
  [[nodiscard]] double accepted_of_emitted() const { return ratio(accepted, emitted); }

 private:
  static double ratio(int64_t part, int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }
};

}  // namespace paceline
