#include "session/golden_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostJsonBytes = 64u << 20;

Result<GoldenPrompt> read_prompt(const boost::json::value& value, const std::string& where) {
  if (!value.is_object()) return Error{fmt::format("{} is not an object", where)};
  const JsonFields fields(value.get_object(), where);
  GoldenPrompt prompt;
  TRY_ASSIGN(prompt.ids, read_token_list(fields, "ids"));
  TRY_ASSIGN(prompt.greedy, read_token_list(fields, "greedy"));
  TRY_ASSIGN(prompt.min_gap, fields.number_or("min_gap", 0, 0, 1e9));
  if (prompt.ids.empty()) return fields.wrong("ids", "at least one token");
  return prompt;
}

// Of the list by this name, or of none where there is no such list.
Result<std::vector<GoldenPrompt>> read_prompts(const JsonFields& fields, std::string_view name) {
  std::vector<GoldenPrompt> prompts;
  const auto* list = fields.find(name);
  if (list == nullptr || !list->is_array()) return prompts;
  for (const auto& value : list->get_array()) {
    TRY_ASSIGN(GoldenPrompt prompt, read_prompt(value, fmt::format("golden.json: {}[{}]", name, prompts.size())));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
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

Result<GoldenFile> GoldenFile::open(const fs::path& folder) {
  TRY_ASSIGN(MappedFile file, MappedFile::open(folder / "golden.safetensors"));
  TRY_ASSIGN(SafetensorsHeader header, parse_safetensors(file.bytes()));
  GoldenFile golden(std::move(file), std::move(header));
  TRY(golden.read_json(folder / "golden.json"));
  return golden;
}

Status GoldenFile::read_json(const fs::path& path) {
  TRY_ASSIGN(const std::string text, read_file(path, kMostJsonBytes));
  TRY_ASSIGN(const boost::json::object object, parse_json_object(text, "golden.json"));
  const JsonFields fields(object, "golden.json");
  TRY_ASSIGN(name_, fields.text_or("case", path.parent_path().filename().string()));
  TRY_ASSIGN(prompts_, read_prompts(fields, "prompts"));
  TRY_ASSIGN(images_, read_prompts(fields, "images"));
  TRY_ASSIGN(const std::vector<GoldenPrompt> clips, read_prompts(fields, "videos"));
  clips_ = static_cast<int>(clips.size());
  return Done{};
}

Result<GoldenFile::Values> GoldenFile::matrix(const std::string& tensor) const {
  const auto found = std::find_if(header_.tensors.begin(), header_.tensors.end(),
                                  [&](const TensorEntry& entry) { return entry.name == tensor; });
  if (found == header_.tensors.end()) return Error{fmt::format("golden.safetensors has no {}", tensor)};
  if (found->dtype != DType::f32 || found->shape.size() != 2) {
    return Error{fmt::format("golden.safetensors: {} should be a float32 matrix, is {} {}", tensor,
                             dtype_name(found->dtype), shape_text(found->shape))};
  }
  const std::byte* start = file_.bytes().data() + found->begin;
  if (reinterpret_cast<uintptr_t>(start) % alignof(float) != 0) {
    return Error{fmt::format("golden.safetensors: {} is not aligned", tensor)};
  }
  return Values{{reinterpret_cast<const float*>(start), (found->end - found->begin) / sizeof(float)},
                found->shape[0],
                found->shape[1]};
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
