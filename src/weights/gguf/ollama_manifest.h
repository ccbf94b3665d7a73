// Ollama's local store: manifests/HOST/NAMESPACE/NAME/TAG is a small JSON file that names blobs by their digests, and
// blobs/sha256-… are the files. Read, never written.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"
#include "weights/gguf/gguf_checkpoint.h"

namespace paceline {

// By where it lies: in a folder "manifests" beside a folder "blobs".
bool is_ollama_manifest(const std::filesystem::path& file);

// The model's blob, and its projector's where it has one.
Result<GgufPlace> read_ollama_manifest(const std::filesystem::path& file);

// What a name without them has in front.
inline constexpr std::string_view kOllamaHost = "registry.ollama.ai", kOllamaSpace = "library";

// NAME[:TAG], NAMESPACE/NAME[:TAG] or HOST/NAMESPACE/NAME[:TAG]; the tag is "latest" where none is given.
Result<std::filesystem::path> find_ollama_manifest(std::string_view name,
                                                   std::span<const std::filesystem::path> stores);

}  // namespace paceline
