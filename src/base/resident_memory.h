// What of a process is in the machine's memory.
#pragma once

#include <cstddef>

namespace paceline {

// Of another process where one is named; 0 where the system does not say.
size_t resident_bytes(int pid = 0);

// The heap keeps what was freed for the next who asks; where that was a model's, it is too much to keep.
void give_freed_memory_back();

}  // namespace paceline
