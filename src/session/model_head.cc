#include "session/model_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/folder_entries.h"
#include "model/config.h"
#include "model/gemma4/config_reader.h"
#include "model/qwen/config_reader.h"
#include "session/found_drafter.h"
#include "weights/gguf/gguf_checkpoint.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// What most of the bytes are.
std::string format_of_most(const Checkpoint& checkpoint) {
  std::map<std::string, size_t> bytes;
  for (const TensorView& tensor : checkpoint.tensors()) {
    std::string name = in_blocks(tensor.blocks) ? weight_format_name(tensor.blocks) : dtype_name(tensor.dtype);
    bytes[std::move(name)] += tensor.bytes;
  }
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? "" : most->first;
}

// Where several weights share a word, as many as fit.
int64_t count_parameters(const Checkpoint& checkpoint, int32_t quant_bits) {
  int64_t all = 0;
  for (const TensorView& tensor : checkpoint.tensors()) {
    const int64_t elements =
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<int64_t>());
    const bool is_packed =
        quant_bits > 0 && (tensor.dtype == DType::u32 || tensor.dtype == DType::i32 || tensor.dtype == DType::u8);
    all += is_packed ? elements * 8 * static_cast<int64_t>(dtype_bytes(tensor.dtype)) / quant_bits : elements;
  }
  return all;
}

template <class Config>
int32_t take_config(const Config& config, ModelHead* head) {
  head->type = config.model_type;
  if (config.quant_bits > 0) head->format = fmt::format("{} bits", config.quant_bits);
  head->context = config.context;
  head->hidden = config.hidden;
  head->vocab = config.vocab;
  head->takes_images = config.ids.image >= 0;
  head->takes_videos = head->takes_images && config.ids.video >= 0;
  return config.quant_bits;
}

Status look_at(const Checkpoint& opened, ModelHead* head, int32_t* quant_bits) {
  head->is_drafter = is_assistant_config(opened.config_json());
  if (head->is_drafter) {
    head->type = "gemma4_assistant";
    return Done{};
  }
  if (qwen::is_qwen_config(opened.config_json())) {
    TRY_ASSIGN(const auto config, qwen::read_config(opened.config_json(), ""));
    *quant_bits = take_config(config, head);
    return Done{};
  }
  TRY_ASSIGN(const auto config, read_config(opened.config_json(), ""));
  *quant_bits = take_config(config, head);
  return Done{};
}

uint64_t bytes_of(const Checkpoint& checkpoint) {
  uint64_t bytes = 0;
  for (const MappedFile& file : checkpoint.files()) bytes += file.bytes().size();
  return bytes;
}

int64_t newest_change(const fs::path& place) {
  std::error_code error;
  const auto time_of = [&](const fs::path& file) -> int64_t {
    const auto written = fs::last_write_time(file, error);
    if (error) return 0;
    return std::chrono::duration_cast<std::chrono::seconds>(
               fs::file_time_type::clock::to_sys(written).time_since_epoch())
        .count();
  };
  if (!fs::is_directory(place, error)) return time_of(place);
  int64_t newest = 0;
  for (const fs::path& file : folder_entries(place))
    if (fs::is_regular_file(file, error)) newest = std::max(newest, time_of(file));
  return newest;
}

// Of each kind the first is used, and the first of all names them.
void add_drafters(ModelHead* head, const HubCaches& caches) {
  std::error_code error;
  std::set<DraftedBy> kinds;
  for (const fs::path& place : drafter_places(head->place, caches)) {
    if (!fs::exists(place / "config.json", error) && !is_gguf_place(place)) continue;
    if (!kinds.insert(kind_of_drafter(place)).second) continue;
    if (kinds.size() == 1) head->drafter = place.filename().string();
    if (const auto opened = Checkpoint::open(place); opened.ok()) head->drafter_bytes += bytes_of(**opened);
  }
}

}  // namespace

ModelHead read_model_head(const fs::path& place, const HubCaches& caches) {
  ModelHead head;
  head.place = place;
  head.changed = newest_change(place);
  int32_t quant_bits = 0;
  const auto opened =
      Checkpoint::open(place, [&](const Checkpoint& checkpoint) { return look_at(checkpoint, &head, &quant_bits); });
  if (!opened.ok()) {
    head.problem = opened.error().message;
    return head;
  }
  if (head.format.empty()) head.format = format_of_most(**opened);
  head.bytes = bytes_of(**opened);
  head.parameters = count_parameters(**opened, quant_bits);
  if (!head.is_drafter) add_drafters(&head, caches);
  return head;
}

}  // namespace paceline
