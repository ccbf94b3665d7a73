#include "bench/busy.h"

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace paceline {
namespace {

struct CpuTimes {
  double busy = 0, all = 0;
};

CpuTimes read_cpu_times() {
  std::ifstream stat("/proc/stat");
  std::string label;
  stat >> label;
  CpuTimes times;
  double value = 0;
  for (int field = 0; field < 8 && stat >> value; ++field) {
    times.all += value;
    const bool idle = field == 3 || field == 4;
    if (!idle) times.busy += value;
  }
  return times;
}

}  // namespace

double measure_busy() {
  const CpuTimes before = read_cpu_times();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const CpuTimes after = read_cpu_times();
  return after.all > before.all ? (after.busy - before.busy) / (after.all - before.all) : 0;
}

}  // namespace paceline
