#include "session/golden_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostJsonBytes = 64u << 20;

Result<std::vector<TokenId>> token_list(const JsonFields& fields, std::string_view name) {
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

Result<GoldenPrompt> read_prompt(const boost::json::value& value, size_t number) {
  if (!value.is_object()) return Error{fmt::format("golden.json: prompts[{}] is not an object", number)};
  const JsonFields fields(value.get_object(), fmt::format("golden.json: prompts[{}]", number));
  GoldenPrompt prompt;
  TRY_ASSIGN(prompt.ids, token_list(fields, "ids"));
  TRY_ASSIGN(prompt.greedy, token_list(fields, "greedy"));
  TRY_ASSIGN(prompt.min_gap, fields.number_or("min_gap", 0, 0, 1e9));
  if (prompt.ids.empty()) return fields.wrong("ids", "at least one token");
  return prompt;
}

size_t list_length(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_array() ? value->get_array().size() : 0;
}

}  // namespace

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
  if (const auto* list = fields.find("prompts"); list != nullptr && list->is_array()) {
    for (const auto& value : list->get_array()) {
      TRY_ASSIGN(GoldenPrompt prompt, read_prompt(value, prompts_.size()));
      prompts_.push_back(std::move(prompt));
    }
  }
  images_ = static_cast<int>(list_length(object, "images") + list_length(object, "videos"));
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
