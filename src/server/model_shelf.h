// The models that can be served: loaded when somebody asks for them, within a budget of bytes, and gone again when
// others need the room. One thread comes and goes for them; requests hold a lease, and a model that is leased stays.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/step_turns.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/model_ticket.h"
#include "server/routing_log.h"
#include "server/working_model.h"
#include "session/model_head.h"

namespace paceline {

enum class ShelfState : uint8_t { unloaded, loading, loaded, unloading, failed };
const char* shelf_state_name(ShelfState state);

// Bytes, as far as they are known before anything is loaded.
struct ModelNeeds {
  size_t weights = 0, drafter = 0, kv = 0, scratch = 0;
  [[nodiscard]] size_t all() const { return weights + drafter + kv + scratch; }
  [[nodiscard]] ModelNeeds without_drafter() const { return {weights, 0, kv, scratch}; }
};

// One that can be served, and on what terms.
struct ShelfEntry {
  std::string name;
  std::vector<std::string> aliases;  // one that ends in * stands for all that begin so
  OpenOptions open;                  // where it lies: run.model
  ModelHead head;
  bool is_pinned = false;
  double idle_s = 0;          // without requests, after which it goes; 0: never
  bool has_own_idle = false;  // whoever changes that of all leaves it alone
};

struct ShelfTerms {
  size_t budget_bytes = 0;  // of all that are loaded; 0: no limit
  bool autoload = true;     // at the first request
  double stuck_s = 60;      // see Health
  RoutingLog* routing = nullptr;
  // What lies there now; those that are new are added. May be empty.
  std::function<std::vector<ShelfEntry>()> rescan;
};

// What somebody who loads a model by name wants of it besides.
struct LoadWish {
  std::optional<bool> pin;
  std::optional<double> idle_s;
  std::optional<std::string> draft;
};

// How one fares.
struct ModelView {
  ShelfEntry entry;
  ModelNeeds needs;
  ShelfState state = ShelfState::unloaded;
  std::string stage, error;
  double progress = 0;
  std::string drafter_state;  // none, not loaded, loaded, dropped, refused
  std::string drafter_reason;
  bool is_wanted = false;     // somebody had it loaded, who may not wait for that
  std::time_t last_used = 0;  // 0: never
  int32_t running = 0, waiting = 0;
  size_t kv_used = 0;
  ModelLease model;  // none: it is not loaded. Looking is no use of it.
};

// May be used by several threads.
class ModelShelf {
 public:
  // The first that can be loaded is meant where nobody says which. The log outlives it.
  ModelShelf(std::vector<ShelfEntry> entries, ShelfTerms terms, Log& log);
  // One that somebody else has opened, who outlives it; it is always there.
  ModelShelf(ServedModel& model, Metrics& metrics, ShelfTerms terms, Log& log);
  ~ModelShelf();
  ModelShelf(const ModelShelf&) = delete;
  ModelShelf& operator=(const ModelShelf&) = delete;

  // The name of the model that is called so; none: there is none.
  [[nodiscard]] std::optional<std::string> find(std::string_view called) const;
  // For a request: it comes where it is not there. Or, with a wish, for somebody who wants nothing but that.
  std::shared_ptr<ModelTicket> ask(const std::string& name, const LoadWish* wish = nullptr);
  // It goes, when those who work with it have ended. Who asks for it from now on waits until it has gone and come back.
  std::shared_ptr<ModelTicket> unload(const std::string& name);
  // Nobody waits for it to go any more: it stays, if it is still there.
  void stay(const std::string& name);
  // Reads the folders again: what is new is there from now on, and what has no files any more is not, once it is
  // unloaded.
  struct Rescan {
    size_t added = 0, removed = 0;
  };
  Rescan rescan();

  [[nodiscard]] ModelView look(const std::string& name);
  [[nodiscard]] std::vector<ModelView> look();
  [[nodiscard]] size_t budget_bytes() const { return terms_.budget_bytes; }
  [[nodiscard]] size_t used_bytes() const;
  [[nodiscard]] bool is_single() const;
  // Of those that are loaded. Called while none of them can go: it must not wait.
  void for_loaded(const std::function<void(const std::string& name, WorkingModel& model, Metrics& metrics)>& call);
  // Of the server as a whole; of a single model its own.
  [[nodiscard]] Metrics& metrics();
  // Of one model.
  [[nodiscard]] Metrics& metrics_of(const std::string& name);
  // All of them.
  [[nodiscard]] std::string metrics_text(const std::vector<LaneState>& lanes, int64_t log_lines_dropped);

  // For a request's label: how lines about it call it.
  [[nodiscard]] uint64_t routing_label(std::string request) const {
    return terms_.routing != nullptr ? terms_.routing->label_of(std::move(request)) : 0;
  }
  [[nodiscard]] int64_t next_routing_number() const {
    return terms_.routing != nullptr ? terms_.routing->next_number() : 0;
  }
  [[nodiscard]] std::vector<std::string> routing_since(int64_t number) const {
    return terms_.routing != nullptr ? terms_.routing->since(number) : std::vector<std::string>();
  }
  // JSON lines of what was chosen last; "": nothing is kept.
  [[nodiscard]] std::string routing_lines() const { return terms_.routing != nullptr ? terms_.routing->recent() : ""; }

  // Of all engines, those that are to come included; and after how long without requests models go.
  void turn(const EngineDials& dials, std::optional<double> idle_s);
  // Whether a loaded model is computed on one.
  [[nodiscard]] bool uses_device() const;
  // Nobody gets a model any more, and engines take no new requests.
  void drain();
  // Nothing is loaded any more, and engines end once nothing runs.
  void stop();

 private:
  struct Item;
  using Lock = std::unique_lock<std::mutex>;
  void add(ShelfEntry entry);
  void begin(Item& item, ShelfEntry entry);
  // Who is meant where nobody says which: the first that can be loaded, as far as is known.
  [[nodiscard]] std::optional<std::string> usual() const;
  [[nodiscard]] std::shared_ptr<Item> item_of(std::string_view name) const;
  ModelLease lease(const std::shared_ptr<Item>& item, bool is_use);
  [[nodiscard]] ModelView view_of(const std::shared_ptr<Item>& item);
  [[nodiscard]] std::optional<ApiError> refuse(const Item& item, bool by_wish) const;
  [[nodiscard]] size_t used_now() const;
  // Of models that no other makes go, without drafters that could.
  [[nodiscard]] size_t pinned_now() const;
  // Of all that are there, without drafters that could go.
  [[nodiscard]] size_t least_now() const;
  // The keeper looks again.
  void poke();

  // By the keeper.
  void keep();
  void wait_for_news(Lock& lock);
  [[nodiscard]] bool mark_idle();
  [[nodiscard]] std::chrono::steady_clock::time_point next_idle_end() const;
  bool unload_one(Lock& lock);
  bool load_one(Lock& lock);
  bool let_draft_again(Lock& lock);
  [[nodiscard]] std::shared_ptr<Item> next_wanted();
  // There is room for it by now, if need be without its drafter. `again`: for that something was given up first.
  bool has_room(Item& item, Lock& lock, bool& again);
  // Something was given up, or is about to go. False: nothing can. drafters_only: no model goes.
  bool make_room(const Item& wanted, bool drafters_only, Lock& lock);
  void tell_undrafted(const Item& item);
  void let_draft(const std::shared_ptr<Item>& item, bool may, Lock& lock);
  void load(const std::shared_ptr<Item>& item, Lock& lock);
  void forget_load(const std::shared_ptr<Item>& item);
  void end_load(const std::shared_ptr<Item>& item, Result<std::unique_ptr<WorkingModel>> made);
  void settle_coming(const std::shared_ptr<Item>& item, const std::optional<ApiError>& problem);

  ShelfTerms terms_;
  Log& log_;
  std::unique_ptr<Metrics> own_metrics_;  // of the server, where it has several models
  StepTurns turns_;
  StepTurns::Seat seat_{&turns_};  // the keeper's

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Item>> items_;
  int64_t asked_ = 0;
  std::optional<EngineDials> dials_;  // none: as they were opened
  bool is_draining_ = false, is_stopping_ = false;

  std::mutex news_mutex_;  // of the keeper's bell; held for nothing else
  std::condition_variable changed_;
  bool has_news_ = false;
  std::thread keeper_;
};

// An error that says both numbers where it can never fit.
Status check_room(const ModelNeeds& needs, size_t budget_bytes);
ModelNeeds needs_of(const ShelfEntry& entry);

}  // namespace paceline
