// Bytes by so much of their SHA-256 as tells them from all others that there will ever be.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "state/prefix_text.h"

namespace paceline {

Result<Fingerprint> fingerprint_of(std::span<const std::byte> bytes);

}  // namespace paceline
