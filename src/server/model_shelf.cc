#include "server/model_shelf.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units_text.h"
#include "server/shelf_item.h"

namespace paceline {
namespace {

using Clock = std::chrono::steady_clock;

std::string in_bytes(size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

bool is_alias_of(std::string_view alias, std::string_view called) {
  return alias.ends_with('*') ? called.starts_with(alias.substr(0, alias.size() - 1)) : called == alias;
}

}  // namespace

const char* shelf_state_name(ShelfState state) {
  switch (state) {
    case ShelfState::unloaded: return "unloaded";
    case ShelfState::loading: return "loading";
    case ShelfState::loaded: return "loaded";
    case ShelfState::unloading: return "unloading";
    case ShelfState::failed: return "failed";
  }
  return "?";
}

ModelNeeds needs_of(const ShelfEntry& entry) {
  // Of each row of a step: logits, and what goes from layer to layer.
  constexpr size_t kWidths = 16;
  const size_t row = (static_cast<size_t>(entry.head.vocab) + kWidths * static_cast<size_t>(entry.head.hidden)) * 4;
  const bool drafts = entry.open.draft.draft != "none" && entry.open.draft.draft != "ngram";
  return {.weights = entry.head.bytes,
          .drafter = drafts ? entry.head.drafter_bytes : 0,
          .kv = entry.open.engine.kv_bytes,
          .scratch = row * static_cast<size_t>(entry.open.engine.batch_rows)};
}

Status check_room(const ModelNeeds& needs, size_t budget_bytes) {
  if (budget_bytes == 0 || needs.all() <= budget_bytes) return Done{};
  return Error{
      fmt::format("it needs {} (weights {}, drafter {}, keys and values {}, steps {}), and all models may have "
                  "{}: {} too much",
                  in_bytes(needs.all()), in_bytes(needs.weights), in_bytes(needs.drafter), in_bytes(needs.kv),
                  in_bytes(needs.scratch), in_bytes(budget_bytes), in_bytes(needs.all() - budget_bytes))};
}

ModelShelf::ModelShelf(std::vector<ShelfEntry> entries, ShelfTerms terms, Log& log)
    : terms_(std::move(terms)), log_(log) {
  const bool is_several = entries.size() > 1 || terms_.rescan;
  if (is_several) own_metrics_ = std::make_unique<Metrics>("");
  for (ShelfEntry& entry : entries) add(std::move(entry));
  keeper_ = std::thread([this] { keep(); });
}

ModelShelf::ModelShelf(ServedModel& model, Metrics& metrics, ShelfTerms terms, Log& log)
    : terms_(std::move(terms)), log_(log) {
  auto item = std::make_shared<Item>();
  item->entry.name = model.name();
  item->entry.aliases = model.aliases();
  item->entry.is_pinned = true;
  item->entry.head.place = model.text().loaded.checkpoint->folder();
  item->metrics = &metrics;
  item->state = ShelfState::loaded;
  item->stays_always = true;
  item->working = std::make_unique<WorkingModel>(model, terms_.stuck_s);
  items_.push_back(std::move(item));
}

ModelShelf::~ModelShelf() { stop(); }

void ModelShelf::add(ShelfEntry entry) {
  auto item = std::make_shared<Item>();
  item->own_metrics = std::make_unique<Metrics>(entry.name);
  item->metrics = item->own_metrics.get();
  if (terms_.routing != nullptr) item->routing = terms_.routing->of(entry.name, item->metrics);
  begin(*item, std::move(entry));
  items_.push_back(std::move(item));
}

void ModelShelf::begin(Item& item, ShelfEntry entry) {
  entry.open.observer = item.routing != nullptr ? item.routing.get() : item.metrics;
  entry.open.turns = &turns_;
  item.needs = needs_of(entry);
  item.entry = std::move(entry);
  item.state = ShelfState::unloaded;
  item.error.clear();
  item.has_left = false;
}

bool ModelShelf::is_single() const { return own_metrics_ == nullptr; }

std::optional<std::string> ModelShelf::find(std::string_view called) const {
  const std::lock_guard lock(mutex_);
  const auto with = [&](auto is) -> std::optional<std::string> {
    for (const auto& item : items_) {
      if (!item->has_left && is(item->entry)) return item->entry.name;
    }
    return std::nullopt;
  };
  if (auto named = with([&](const ShelfEntry& entry) { return entry.name == called; })) return named;
  if (called.empty() || called == "default") return usual();
  if (auto named = with([&](const ShelfEntry& entry) {
        return std::any_of(entry.aliases.begin(), entry.aliases.end(),
                           [&](const std::string& alias) { return is_alias_of(alias, called); });
      }))
    return named;
  return with([&](const ShelfEntry& entry) { return folder_name(entry.head.place) == called; });
}

std::optional<std::string> ModelShelf::usual() const {
  std::optional<std::string> first;
  for (const auto& item : items_) {
    if (item->has_left) continue;
    const bool can_come = item->entry.head.problem.empty() && item->state != ShelfState::failed &&
                          check_room(item->needs.without_drafter(), terms_.budget_bytes).ok();
    if (can_come) return item->entry.name;
    if (!first) first = item->entry.name;
  }
  return first;
}

std::shared_ptr<ModelShelf::Item> ModelShelf::item_of(std::string_view name) const {
  for (const auto& item : items_) {
    if (item->entry.name == name) return item;
  }
  CHECK(false);
  return nullptr;
}

ModelLease ModelShelf::lease(const std::shared_ptr<Item>& item, bool is_use) {
  ++item->users;
  // Let go of by whoever comes last, an engine's thread perhaps, and perhaps while the shelf is locked.
  return {&item->working->served(), [this, item, is_use](ServedModel*) {
            if (is_use) {
              item->last_used = Clock::now().time_since_epoch().count();
              item->last_used_s = std::time(nullptr);
            }
            --item->users;
            poke();
          }};
}

std::optional<ApiError> ModelShelf::refuse(const Item& item, bool by_wish) const {
  if (is_draining_ || is_stopping_) return shutting_down();
  if (!by_wish && !terms_.autoload)
    return ApiError{.status = 409,
                    .message = fmt::format("the model {} is not loaded, and is not loaded by requests (--autoload)",
                                           item.entry.name),
                    .param = "model",
                    .code = "model_not_loaded"};
  // A drafter is the first that goes.
  const ModelNeeds least = item.needs.without_drafter();
  if (const Status fits = check_room(least, terms_.budget_bytes); !fits.ok())
    return ApiError{.message = fmt::format("the model {} does not fit: {}", item.entry.name, fits.error().message),
                    .param = "model",
                    .code = "model_does_not_fit"};
  const size_t most = terms_.budget_bytes, kept = pinned_now(), needed = least.all();
  if (most > 0 && kept + needed > most)
    return ApiError{
        .status = 409,
        .message = fmt::format("the model {} has no room: it needs {}, and pinned models keep {} of {}: {} too "
                               "much, until one of them is unloaded",
                               item.entry.name, in_bytes(needed), in_bytes(kept), in_bytes(most),
                               in_bytes(kept + needed - most)),
        .param = "model",
        .code = "models_pinned"};
  return std::nullopt;
}

std::shared_ptr<ModelTicket> ModelShelf::ask(const std::string& name, const LoadWish* wish) {
  auto ticket = std::make_shared<ModelTicket>();
  std::optional<ApiError> problem;
  ModelLease ready;
  {
    const std::lock_guard lock(mutex_);
    const auto item = item_of(name);
    if (wish != nullptr) {
      item->entry.is_pinned = wish->pin.value_or(item->entry.is_pinned);
      if (wish->idle_s) {
        item->entry.idle_s = *wish->idle_s;
        item->entry.has_own_idle = true;
      }
      const bool is_coming = item->state == ShelfState::loading || item->state == ShelfState::loaded;
      if (wish->draft && !is_coming) item->wish_draft(*wish->draft);
    }
    if (item->state == ShelfState::loaded) {
      ready = lease(item, true);
    } else {
      problem = refuse(*item, wish != nullptr);
      if (problem) item->end_draft_wish(false);
    }
    if (ready == nullptr && !problem) {
      item->coming.push_back(ticket);
      if (item->asked == 0) item->asked = ++asked_;
      // Who only wants it loaded may go before it is.
      item->is_wanted = item->is_wanted || wish != nullptr;
      poke();
      return ticket;
    }
  }
  ticket->settle(std::move(ready), std::move(problem));
  return ticket;
}

std::shared_ptr<ModelTicket> ModelShelf::unload(const std::string& name) {
  auto ticket = std::make_shared<ModelTicket>();
  std::optional<ApiError> problem;
  {
    const std::lock_guard lock(mutex_);
    const auto item = item_of(name);
    if (item->stays_always) {
      problem = ApiError{.status = 409,
                         .message = fmt::format("the model {} is the one that is always there", name),
                         .param = "model",
                         .code = "model_stays"};
    } else if (item->takes_memory()) {
      item->is_wanted = false;
      if (item->state == ShelfState::loaded) item->state = ShelfState::unloading;
      item->going.push_back(ticket);
      poke();
      return ticket;
    } else {
      item->state = ShelfState::unloaded;
      item->error.clear();
    }
  }
  ticket->settle(nullptr, std::move(problem));
  return ticket;
}

void ModelShelf::stay(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto item = item_of(name);
  drop_gone(item->going);
  if (item->state != ShelfState::unloading || item->users == 0 || !item->going.empty()) return;
  item->state = ShelfState::loaded;
  item->end_draft_wish(false);
  settle_coming(item, std::nullopt);
}

ModelShelf::Rescan ModelShelf::rescan() {
  if (!terms_.rescan) return {};
  std::vector<ShelfEntry> found = terms_.rescan();
  const std::lock_guard lock(mutex_);
  Rescan made;
  for (const auto& item : items_) {
    if (item->has_left || item->has_files() || !item->is_left_alone()) continue;
    item->has_left = true;
    ++made.removed;
  }
  for (ShelfEntry& entry : found) {
    const auto known =
        std::find_if(items_.begin(), items_.end(), [&](const auto& item) { return item->entry.name == entry.name; });
    if (known == items_.end()) {
      add(std::move(entry));
    } else if ((*known)->has_left) {
      begin(**known, std::move(entry));
    } else {
      continue;
    }
    ++made.added;
  }
  return made;
}

ModelView ModelShelf::view_of(const std::shared_ptr<Item>& item) {
  ModelView view;
  view.entry = item->entry;
  view.needs = item->needs;
  view.state = item->state;
  view.is_wanted = item->is_wanted;
  view.stage = item->stage;
  view.error = item->error;
  view.progress = item->progress;
  view.last_used = item->last_used_s;
  drop_gone(item->coming);
  view.waiting = static_cast<int32_t>(item->coming.size());
  if (item->state == ShelfState::loaded) view.model = lease(item, false);
  if (item->working != nullptr) {
    const EngineStats stats = item->working->served().engine().stats();
    view.running = stats.running;
    view.waiting += stats.waiting;
    view.kv_used = stats.used_bytes;
  }
  const Drafting* drafting = item->drafting();
  if (drafting == nullptr) {
    view.drafter_state = view.model != nullptr && view.model->description().drafter != "none" ? "loaded"
                         : item->needs.drafter > 0                                            ? "not loaded"
                                                                                              : "none";
  } else if (!drafting->refused().empty()) {
    view.drafter_state = "refused";
    view.drafter_reason = drafting->refused();
  } else if (!drafting->is_lazy()) {
    view.drafter_state = drafting->parts().empty() ? "none" : "loaded";
  } else {
    view.drafter_state = item->drafts_not ? "dropped" : drafting->has_lazy_loaded() ? "loaded" : "not loaded";
    if (item->drafts_not) view.drafter_reason = "there is no memory for it";
  }
  return view;
}

ModelView ModelShelf::look(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return view_of(item_of(name));
}

std::vector<ModelView> ModelShelf::look() {
  const std::lock_guard lock(mutex_);
  std::vector<ModelView> all;
  for (const auto& item : items_) {
    if (!item->has_left) all.push_back(view_of(item));
  }
  return all;
}

size_t ModelShelf::used_now() const {
  size_t bytes = 0;
  for (const auto& item : items_) bytes += item->takes_memory() ? item->bytes() : 0;
  return bytes;
}

size_t ModelShelf::pinned_now() const {
  size_t bytes = 0;
  for (const auto& item : items_) {
    if (item->takes_memory() && item->stays()) bytes += item->least_bytes();
  }
  return bytes;
}

size_t ModelShelf::least_now() const {
  size_t bytes = 0;
  for (const auto& item : items_) bytes += item->takes_memory() ? item->least_bytes() : 0;
  return bytes;
}

size_t ModelShelf::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_now();
}

void ModelShelf::for_loaded(const std::function<void(const std::string&, WorkingModel&, Metrics&)>& call) {
  const std::lock_guard lock(mutex_);
  for (const auto& item : items_) {
    if (item->working != nullptr) call(item->entry.name, *item->working, *item->metrics);
  }
}

Metrics& ModelShelf::metrics() {
  if (own_metrics_ != nullptr) return *own_metrics_;
  const std::lock_guard lock(mutex_);
  return *items_.front()->metrics;
}

Metrics& ModelShelf::metrics_of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return *item_of(name)->metrics;
}

std::string ModelShelf::metrics_text(const std::vector<LaneState>& lanes, int64_t log_lines_dropped) {
  metrics().note_server(lanes, log_lines_dropped);
  std::vector<Metrics*> parts;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& item : items_) {
      if (item->working != nullptr) item->metrics->note_engine(item->working->served().engine().stats());
      parts.push_back(item->metrics);
    }
  }
  return metrics_text_of(own_metrics_.get(), parts);
}

void ModelShelf::poke() {
  const std::lock_guard lock(news_mutex_);
  has_news_ = true;
  changed_.notify_one();
}

void ModelShelf::drain() {
  const std::lock_guard lock(mutex_);
  is_draining_ = true;
  for (const auto& item : items_) {
    if (item->working != nullptr) item->working->served().engine().drain();
    settle_coming(item, shutting_down());
  }
  poke();
}

void ModelShelf::turn(const EngineDials& dials, std::optional<double> idle_s) {
  const std::lock_guard lock(mutex_);
  dials_ = dials;
  for (const auto& item : items_) {
    if (item->working != nullptr) item->working->served().engine().turn(dials);
    if (idle_s && !item->entry.has_own_idle) item->entry.idle_s = *idle_s;
  }
  poke();
}

bool ModelShelf::uses_device() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(items_.begin(), items_.end(), [](const auto& item) {
    return item->working != nullptr && item->working->served().description().kernels.starts_with("cuda");
  });
}

void ModelShelf::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    poke();
  }
  if (keeper_.joinable()) keeper_.join();
  // Those who hold leases may still let go of them; nobody takes one any more.
  for (const auto& item : items_) {
    if (item->working != nullptr) item->working->stop();
  }
}

void ModelShelf::settle_coming(const std::shared_ptr<Item>& item, const std::optional<ApiError>& problem) {
  item->asked = 0;
  item->is_wanted = false;
  item->end_draft_wish(!problem);
  for (const auto& weak : std::exchange(item->coming, {})) {
    const auto ticket = weak.lock();
    if (ticket == nullptr) continue;
    ticket->settle(problem ? nullptr : lease(item, true), problem);
  }
}

}  // namespace paceline
