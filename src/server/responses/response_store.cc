#include "server/responses/response_store.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>

namespace paceline::responses {
namespace {

namespace json = boost::json;

bool is_called(const json::value& item, std::string_view id) {
  const json::value* found = item.is_object() ? item.get_object().if_contains("id") : nullptr;
  return found != nullptr && found->is_string() && found->get_string() == id;
}

}  // namespace

void ResponseStore::put(const std::string& id, const Stored& stored) {
  Entry entry{id, stored.owner, json::serialize(stored.response), json::serialize(stored.items)};
  const std::lock_guard lock(mutex_);
  if (entry.bytes() > most_bytes_) return;
  bytes_ += entry.bytes();
  entries_.push_front(std::move(entry));
  by_id_[id] = entries_.begin();
  while (bytes_ > most_bytes_) drop(std::prev(entries_.end()));
}

void ResponseStore::drop(Entries::iterator entry) {
  bytes_ -= entry->bytes();
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

std::optional<Stored> ResponseStore::find(const std::string& id, const Owner& owner) {
  std::string response, items;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found == by_id_.end() || found->second->owner != owner) return std::nullopt;
    response = found->second->response;
    items = found->second->items;
  }
  return Stored{owner, json::parse(response).as_object(), json::parse(items).as_array()};
}

std::optional<json::value> ResponseStore::find_item(const std::string& id, const Owner& owner) {
  std::string holder;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.owner != owner) continue;
      if (entry.response.find(id) == std::string::npos && entry.items.find(id) == std::string::npos) continue;
      holder = entry.id;
      break;
    }
  }
  const auto stored = find(holder, owner);
  if (!stored) return std::nullopt;
  for (json::value& item : conversation_of(*stored)) {
    if (is_called(item, id)) return std::move(item);
  }
  return std::nullopt;
}

bool ResponseStore::erase(const std::string& id, const Owner& owner) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || found->second->owner != owner) return false;
  drop(found->second);
  return true;
}

size_t ResponseStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

json::array conversation_of(const Stored& stored) {
  json::array items = stored.items;
  if (const json::value* output = stored.response.if_contains("output"); output != nullptr && output->is_array()) {
    for (const json::value& item : output->get_array()) items.push_back(item);
  }
  return items;
}

}  // namespace paceline::responses
