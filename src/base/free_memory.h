// Memory of the host that this process could still take.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace paceline {

// Without others giving up theirs: what the system has, within what control groups and the process's own limits leave.
size_t free_host_bytes();

// What the machine has, lent-out memory and swap included, within what control groups let this process have.
size_t host_bytes();

// What the process's own limits leave (ulimit -v, ulimit -d): there even addresses that are never written to count.
// None: there are no limits.
std::optional<size_t> free_address_bytes();

// What a control group leaves, by its folder; files that were read into memory can go. None: no limit.
std::optional<size_t> free_group_bytes(const std::filesystem::path& group);

}  // namespace paceline
