// What the shelf's own thread does: loads what is wanted, one after the other, and unloads what is to go.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/resident_memory.h"
#include "base/units_text.h"
#include "server/shelf_item.h"

namespace paceline {
namespace {

using Clock = std::chrono::steady_clock;

ApiError cannot_load(const std::string& name, const std::string& why) {
  return {.status = 500,
          .message = fmt::format("the model {} could not be loaded: {}", name, why),
          .type = "server_error",
          .param = "model",
          .code = "model_load_failed"};
}

}  // namespace

void ModelShelf::keep() {
  Lock lock(mutex_);
  while (!is_stopping_) {
    if (!unload_one(lock) && !load_one(lock) && !let_draft_again(lock)) wait_for_news(lock);
  }
  for (const auto& item : items_) settle_coming(item, shutting_down());
}

void ModelShelf::wait_for_news(Lock& lock) {
  const Clock::time_point until = next_idle_end();
  lock.unlock();
  {
    Lock news(news_mutex_);
    const auto has_some = [this] { return has_news_; };
    if (until == Clock::time_point::max()) {
      changed_.wait(news, has_some);
    } else {
      changed_.wait_until(news, until, has_some);
    }
    has_news_ = false;
  }
  lock.lock();
}

Clock::time_point ModelShelf::next_idle_end() const {
  Clock::time_point next = Clock::time_point::max();
  for (const auto& item : items_) {
    if (!item->may_go() || item->entry.idle_s <= 0) continue;
    const auto most = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(item->entry.idle_s));
    next = std::min(next, item->used_at() + most);
  }
  return next;
}

// Those that nobody has used for as long as they may be idle.
bool ModelShelf::mark_idle() {
  const auto now = Clock::now();
  for (const auto& item : items_) {
    if (!item->may_go() || item->entry.idle_s <= 0) continue;
    if (std::chrono::duration<double>(now - item->used_at()).count() < item->entry.idle_s) continue;
    item->state = ShelfState::unloading;
    return true;
  }
  return false;
}

bool ModelShelf::unload_one(Lock& lock) {
  if (mark_idle()) return true;
  const auto found = std::find_if(items_.begin(), items_.end(), [](const auto& item) {
    return item->state == ShelfState::unloading && item->users == 0;
  });
  if (found == items_.end()) return false;
  const std::shared_ptr<Item> item = *found;
  std::unique_ptr<WorkingModel> working = std::move(item->working);
  lock.unlock();
  working->stop();
  item->metrics->keep_engine(working->served().engine().stats());
  working.reset();
  give_freed_memory_back();
  log_.info(fmt::format("unloaded {}", item->entry.name));
  lock.lock();
  item->state = ShelfState::unloaded;
  item->drafts_not = false;
  item->needs.drafter = needs_of(item->entry).drafter;
  for (const auto& weak : std::exchange(item->going, {})) {
    if (const auto ticket = weak.lock()) ticket->settle(nullptr, std::nullopt);
  }
  return true;
}

std::shared_ptr<ModelShelf::Item> ModelShelf::next_wanted() {
  std::shared_ptr<Item> next;
  for (const auto& item : items_) {
    drop_gone(item->coming);
    if (item->coming.empty() && !item->is_wanted) {
      item->asked = 0;
      continue;
    }
    if (item->takes_memory()) continue;
    if (next == nullptr || item->asked < next->asked) next = item;
  }
  return next;
}

bool ModelShelf::load_one(Lock& lock) {
  const std::shared_ptr<Item> item = next_wanted();
  if (item == nullptr) return false;
  // What it needs may have changed since it was asked for.
  if (const auto problem = refuse(*item, true)) {
    settle_coming(item, *problem);
    return true;
  }
  bool again = false;
  if (!has_room(*item, lock, again)) return again;
  load(item, lock);
  return true;
}

bool ModelShelf::has_room(Item& item, Lock& lock, bool& again) {
  const size_t most = terms_.budget_bytes;
  if (most == 0) return true;
  const auto fits = [&](bool drafts) {
    item.drafts_not = !drafts;
    return used_now() + item.bytes() <= most;
  };
  // For a drafter others give up theirs, and no model goes.
  const bool may_draft = least_now() + item.needs.all() <= most;
  if (may_draft && fits(true)) return true;
  again = may_draft && make_room(item, true, lock);
  if (!again && fits(false)) {
    tell_undrafted(item);
    return true;
  }
  again = again || make_room(item, false, lock);
  item.drafts_not = false;
  return false;
}

void ModelShelf::tell_undrafted(const Item& item) {
  log_.info(fmt::format("{} comes without its drafter: with it it needs {} of {}, and others have {}", item.entry.name,
                        bytes_text(static_cast<double>(item.needs.all())),
                        bytes_text(static_cast<double>(terms_.budget_bytes)),
                        bytes_text(static_cast<double>(used_now()))));
}

bool ModelShelf::make_room(const Item& wanted, bool drafters_only, Lock& lock) {
  // In this order: drafters of those that are idle, those that are idle, the longest first, and others' drafters.
  for (const bool idle : {true, false}) {
    for (const auto& item : items_) {
      if (!item->can_stop_drafting() || item->is_idle() != idle || item->needs.drafter == 0) continue;
      log_.info(fmt::format("{} stops drafting, to make room for {}", item->entry.name, wanted.entry.name));
      let_draft(item, false, lock);
      return true;
    }
    if (!idle || drafters_only) continue;
    std::shared_ptr<Item> oldest;
    for (const auto& item : items_) {
      if (item->may_go() && (oldest == nullptr || item->last_used < oldest->last_used)) oldest = item;
    }
    if (oldest == nullptr) continue;
    log_.info(fmt::format("{} makes room for {}", oldest->entry.name, wanted.entry.name));
    oldest->state = ShelfState::unloading;
    return true;
  }
  return false;
}

// Between two steps of whatever runs.
void ModelShelf::let_draft(const std::shared_ptr<Item>& item, bool may, Lock& lock) {
  const ModelLease held = lease(item, false);
  lock.unlock();
  {
    const StepTurns::Turn turn(seat_);
    item->working->opened()->let_draft(may);
  }
  give_freed_memory_back();
  lock.lock();
  item->drafts_not = !may;
}

bool ModelShelf::let_draft_again(Lock& lock) {
  // Somebody waits for the room.
  if (next_wanted() != nullptr) return false;
  for (const auto& item : items_) {
    if (!item->drafts_not || item->state != ShelfState::loaded) continue;
    if (used_now() + item->needs.drafter > terms_.budget_bytes) continue;
    let_draft(item, true, lock);
    return true;
  }
  return false;
}

void ModelShelf::load(const std::shared_ptr<Item>& item, Lock& lock) {
  item->state = ShelfState::loading;
  item->error.clear();
  item->stage = "weights";
  item->progress = 0;
  OpenOptions options = item->entry.open;
  // One that waits to be asked can be kept from it.
  options.draft.lazy = options.draft.lazy || item->drafts_not;
  const std::string name = item->entry.name;
  options.stage = [this, item, before = options.stage](const char* what) {
    if (before) before(what);
    const std::lock_guard inner(mutex_);
    item->stage = what;
    item->progress = 0;
  };
  options.progress = [this, item](int64_t done, int64_t total) {
    const std::lock_guard inner(mutex_);
    item->progress = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  };
  options.tell = [this](const std::string& text) { log_.info(text); };
  bool was_given_up = false;
  options.gives_up = [this, item, &was_given_up] {
    const std::lock_guard inner(mutex_);
    drop_gone(item->coming);
    was_given_up = is_stopping_ || (item->coming.empty() && !item->is_wanted && !item->entry.is_pinned);
    return was_given_up;
  };
  lock.unlock();
  auto made = WorkingModel::open(options, name, item->entry.aliases, terms_.stuck_s);
  if (!made.ok() && was_given_up) give_freed_memory_back();
  lock.lock();
  if (!made.ok() && was_given_up) {
    forget_load(item);
  } else {
    end_load(item, std::move(made));
  }
}

// Nobody waits for it any more. Who came in the last moment has it loaded anew.
void ModelShelf::forget_load(const std::shared_ptr<Item>& item) {
  log_.info(fmt::format("{} is not loaded any further: nobody waits for it", item->entry.name));
  item->stage.clear();
  item->progress = 0;
  item->drafts_not = false;
  item->state = ShelfState::unloaded;
  item->end_draft_wish(false);
  for (const auto& weak : std::exchange(item->going, {})) {
    if (const auto ticket = weak.lock()) ticket->settle(nullptr, std::nullopt);
  }
}

void ModelShelf::end_load(const std::shared_ptr<Item>& item, Result<std::unique_ptr<WorkingModel>> made) {
  item->stage.clear();
  if (!made.ok()) {
    // Of one that is alone its caller says it, and ends.
    if (!is_single()) log_.error(fmt::format("{} could not be loaded: {}", item->entry.name, made.error().message));
    item->state = ShelfState::failed;
    item->drafts_not = false;
    // Where it lay is nothing that concerns clients.
    item->error = item->has_files() ? made.error().message : "its files are not there any more";
    settle_coming(item, cannot_load(item->entry.name, item->error));
    for (const auto& weak : std::exchange(item->going, {})) {
      if (const auto ticket = weak.lock()) ticket->settle(nullptr, std::nullopt);
    }
    return;
  }
  item->working = std::move(*made);
  ServedModel& served = item->working->served();
  const EngineDescription& description = served.description();
  log_.info(fmt::format("{} · {} · {} threads · KV {} · drafter {}", served.text().loaded.checkpoint->folder().string(),
                        description.kernels, description.threads,
                        bytes_text(static_cast<double>(description.settings.kv_bytes)), description.drafter));
  item->needs.kv = description.settings.kv_bytes;
  if (!item->drafting()->refused().empty()) item->needs.drafter = 0;
  if (item->drafts_not) item->working->opened()->let_draft(false);
  item->last_used = Clock::now().time_since_epoch().count();
  served.start_hashing();
  if (dials_) served.engine().turn(*dials_);
  if (is_draining_) served.engine().drain();
  // Somebody may have wanted it to go while it came.
  item->state = item->going.empty() ? ShelfState::loaded : ShelfState::unloading;
  if (item->state == ShelfState::loaded) settle_coming(item, std::nullopt);
}

}  // namespace paceline
