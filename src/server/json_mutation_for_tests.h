// JSON made into other JSON at random, for fuzzing what reads it: bytes changed at random are seldom JSON any more.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

class JsonMutation {
 public:
  // Words: what strings and names of fields may become, besides those that the text has.
  JsonMutation(uint32_t seed, const std::vector<std::string>& words) : draw_(seed), words_(words) {}

  // "": the text is no JSON.
  std::string mutate(std::string_view text) {
    boost::system::error_code wrong;
    boost::json::value root = boost::json::parse(text, wrong);
    if (wrong) return "";
    for (size_t count = 1 + below(3); count > 0; --count) {
      nodes_.clear();
      collect(root, 0);
      change(*nodes_[below(nodes_.size())]);
    }
    return boost::json::serialize(root);
  }

 private:
  // Deeper ones stay as they are.
  static constexpr int kDeepest = 40;

  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(draw_); }

  void collect(boost::json::value& value, int depth) {
    nodes_.push_back(&value);
    if (depth == kDeepest) return;
    if (value.is_object()) {
      for (auto& entry : value.get_object()) collect(entry.value(), depth + 1);
    } else if (value.is_array()) {
      for (auto& entry : value.get_array()) collect(entry, depth + 1);
    }
  }

  void change(boost::json::value& value) {
    const size_t way = below(8);
    if (way < 3 && value.is_object()) return change_fields(value.get_object());
    if (way < 3 && value.is_array()) return change_entries(value.get_array());
    if (way < 5 && value.is_string()) return change_text(value.get_string());
    // A copy: the other may lie within this one, or this one within it.
    if (way == 5) {
      boost::json::value other = *nodes_[below(nodes_.size())];
      value = std::move(other);
    } else if (way == 6) {
      boost::json::value inner = std::move(value);
      value = below(2) == 0 ? boost::json::value(boost::json::array{std::move(inner)})
                            : boost::json::value(boost::json::object{{word(), std::move(inner)}});
    } else {
      value = some_value();
    }
  }

  void change_fields(boost::json::object& object) {
    if (object.empty() || below(2) == 0) {
      object[word()] = below(2) == 0 ? some_value() : *nodes_[below(nodes_.size())];
      return;
    }
    const auto entry = object.begin() + static_cast<std::ptrdiff_t>(below(object.size()));
    if (below(2) == 0) {
      boost::json::value moved = std::move(entry->value());
      object.erase(entry);
      object[word()] = std::move(moved);
    } else {
      object.erase(entry);
    }
  }

  void change_entries(boost::json::array& array) {
    if (array.empty() || below(2) == 0) {
      boost::json::value added = array.empty() || below(2) == 0 ? some_value() : array[below(array.size())];
      array.insert(array.begin() + static_cast<std::ptrdiff_t>(below(array.size() + 1)), std::move(added));
    } else {
      array.erase(array.begin() + static_cast<std::ptrdiff_t>(below(array.size())));
    }
  }

  void change_text(boost::json::string& text) {
    if (below(3) == 0) {
      text = word();
    } else if (below(2) == 0 && !text.empty()) {
      text.resize(below(text.size()));
    } else {
      text.insert(below(text.size() + 1), word());
    }
  }

  std::string word() { return words_.empty() ? "x" : words_[below(words_.size())]; }

  boost::json::value some_value() {
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
    switch (below(12)) {
      case 0: return nullptr;
      case 1: return true;
      case 2: return false;
      case 3: return static_cast<int64_t>(below(300)) - 2;
      case 4: return kLeast;
      case 5: return std::numeric_limits<uint64_t>::max();
      case 6: return 1e300;
      case 7: return 0.5;
      case 8: return boost::json::object();
      case 9: return boost::json::array();
      default: return boost::json::value(word());
    }
  }

  std::minstd_rand draw_;
  const std::vector<std::string>& words_;
  std::vector<boost::json::value*> nodes_;
};

}  // namespace paceline
