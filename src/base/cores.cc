#include "base/cores.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/control_groups.h"

namespace paceline {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

int fewer_of_both(int one, int other) { return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other); }

}  // namespace

int cores_of_groups(const std::string& groups, const std::string& mount) {
  int found = 0;
  for (const std::filesystem::path& group : control_groups("cpu", groups, mount)) {
    found = fewer_of_both(found, cores_of_quota(first_line(group / "cpu.max")));
    const std::string first = first_line(group / "cpu.cfs_quota_us") + " " + first_line(group / "cpu.cfs_period_us");
    found = fewer_of_both(found, cores_of_quota(first));
  }
  return found;
}

int cores_of_quota(std::string_view text) {
  long long quota = 0, period = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, problem] = std::from_chars(text.data(), end, quota);
  if (problem != std::errc() || behind == end) return 0;
  if (std::from_chars(behind + 1, end, period).ec != std::errc() || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min((quota - 1) / period + 1, 4096LL));
}

std::chrono::nanoseconds waited_for_core() {
  // Time on a core, time ready without one, turns.
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[96];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  const std::string_view line(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  const size_t space = line.find(' ');
  int64_t waited = 0;
  if (space != std::string_view::npos) std::from_chars(line.data() + space + 1, line.data() + line.size(), waited);
  return std::chrono::nanoseconds(waited);
}

int usable_cores() {
  // The standard library counts cores that are there, not those that we may run on.
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const int allowed = sched_getaffinity(0, sizeof mask, &mask) == 0
                          ? std::max(1, CPU_COUNT(&mask))
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int quota = cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota > 0 ? std::min(allowed, quota) : allowed;
}

}  // namespace paceline
