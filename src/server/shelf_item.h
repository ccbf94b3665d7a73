// One model of the shelf, and how it fares. What is not atomic is guarded by the shelf.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "server/model_shelf.h"

namespace paceline {

struct ModelShelf::Item {
  using Clock = std::chrono::steady_clock;

  ShelfEntry entry;
  ModelNeeds needs;
  Metrics* metrics = nullptr;
  std::unique_ptr<Metrics> own_metrics;
  std::unique_ptr<StepObserver> routing;
  ShelfState state = ShelfState::unloaded;
  std::string stage, error;
  double progress = 0;
  std::unique_ptr<WorkingModel> working;
  std::atomic<int32_t> users = 0;  // leases
  std::atomic<Clock::rep> last_used = Clock::now().time_since_epoch().count();
  std::atomic<std::time_t> last_used_s = 0;
  std::vector<std::weak_ptr<ModelTicket>> coming, going;
  bool is_wanted = false;     // whether somebody waits for it or not
  int64_t asked = 0;          // when, among others
  bool drafts_not = false;    // its drafter gave its memory up
  bool stays_always = false;  // somebody else's
  bool has_left = false;      // its files are gone: nobody finds it, unless they come back
  // Who drafted for it before somebody wished for another, until it has come with that one.
  std::optional<std::string> draft_before;

  [[nodiscard]] bool takes_memory() const { return state != ShelfState::unloaded && state != ShelfState::failed; }
  [[nodiscard]] bool is_idle() const { return state == ShelfState::loaded && users == 0; }
  [[nodiscard]] bool has_files() const {
    std::error_code failed;
    return entry.head.place.empty() || std::filesystem::exists(entry.head.place, failed);
  }
  // Nobody has it, nor waits for it.
  [[nodiscard]] bool is_left_alone() const {
    return !takes_memory() && !is_wanted && !stays_always &&
           std::all_of(coming.begin(), coming.end(), [](const auto& ticket) { return ticket.expired(); });
  }
  [[nodiscard]] bool stays() const { return entry.is_pinned || stays_always; }
  [[nodiscard]] bool may_go() const { return is_idle() && !stays(); }
  [[nodiscard]] const Drafting* drafting() const {
    return working != nullptr && working->opened() != nullptr ? &working->opened()->drafting() : nullptr;
  }
  [[nodiscard]] bool can_stop_drafting() const {
    return state == ShelfState::loaded && !drafts_not && drafting() != nullptr && drafting()->is_lazy();
  }
  [[nodiscard]] Clock::time_point used_at() const { return Clock::time_point(Clock::duration(last_used)); }
  void wish_draft(const std::string& draft) {
    if (!draft_before) draft_before = entry.open.draft.draft;
    set_draft(draft);
  }
  // One that it came with is kept; otherwise all is as it was.
  void end_draft_wish(bool came) {
    if (draft_before && !came) set_draft(*draft_before);
    draft_before.reset();
  }
  void set_draft(const std::string& draft) {
    entry.open.draft.draft = draft;
    needs.drafter = needs_of(entry).drafter;
  }
  [[nodiscard]] size_t bytes() const { return needs.all() - (drafts_not ? needs.drafter : 0); }
  // With its drafter given up, where that can be, or is not known yet.
  [[nodiscard]] size_t least_bytes() const {
    const bool can_give_up = drafts_not || drafting() == nullptr || drafting()->is_lazy();
    return needs.all() - (can_give_up ? needs.drafter : 0);
  }
};

// Whoever has gone waits no more.
inline void drop_gone(std::vector<std::weak_ptr<ModelTicket>>& tickets) {
  std::erase_if(tickets, [](const auto& ticket) { return ticket.expired(); });
}

}  // namespace paceline
