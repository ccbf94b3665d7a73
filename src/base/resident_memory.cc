#include "base/resident_memory.h"

#include <unistd.h>

#include <fstream>
#include <string>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace paceline {

size_t resident_bytes(int pid) {
  std::ifstream file("/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid)) + "/statm");
  size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void give_freed_memory_back() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace paceline
