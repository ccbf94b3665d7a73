#include "server/api_keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace paceline {
namespace {

std::array<unsigned char, 32> digest_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

// "Bearer KEY". The scheme is written in any case (RFC 9110, 11.1), and one blank or more are behind it.
std::optional<std::string_view> bearer_key(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer";
  if (authorization.size() <= kScheme.size() || authorization[kScheme.size()] != ' ') return std::nullopt;
  for (size_t i = 0; i < kScheme.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return std::nullopt;
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

ApiKeys::ApiKeys(std::span<const std::string> keys) {
  for (const std::string& key : keys) digests_.push_back(digest_of(key));
}

std::optional<size_t> ApiKeys::check(std::string_view authorization, std::string_view api_key) const {
  const auto bearer = bearer_key(authorization);
  if (const auto found = bearer ? find(*bearer) : std::nullopt) return found;
  return api_key.empty() ? std::nullopt : find(api_key);
}

std::optional<size_t> ApiKeys::find(std::string_view key) const {
  const auto given = digest_of(key);
  std::optional<size_t> found;
  // All of them, so that the time does not tell which one.
  for (size_t i = 0; i < digests_.size(); ++i) {
    if (CRYPTO_memcmp(given.data(), digests_[i].data(), given.size()) == 0) found = i;
  }
  return found;
}

Result<std::vector<std::string>> read_key_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file) return Error{fmt::format("{}: cannot open: {}", path, std::generic_category().message(errno))};
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    for (std::string& key : split_keys(line)) keys.push_back(std::move(key));
  }
  // A folder, for one, can be opened.
  if (file.bad()) return Error{fmt::format("{}: cannot read: {}", path, std::generic_category().message(errno))};
  if (keys.empty()) return Error{fmt::format("{}: expected API keys, one per line; found none", path)};
  return keys;
}

std::vector<std::string> split_keys(std::string_view text) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < text.size();) {
    while (i < text.size() && is_separator(text[i])) ++i;
    const size_t begin = i;
    while (i < text.size() && !is_separator(text[i])) ++i;
    if (i > begin) keys.emplace_back(text.substr(begin, i - begin));
  }
  return keys;
}

Fingerprint cache_scope(std::optional<size_t> key, std::string_view header, std::string_view field) {
  if (!key && header.empty() && field.empty()) return {};
  // Lengths first: no two different triples read alike.
  const auto digest = digest_of(
      fmt::format("{} {} {} {}{}", key ? static_cast<int64_t>(*key) : -1, header.size(), field.size(), header, field));
  Fingerprint scope;
  std::memcpy(scope.data(), digest.data(), sizeof(scope));
  return scope;
}

}  // namespace paceline
