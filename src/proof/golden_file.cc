#include "proof/golden_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <numeric>

#include "base/regular_file.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

Result<GoldenPrompt> read_prompt(const JsonFields& fields) {
  GoldenPrompt prompt;
  TRY_ASSIGN(prompt.ids, read_token_list(fields, "ids"));
  TRY_ASSIGN(prompt.greedy, read_token_list(fields, "greedy"));
  TRY_ASSIGN(prompt.min_gap, fields.number_or("min_gap", 0, 0, 1e9));
  if (prompt.ids.empty()) return fields.wrong("ids", "at least one token");
  return prompt;
}

Result<GoldenImage> read_image(const JsonFields& fields) {
  GoldenImage image;
  TRY_ASSIGN(image.prompt, read_prompt(fields));
  TRY_ASSIGN(image.file, fields.text("file"));
  TRY_ASSIGN(const int64_t budget, fields.integer("max_soft_tokens", 1, 1 << 20));
  image.budget = static_cast<int32_t>(budget);
  return image;
}

Result<GoldenClip> read_clip(const JsonFields& fields) {
  GoldenClip clip;
  TRY_ASSIGN(clip.prompt, read_prompt(fields));
  TRY_ASSIGN(clip.frames, read_token_list(fields, "frames_indices"));
  return clip;
}

// The list by this name, or an empty one where there is none.
template <class Item>
Status read_list(const JsonFields& fields, std::string_view name, Result<Item> (*read)(const JsonFields&),
                 std::vector<Item>* out) {
  const auto* list = fields.find(name);
  if (list == nullptr || !list->is_array()) return Done{};
  for (const auto& value : list->get_array()) {
    const std::string where = fmt::format("golden.json: {}[{}]", name, out->size());
    if (!value.is_object()) return Error{fmt::format("{} is not an object", where)};
    TRY_ASSIGN(Item item, read(JsonFields(value.get_object(), where)));
    out->push_back(std::move(item));
  }
  return Done{};
}

}  // namespace

Result<std::vector<TokenId>> read_token_list(const JsonFields& fields, std::string_view name) {
  const auto* value = fields.find(name);
  if (value == nullptr || !value->is_array()) return fields.wrong(name, "a list of token ids");
  std::vector<TokenId> ids;
  for (const auto& item : value->get_array()) {
    const auto id = json_integer(item);
    if (!id || *id < 0 || *id > INT32_MAX) return fields.wrong(name, "a list of token ids");
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

Result<GoldenStates> GoldenStates::open(const fs::path& path) {
  TRY_ASSIGN(MappedFile file, MappedFile::open(path));
  TRY_ASSIGN(SafetensorsHeader header, parse_safetensors(file.bytes()));
  return GoldenStates(path.filename().string(), std::move(file), std::move(header));
}

Result<GoldenFile> GoldenFile::open(const fs::path& folder) {
  TRY_ASSIGN(GoldenStates states, GoldenStates::open(folder / "golden.safetensors"));
  GoldenFile golden(std::move(states));
  TRY(golden.read_json(folder / "golden.json"));
  return golden;
}

Status GoldenFile::read_json(const fs::path& path) {
  TRY_ASSIGN(const std::string text, read_file(path, kMostGoldenJsonBytes));
  TRY_ASSIGN(const boost::json::object object, parse_json_object(text, "golden.json"));
  const JsonFields fields(object, "golden.json");
  TRY_ASSIGN(name_, fields.text_or("case", path.parent_path().filename().string()));
  TRY(read_list(fields, "prompts", read_prompt, &prompts_));
  TRY(read_list(fields, "images", read_image, &images_));
  return read_list(fields, "videos", read_clip, &clips_);
}

Result<const TensorEntry*> GoldenStates::find(const std::string& tensor) const {
  const auto found = std::find_if(header_.tensors.begin(), header_.tensors.end(),
                                  [&](const TensorEntry& entry) { return entry.name == tensor; });
  if (found == header_.tensors.end()) return Error{fmt::format("{} has no {}", file_name_, tensor)};
  return &*found;
}

Result<GoldenStates::Values> GoldenStates::matrix(const std::string& tensor) const {
  TRY_ASSIGN(const TensorEntry* found, find(tensor));
  if (found->dtype != DType::f32 || found->shape.size() < 2) {
    return Error{fmt::format("{}: {} should be a float32 matrix, is {} {}", file_name_, tensor,
                             dtype_name(found->dtype), shape_text(found->shape))};
  }
  const std::byte* start = start_of(*found);
  if (reinterpret_cast<uintptr_t>(start) % alignof(float) != 0) {
    return Error{fmt::format("{}: {} is not aligned", file_name_, tensor)};
  }
  return Values{{reinterpret_cast<const float*>(start), (found->end - found->begin) / sizeof(float)},
                std::accumulate(found->shape.begin(), found->shape.end() - 1, int64_t{1}, std::multiplies<>()),
                found->shape.back()};
}

Result<GoldenStates::ByteValues> GoldenStates::bytes(const std::string& tensor) const {
  TRY_ASSIGN(const TensorEntry* found, find(tensor));
  if (found->dtype != DType::u8) {
    return Error{fmt::format("{}: {} should hold bytes, holds {}", file_name_, tensor, dtype_name(found->dtype))};
  }
  return ByteValues{{reinterpret_cast<const uint8_t*>(start_of(*found)), found->end - found->begin}, found->shape};
}

Result<std::vector<fs::path>> find_golden_cases(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Error{fmt::format("{}: no such folder", folder.string())};
  if (fs::exists(folder / "golden.json", error)) return std::vector{folder};
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / "golden.json", error)) cases.push_back(entry.path());
  }
  if (cases.empty()) return Error{fmt::format("{}: no golden.json here nor in a folder below", folder.string())};
  std::sort(cases.begin(), cases.end());
  return cases;
}

}  // namespace paceline
