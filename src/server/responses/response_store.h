// Responses that were made, for those who go on from them: in memory, within a number of bytes, the oldest out. Each
// belongs to whoever asked for it.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace paceline::responses {

// By the API key; none: there are no keys.
using Owner = std::optional<size_t>;

struct Stored {
  Owner owner;
  boost::json::object response;
  boost::json::array items;  // of the conversation before it; its own output is in the response
};

// May be used by several threads.
class ResponseStore {
 public:
  explicit ResponseStore(size_t bytes) : most_bytes_(bytes) {}

  // Whether anything is kept at all.
  [[nodiscard]] bool keeps() const { return most_bytes_ > 0; }
  void put(const std::string& id, const Stored& stored);
  [[nodiscard]] std::optional<Stored> find(const std::string& id, const Owner& owner);
  // An item of one of the owner's conversations.
  [[nodiscard]] std::optional<boost::json::value> find_item(const std::string& id, const Owner& owner);
  // False: there is none.
  bool erase(const std::string& id, const Owner& owner);
  [[nodiscard]] size_t bytes() const;

 private:
  // As text: what it takes is what it is counted as.
  struct Entry {
    std::string id;
    Owner owner;
    std::string response, items;
    [[nodiscard]] size_t bytes() const { return id.size() + response.size() + items.size() + sizeof(Entry); }
  };
  using Entries = std::list<Entry>;
  void drop(Entries::iterator entry);

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  // the newest first
  std::unordered_map<std::string, Entries::iterator> by_id_;
  size_t bytes_ = 0;
};

// The whole conversation up to and with a response.
boost::json::array conversation_of(const Stored& stored);

}  // namespace paceline::responses
