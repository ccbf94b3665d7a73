#include "base/free_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include "base/control_groups.h"

namespace paceline {
namespace {

size_t what_is_left(size_t from, size_t what) { return from > what ? from - what : 0; }

// The number behind one of these words each, added up: of lines with a word and a number. Not there: 0.
size_t sum_of(const std::filesystem::path& file, std::initializer_list<std::string_view> words) {
  std::ifstream stream(file);
  size_t sum = 0, number = 0;
  for (std::string word, rest; stream >> word >> number; std::getline(stream, rest))
    if (std::find(words.begin(), words.end(), word) != words.end()) sum += number;
  return sum;
}

std::optional<size_t> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  size_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;  // "max", for one
}

std::optional<size_t> limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

// Of either version.
std::optional<size_t> most_of_group(const std::filesystem::path& group) {
  const auto most = number_in(group / "memory.max");
  return most ? most : number_in(group / "memory.limit_in_bytes");
}
std::optional<size_t> used_of_group(const std::filesystem::path& group) {
  const auto now = number_in(group / "memory.current");
  return now ? now : number_in(group / "memory.usage_in_bytes");
}

}  // namespace

std::optional<size_t> free_group_bytes(const std::filesystem::path& group) {
  const auto most = most_of_group(group), now = used_of_group(group);
  if (!most || !now) return std::nullopt;
  // In the first version those with "total_" are of the groups within, too.
  size_t files = sum_of(group / "memory.stat", {"total_active_file", "total_inactive_file"});
  if (files == 0) files = sum_of(group / "memory.stat", {"active_file", "inactive_file"});
  return what_is_left(*most, what_is_left(*now, files));
}

size_t host_bytes() {
  const size_t swap = sum_of("/proc/meminfo", {"SwapTotal:"}) << 10;
  size_t most = sum_of("/proc/meminfo", {"MemTotal:"}) << 10;
  // Groups bound memory and swap apart.
  for (const std::filesystem::path& group : control_groups("memory"))
    if (const auto limit = most_of_group(group)) most = std::min(most, *limit);
  return most + swap;
}

std::optional<size_t> free_address_bytes() {
  // Pages: all, four that do not matter here, and those that are written to.
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, skipped = 0, written = 0;
  statm >> all >> skipped >> skipped >> skipped >> skipped >> written;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto addresses = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
  if (!addresses && !data) return std::nullopt;
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  return std::min(addresses ? what_is_left(*addresses, all * page) : kNone,
                  data ? what_is_left(*data, written * page) : kNone);
}

size_t free_host_bytes() {
  size_t found = sum_of("/proc/meminfo", {"MemAvailable:"}) * 1024;
  for (const std::filesystem::path& group : control_groups("memory"))
    if (const auto left = free_group_bytes(group)) found = std::min(found, *left);
  if (const auto left = free_address_bytes()) found = std::min(found, *left);
  return found;
}

}  // namespace paceline
