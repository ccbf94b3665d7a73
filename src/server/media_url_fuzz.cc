// Any bytes as a URL to fetch from, as a redirect and as an operator's entry: an error, or a place whose parts cannot
// be taken for anything else.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "server/media_url.h"

namespace {

using namespace paceline;

void check_url(const MediaUrl& url) {
  CHECK(!url.host.empty() && !url.port.empty() && url.target.starts_with('/'));
  for (const std::string* part : {&url.host, &url.port, &url.target}) {
    CHECK(std::none_of(part->begin(), part->end(), [](char c) {
      return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7F;
    }));
  }
  CHECK(url.host.find_first_of("/@\\?#%[]") == std::string::npos);
  CHECK(std::all_of(url.port.begin(), url.port.end(), [](char c) { return c >= '0' && c <= '9'; }));
  // Read again from what it says of itself, it is the same place.
  const auto again = read_media_url((url.is_secure ? "https://" : "http://") + url.authority() + url.target);
  CHECK(again.ok());
  CHECK(again->is_secure == url.is_secure && again->host == url.host && again->port == url.port &&
        again->target == url.target);
  CHECK(is_listed(url, std::vector<std::string>{url.authority()}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const std::string_view first = text.substr(0, text.find('\n'));
  const std::string_view second = text.substr(std::min(first.size() + 1, text.size()));
  (void)check_media_host(first);
  if (text.size() > 4000) return 0;  // what is read again may be a little longer than it was
  const auto url = read_media_url(first);
  if (!url.ok()) {
    CHECK(!url.error().message.empty());
    return 0;
  }
  check_url(*url);
  const auto next = follow_location(*url, second);
  if (next.ok()) check_url(*next);
  return 0;
}
