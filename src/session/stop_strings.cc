#include "session/stop_strings.h"

#include <algorithm>

namespace paceline {

StopAutomaton::StopAutomaton(std::span<const std::string> strings) {
  size_t most = 1;
  for (const std::string& text : strings) most += text.size();
  nodes_.reserve(most);
  nodes_.emplace_back();
  for (const std::string& text : strings) add(text);
  link();
}

int32_t StopAutomaton::child(int32_t node, uint8_t byte) const {
  int32_t found = nodes_[at(node)].first_child;
  while (found != kNone && nodes_[at(found)].byte != byte) found = nodes_[at(found)].next_sibling;
  return found;
}

void StopAutomaton::add(std::string_view text) {
  if (text.empty()) return;
  int32_t node = kStart;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    int32_t found = child(node, byte);
    if (found == kNone) {
      found = static_cast<int32_t>(nodes_.size());
      Node& parent = nodes_[at(node)];
      nodes_.push_back({.next_sibling = parent.first_child, .depth = parent.depth + 1, .byte = byte});
      nodes_[at(node)].first_child = found;
    }
    node = found;
  }
  nodes_[at(node)].match_length = static_cast<int32_t>(text.size());
}

// Breadth first: a node's fallback is shallower, so it is complete by then.
void StopAutomaton::link() {
  std::vector<int32_t> queue{kStart};
  for (size_t head = 0; head < queue.size(); ++head) {
    const int32_t parent = queue[head];
    for (int32_t node = nodes_[at(parent)].first_child; node != kNone; node = nodes_[at(node)].next_sibling) {
      Node& linked = nodes_[at(node)];
      if (parent != kStart) linked.fallback = next(nodes_[at(parent)].fallback, linked.byte);
      linked.match_length = std::max(linked.match_length, nodes_[at(linked.fallback)].match_length);
      queue.push_back(node);
    }
  }
}

int32_t StopAutomaton::next(int32_t node, uint8_t byte) const {
  while (true) {
    if (const int32_t found = child(node, byte); found != kNone) return found;
    if (node == kStart) return kStart;
    node = nodes_[at(node)].fallback;
  }
}

bool StopStrings::push(std::string_view piece, std::string& out) {
  if (stopped_) return false;
  if (automaton_ == nullptr) {
    out += piece;
    return true;
  }
  held_ += piece;
  const size_t first_new = held_.size() - piece.size();
  for (size_t i = first_new; i < held_.size(); ++i) {
    at_ = automaton_->next(at_, static_cast<uint8_t>(held_[i]));
    if (const size_t length = automaton_->match_length(at_); length > 0) {
      out.append(held_, 0, i + 1 - length);
      matched_ = held_.substr(i + 1 - length, length);
      held_.clear();
      stopped_ = true;
      return false;
    }
  }
  const size_t certain = held_.size() - automaton_->depth(at_);
  out.append(held_, 0, certain);
  held_.erase(0, certain);
  return true;
}

void StopStrings::finish(std::string& out) {
  out += held_;
  held_.clear();
  at_ = StopAutomaton::kStart;
}

}  // namespace paceline
