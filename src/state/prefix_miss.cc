#include "state/prefix_miss.h"

namespace paceline {

const char* prefix_miss_name(PrefixMiss miss) {
  switch (miss) {
    case PrefixMiss::none: return "none";
    case PrefixMiss::unknown: return "unknown";
    case PrefixMiss::differs: return "differs";
    case PrefixMiss::evicted: return "evicted";
    case PrefixMiss::state: return "state";
    case PrefixMiss::scope: return "scope";
  }
  return "";
}

void GonePages::add(uint64_t mark) {
  if (!marks_.insert(mark).second) return;
  order_.push_back(mark);
  if (order_.size() <= kMost) return;
  marks_.erase(order_.front());
  order_.pop_front();
}

}  // namespace paceline
