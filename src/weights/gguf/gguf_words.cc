#include "weights/gguf/gguf_words.h"

#include <fmt/format.h>

#include <charconv>

namespace paceline {

Result<boost::json::object> gguf_sampling(const GgufMetadata& metadata) {
  constexpr double kMostTemperature = 100;
  boost::json::object sampling;
  if (metadata.has("general.sampling.top_k")) {
    TRY_ASSIGN(sampling["top_k"], metadata.integer("general.sampling.top_k", 0, 1 << 24));
  }
  if (metadata.has("general.sampling.top_p")) {
    TRY_ASSIGN(sampling["top_p"], metadata.number_or("general.sampling.top_p", 0, 0, 1));
  }
  if (metadata.has("general.sampling.temp")) {
    TRY_ASSIGN(sampling["temperature"], metadata.number_or("general.sampling.temp", 0, 0, kMostTemperature));
  }
  return sampling;
}

Result<int64_t> gguf_vocabulary_rows(const GgufFiles& files) {
  const GgufTensor* embedding = files.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return Error{"tensor \"token_embd.weight\" is missing; expected a matrix of that name"};
  return embedding->shape[0];
}

GgufLayerName gguf_layer_name(std::string_view name, std::string_view before) {
  if (!name.starts_with(before)) return {};
  name.remove_prefix(before.size());
  int64_t layer = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const auto digits = static_cast<size_t>(end - name.data());
  if (error != std::errc() || layer < 0 || digits >= name.size() || name[digits] != '.') return {};
  return {layer, name.substr(digits + 1)};
}

}  // namespace paceline
