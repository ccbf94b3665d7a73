#include "session/stop_strings.h"

#include <algorithm>

namespace paceline {

StopStrings::StopStrings(std::span<const std::string> strings) : nodes_(1) {
  for (const std::string& text : strings) add(text);
  link();
}

void StopStrings::add(std::string_view text) {
  if (text.empty()) return;
  int32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (nodes_[node].next[byte] == 0) {
      nodes_[node].next[byte] = static_cast<int32_t>(nodes_.size());
      nodes_.emplace_back().depth = nodes_[node].depth + 1;
    }
    node = nodes_[node].next[byte];
  }
  nodes_[node].match_length = static_cast<int32_t>(text.size());
}

// Breadth first: a node's fallback (its longest proper suffix that is a node) is shallower, so it is complete by then.
void StopStrings::link() {
  std::vector<int32_t> fallback(nodes_.size(), 0), queue;
  for (const int32_t child : nodes_[0].next) {
    if (child != 0) queue.push_back(child);
  }
  for (size_t head = 0; head < queue.size(); ++head) {
    Node& node = nodes_[queue[head]];
    const Node& behind = nodes_[fallback[queue[head]]];
    node.match_length = std::max(node.match_length, behind.match_length);
    for (size_t byte = 0; byte < 256; ++byte) {
      if (const int32_t child = node.next[byte]; child != 0) {
        fallback[child] = behind.next[byte];
        queue.push_back(child);
      } else {
        node.next[byte] = behind.next[byte];
      }
    }
  }
}

bool StopStrings::push(std::string_view piece, std::string& out) {
  if (stopped_) return false;
  held_ += piece;
  const size_t first_new = held_.size() - piece.size();
  for (size_t i = first_new; i < held_.size(); ++i) {
    at_ = nodes_[at_].next[static_cast<uint8_t>(held_[i])];
    if (const int32_t length = nodes_[at_].match_length; length > 0) {
      out.append(held_, 0, i + 1 - static_cast<size_t>(length));
      held_.clear();
      stopped_ = true;
      return false;
    }
  }
  const size_t certain = held_.size() - static_cast<size_t>(nodes_[at_].depth);
  out.append(held_, 0, certain);
  held_.erase(0, certain);
  return true;
}

void StopStrings::finish(std::string& out) {
  out += held_;
  held_.clear();
  at_ = 0;
}

}  // namespace paceline
