#include "weights/gguf/ollama_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/regular_file.h"
#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostManifestBytes = 1 << 20;
constexpr std::string_view kDigest = "sha256:";
constexpr size_t kDigestDigits = 64;

// The store that a manifest lies in; empty: in none.
fs::path store_of(const fs::path& file) {
  std::error_code error;
  for (fs::path up = file.parent_path(); up.has_relative_path(); up = up.parent_path())
    if (up.filename() == "manifests" && fs::is_directory(up.parent_path() / "blobs", error)) return up.parent_path();
  return {};
}

// "sha256:…" → …/blobs/sha256-…
Result<fs::path> blob_of(const JsonFields& layer, const fs::path& store) {
  TRY_ASSIGN(const std::string digest, layer.text("digest"));
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const std::string_view digits = std::string_view(digest).substr(std::min(kDigest.size(), digest.size()));
  if (!digest.starts_with(kDigest) || digits.size() != kDigestDigits ||
      !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return layer.wrong("digest", "sha256: and 64 digits");
  }
  return store / "blobs" / fmt::format("sha256-{}", digits);
}

// No path can hide in a part of a name.
bool is_name_part(std::string_view part) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !part.empty() && part.front() != '.' && std::all_of(part.begin(), part.end(), allowed);
}

// NAME, SPACE/NAME or HOST/SPACE/NAME, as in hf.co/org/name.
struct OllamaName {
  std::string_view host = kOllamaHost, space = kOllamaSpace, model;
};

OllamaName parts_of(std::string_view name) {
  OllamaName parts;
  const size_t last = name.rfind('/');
  parts.model = last == std::string_view::npos ? name : name.substr(last + 1);
  if (last == std::string_view::npos) return parts;
  const std::string_view before = name.substr(0, last);
  const size_t first = before.find('/');
  parts.space = first == std::string_view::npos ? before : before.substr(first + 1);
  if (first != std::string_view::npos) parts.host = before.substr(0, first);
  return parts;
}

}  // namespace

bool is_ollama_manifest(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && !store_of(fs::absolute(file, error)).empty();
}

Result<GgufPlace> read_ollama_manifest(const fs::path& file) {
  std::error_code error;
  const fs::path store = store_of(fs::absolute(file, error));
  TRY_ASSIGN(const std::string text, read_file(file, kMostManifestBytes));
  TRY_ASSIGN(const boost::json::object document, parse_json_object(text, file.string()));
  const JsonFields top(document, file.string());
  const boost::json::value* layers = top.find("layers");
  if (layers == nullptr || !layers->is_array()) return top.wrong("layers", "a list");
  GgufPlace place;
  for (const boost::json::value& value : layers->get_array()) {
    if (!value.is_object()) return top.wrong("layers", "a list of objects");
    const JsonFields layer(value.get_object(), top.path_of("layers"));
    TRY_ASSIGN(const std::string type, layer.text_or("mediaType", ""));
    if (type.ends_with("image.model")) {
      TRY_ASSIGN(place.model, blob_of(layer, store));
    }
    if (type.ends_with("image.projector")) {
      TRY_ASSIGN(place.vision, blob_of(layer, store));
    }
  }
  if (place.model.empty()) return top.wrong("layers", "one with a model");
  return place;
}

Result<fs::path> find_ollama_manifest(std::string_view name, std::span<const fs::path> stores) {
  const size_t colon = name.find(':');
  const std::string_view whole = name.substr(0, colon);
  const std::string_view tag = colon == std::string_view::npos ? "latest" : name.substr(colon + 1);
  const OllamaName parts = parts_of(whole);
  if (!is_name_part(parts.host) || !is_name_part(parts.space) || !is_name_part(parts.model) || !is_name_part(tag))
    return Error{fmt::format("ollama:{}: expected ollama:NAME or ollama:NAME:TAG", name)};
  std::string looked;
  for (const fs::path& store : stores) {
    fs::path manifest = store / "manifests" / parts.host / parts.space / parts.model / tag;
    std::error_code error;
    if (fs::exists(manifest, error)) return manifest;
    looked += fmt::format("\n  {}", manifest.string());
  }
  return Error{fmt::format(
      "ollama:{}: not in Ollama's local store (nothing is downloaded); looked for{}; to fetch it: ollama pull {}", name,
      looked.empty() ? " nothing: there is no store" : looked, name)};
}

}  // namespace paceline
