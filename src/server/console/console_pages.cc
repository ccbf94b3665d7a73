#include "server/console/console_pages.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "server/authority.h"
#include "server/console/console_files.h"

namespace paceline {
namespace {

constexpr std::string_view kFilePrefix = "/console/", kSourceFolder = "dev", kIndex = "index.html";

// Nothing from elsewhere, nothing inline, nothing that makes scripts of text; nobody frames it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";
constexpr std::array<std::pair<const char*, std::string_view>, 6> kGuards{{
    {"Content-Security-Policy", kPolicy},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy",
     "camera=(), microphone=(), geolocation=(), usb=(), serial=(), payment=(), display-capture=()"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

std::string unpacked(const ConsoleFile& file) {
  std::string text(file.bytes, '\0');
  z_stream stream{};
  constexpr int kGzip = 16;
  if (inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) return "";
  stream.next_in = const_cast<unsigned char*>(file.packed.data());
  stream.avail_in = static_cast<uInt>(file.packed.size());
  stream.next_out = reinterpret_cast<unsigned char*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int ended = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return ended == Z_STREAM_END ? text : "";
}

bool takes_gzip(std::string_view codings) {
  const std::string lower = in_lower_case(codings);
  return lower.find("gzip") != std::string::npos && lower.find("gzip;q=0,") == std::string::npos &&
         !lower.ends_with("gzip;q=0");
}

// What a name of one of our files is made of: no way out of the folder.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.find("..") == std::string_view::npos && name.front() != '/' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                  c == '.' || c == '/';
         });
}

}  // namespace

bool ConsolePages::is_file(std::string_view path) { return path == "/" || path.starts_with(kFilePrefix); }

HttpAnswer ConsolePages::answer(const HttpCall& call) const {
  std::string_view name = kIndex;
  bool kept = false;
  if (call.path != "/") {
    const std::string_view rest = std::string_view(call.path).substr(kFilePrefix.size());
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view folder = rest.substr(0, slash);
    name = rest.substr(std::min(slash + 1, rest.size()));
    kept = folder_.empty() && folder == console_digest();
    if (!kept && folder != kSourceFolder) name = "";
  }
  auto made = folder_.empty() ? packed(call, name, kept) : from_folder(name);
  if (!made) return error_answer(call, no_such_route(call.path));
  for (const auto& [guard, value] : kGuards) made->headers.emplace_back(guard, std::string(value));
  return std::move(*made);
}

std::optional<HttpAnswer> ConsolePages::packed(const HttpCall& call, std::string_view name, bool kept) const {
  for (const ConsoleFile& file : console_files()) {
    if (file.path != name) continue;
    HttpAnswer made{.content_type = std::string(file.type), .body = "", .headers = {}};
    const std::string tag = fmt::format("\"{}\"", file.digest);
    made.headers.emplace_back("ETag", tag);
    made.headers.emplace_back("Cache-Control", kept ? "public, max-age=31536000, immutable" : "no-cache");
    made.headers.emplace_back("Vary", "Accept-Encoding");
    if (call.known_tag.find(tag) != std::string::npos) {
      made.status = 304;
      return made;
    }
    if (takes_gzip(call.accepted_codings)) {
      made.headers.emplace_back("Content-Encoding", "gzip");
      made.body.assign(reinterpret_cast<const char*>(file.packed.data()), file.packed.size());
    } else {
      made.body = unpacked(file);
    }
    return made;
  }
  return std::nullopt;
}

std::optional<HttpAnswer> ConsolePages::from_folder(std::string_view name) const {
  if (!is_plain_name(name)) return std::nullopt;
  const std::filesystem::path path = std::filesystem::path(folder_) / name;
  for (const auto& [ending, type] : kTypes) {
    if (!name.ends_with(ending)) continue;
    std::ifstream file(path, std::ios::binary);
    if (!file.is_open()) return std::nullopt;
    std::ostringstream text;
    text << file.rdbuf();
    return HttpAnswer{
        .content_type = std::string(type), .body = text.str(), .headers = {{"Cache-Control", "no-cache"}}};
  }
  return std::nullopt;
}

}  // namespace paceline
