// Larger pieces of the host's memory, zeroed.
#pragma once

#include <cstddef>
#include <memory>

namespace paceline {

// Aligned to 64 bytes at least. Pages of the system's where that pays, and not of the heap: pieces of several sizes
// take turns in the same memory, and a heap keeps the holes that one size leaves to the other. (With many short
// requests it grew by megabytes a minute.) None where there is no more.
std::shared_ptr<void> host_memory(size_t bytes);

// Addresses for so many bytes, zero where they were never written: the system gives memory for a page of its own when
// that is first used, and not before. None where there are not even the addresses.
std::shared_ptr<void> reserved_host_memory(size_t bytes);

}  // namespace paceline
