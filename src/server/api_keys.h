// API keys: who may ask. Compared in constant time, kept as digests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"

namespace paceline {

class ApiKeys {
 public:
  explicit ApiKeys(std::span<const std::string> keys);

  [[nodiscard]] bool needed() const { return !digests_.empty(); }
  // The headers authorization and x-api-key. Which of the keys either of them holds; none: no valid one. Takes the same
  // time for any of them.
  [[nodiscard]] std::optional<size_t> check(std::string_view authorization, std::string_view api_key = {}) const;

 private:
  [[nodiscard]] std::optional<size_t> find(std::string_view key) const;

  std::vector<std::array<unsigned char, 32>> digests_;
};

// One key per line; lines that are empty or begin with # are left out.
Result<std::vector<std::string>> read_key_file(const std::string& path);
// Separated by commas or white space.
std::vector<std::string> split_keys(std::string_view text);

// Whose pages a request may read: those of requests with the same key and the same salts.
Fingerprint cache_scope(std::optional<size_t> key, std::string_view header, std::string_view field);

}  // namespace paceline
