#include "proof/gguf_goldens.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json.hpp>

#include "base/regular_file.h"
#include "proof/golden_file.h"
#include "tensor/blocks.h"
#include "tokenizer/tokenizer.h"
#include "weights/gguf/gguf_checkpoint.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr WeightFormat kBlockFormats[] = {
    WeightFormat::q8_0,   WeightFormat::q4_0,  WeightFormat::q4_1,  WeightFormat::q5_0,  WeightFormat::q5_1,
    WeightFormat::iq4_nl, WeightFormat::mxfp4, WeightFormat::nvfp4, WeightFormat::q2_k,  WeightFormat::q3_k,
    WeightFormat::q4_k,   WeightFormat::q5_k,  WeightFormat::q6_k,  WeightFormat::iq4_xs};

bool same_bits(float a, float b) {
  // Zeros count as one.
  return a == b || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

Result<boost::json::value> read_json_file(const fs::path& path) {
  TRY_ASSIGN(const std::string text, read_file(path, kMostGoldenJsonBytes));
  return parse_json(text, path.filename().string());
}

Status check_gguf_encodings(const fs::path& json, const fs::path& model, GgufCheck* check) {
  TRY_ASSIGN(const boost::json::value list, read_json_file(json));
  TRY_ASSIGN(const auto checkpoint, Checkpoint::open(model));
  TRY_ASSIGN(const auto text, checkpoint->side_file("tokenizer.json"));
  if (!text) return Error{fmt::format("{}: no tokenizer", model.string())};
  TRY_ASSIGN(const Tokenizer tokenizer, Tokenizer::load(*text));
  if (!list.is_array()) return Error{fmt::format("{}: expected a list", json.string())};
  for (const boost::json::value& value : list.get_array()) {
    if (!value.is_object()) return Error{fmt::format("{}: expected a list of objects", json.string())};
    const JsonFields fields(value.get_object(), json.filename().string());
    TRY_ASSIGN(const std::string written, fields.text("text"));
    TRY_ASSIGN(const std::vector<TokenId> ids, read_token_list(fields, "ids"));
    TRY(Tokenizer::check_size(written.size()));
    ++check->encodings;
    check->encodings_equal += tokenizer.encode(written, false) == ids ? 1 : 0;
  }
  return Done{};
}

// A file with tokens in it.
fs::path first_model(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!is_gguf_file(entry.path()) || is_later_part(entry.path())) continue;
    const auto opened = GgufFiles::open(entry.path());
    if (opened.ok() && opened->architecture() == "gemma4") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? fs::path() : found.front();
}

bool describes_files(const fs::path& path) {
  if (path.extension() != ".json") return false;
  const auto document = read_json_file(path);
  return document.ok() && document->is_object() && document->get_object().contains("files") &&
         document->get_object().contains("tensors");
}

}  // namespace

bool GgufFileCheck::passed(Precision precision) const {
  // These goldens do not say how near the second draft was: of what is rounded, some may rightly differ.
  const bool exact = precision != Precision::f32 || (logit_error <= 2e-4 && drafts.all_equal());
  return problem.empty() && tensors_equal == tensors && exact && sequences_missed == 0 && configs_equal &&
         vision_tensors_equal == vision_tensors;
}

bool GgufCheck::passed(Precision precision) const {
  return std::all_of(files.begin(), files.end(), [&](const auto& file) { return file.passed(precision); }) &&
         block_types_equal == block_types && encodings_equal == encodings && hostile_as_said == hostile;
}

bool has_gguf_goldens(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "golden.json", error)) return false;
  if (fs::exists(folder / "hostile.json", error) || fs::exists(folder / "blocks.safetensors", error)) return true;
  fs::directory_iterator entries(folder, error);
  return !error && std::any_of(begin(entries), end(entries), [](const auto& e) { return is_gguf_file(e.path()); });
}

Status check_gguf_blocks(const fs::path& file, GgufCheck* check) {
  TRY_ASSIGN(const GoldenStates blocks, GoldenStates::open(file));
  for (const WeightFormat format : kBlockFormats) {
    const std::string name = weight_format_name(format);
    TRY_ASSIGN(const auto bytes, blocks.bytes(name + ".bytes"));
    TRY_ASSIGN(const auto values, blocks.matrix(name + ".values"));
    const BlockShape shape = block_shape(format);
    const size_t count = bytes.values.size() / static_cast<size_t>(shape.bytes) * static_cast<size_t>(shape.elements);
    if (count != values.values.size()) return Error{fmt::format("{}: {} has another shape", file.string(), name)};
    std::vector<float> ours(count);
    dequantise_blocks(format, bytes.values.data(), static_cast<int64_t>(count), ours.data());
    ++check->block_types;
    check->block_types_equal += std::equal(ours.begin(), ours.end(), values.values.begin(), same_bits) ? 1 : 0;
  }
  return Done{};
}

Result<GgufCheck> check_gguf_goldens(const fs::path& folder, Precision precision, ThreadPool& pool, kernels::Ops& ops) {
  GgufCheck check;
  std::error_code error;
  std::vector<fs::path> described;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (describes_files(entry.path())) described.push_back(entry.path());
  std::sort(described.begin(), described.end());
  for (const fs::path& json : described) {
    TRY_ASSIGN(GgufFileCheck file, check_gguf_file(json, precision, pool, ops));
    check.files.push_back(std::move(file));
  }
  if (fs::exists(folder / "blocks.safetensors", error)) TRY(check_gguf_blocks(folder / "blocks.safetensors", &check));
  const fs::path model = first_model(folder);
  if (!model.empty() && fs::exists(folder / "encodings.json", error))
    TRY(check_gguf_encodings(folder / "encodings.json", model, &check));
  if (fs::exists(folder / "hostile.json", error)) TRY(check_gguf_hostile(folder / "hostile.json", pool, ops, &check));
  return check;
}

}  // namespace paceline
