// Why a prompt was not known to its end, and what it takes to tell: marks of pages that had to give way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

namespace paceline {

// unknown: nobody has left more of it. differs: what is known goes on otherwise. evicted: more of it was there, and had
// to give way. state: more of it is there, but no recurrent state to go on from. scope: it is somebody else's.
enum class PrefixMiss : uint8_t { none, unknown, differs, evicted, state, scope };
const char* prefix_miss_name(PrefixMiss miss);

// The newest of those pages. A mark is a digest of a page and all before it, of which two may have the same: nothing
// but words depends on it.
class GonePages {
 public:
  void add(uint64_t mark);
  [[nodiscard]] bool has(uint64_t mark) const { return marks_.contains(mark); }

 private:
  static constexpr size_t kMost = 4096;
  std::deque<uint64_t> order_;
  std::unordered_set<uint64_t> marks_;
};

}  // namespace paceline
