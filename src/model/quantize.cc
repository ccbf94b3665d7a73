#include "model/quantize.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "model/quantize_plan.h"
#include "weights/gguf/gguf_checkpoint.h"
#include "weights/quant_config.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Of the source, quantised at a time: what bounds the memory in use.
constexpr int64_t kChunkBytes = 64 << 20;

// A folder that vanishes again unless it is given its final name.
class PartialFolder {
 public:
  explicit PartialFolder(fs::path path) : path_(std::move(path)) {}
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;
  ~PartialFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

  Status create() {
    std::error_code error;
    if (fs::create_directories(path_, error) && !error) return Done{};
    const Error failed{fmt::format("{}: cannot create: {}", path_.string(), error ? error.message() : "it exists")};
    path_.clear();  // not ours to remove
    return failed;
  }

  Status become(const fs::path& final_path) {
    std::error_code error;
    fs::rename(path_, final_path, error);
    if (error) return Error{fmt::format("{}: cannot rename to it: {}", final_path.string(), error.message())};
    path_.clear();
    return Done{};
  }

 private:
  fs::path path_;
};

Status write_text(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return Error{fmt::format("{}: cannot write", path.string())};
  return Done{};
}

// Tokenizer, template, generation and processor files: everything small that is not weights or config.
Status copy_side_files(const fs::path& from, const fs::path& to) {
  static const std::set<std::string> kKinds = {".json", ".jinja", ".model", ".txt", ".md"};
  std::error_code error;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == "config.json" || name.ends_with(".safetensors.index.json")) continue;
    if (!kKinds.contains(it->path().extension().string()) || !it->is_regular_file(error)) continue;
    if (!fs::copy_file(it->path(), to / name, error)) break;
  }
  if (error)
    return Error{fmt::format("{}: cannot copy the files beside the weights: {}", from.string(), error.message())};
  return Done{};
}

Status copy_step(const QuantizeStep& step, SafetensorsWriter& writer) {
  return writer.write(step.output, 0, {step.source->values, step.source->bytes});
}

Status quantise_step(const QuantizeStep& step, ThreadPool& pool, SafetensorsWriter& writer) {
  const int64_t cols = step.source->shape.back();
  const int64_t row_bytes = cols * static_cast<int64_t>(dtype_bytes(step.source->dtype));
  const int64_t chunk = std::max<int64_t>(1, kChunkBytes / row_bytes);
  QuantisedRows rows;
  for (int64_t block = 0; block < step.blocks; ++block) {
    for (int64_t done = 0; done < step.block_rows; done += chunk) {
      const int64_t from = block * step.stride_rows + step.first_row + done;
      const int64_t count = std::min(chunk, step.block_rows - done);
      if (!quantise_rows({step.source->values + from * row_bytes, step.source->dtype, count, cols}, step.spec, pool,
                         &rows)) {
        return Error{fmt::format("tensor \"{}\": expected finite weights, found others", step.source->name)};
      }
      const auto to = static_cast<uint64_t>(block * step.block_rows + done);
      const auto packed_row = static_cast<uint64_t>(step.spec.packed_bytes(cols));
      const auto scale_row = static_cast<uint64_t>(step.spec.scale_count(cols)) * sizeof(uint16_t);
      TRY(writer.write(step.output, to * packed_row, std::as_bytes(std::span(rows.packed))));
      TRY(writer.write(step.output + 1, to * scale_row, std::as_bytes(std::span(rows.scales))));
      TRY(writer.write(step.output + 2, to * scale_row, std::as_bytes(std::span(rows.biases))));
    }
  }
  return Done{};
}

Status write_weights(const QuantizePlan& plan, const fs::path& path, ThreadPool& pool, const Progress& progress) {
  // "pt" and the source's names: MLX then renames as it does for any Hugging Face checkpoint.
  TRY_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, plan.outputs, {{"format", "pt"}}));
  int done = 0;
  for (const QuantizeStep& step : plan.steps) {
    TRY(step.quantise ? quantise_step(step, pool, writer) : copy_step(step, writer));
    if (progress) progress(++done, static_cast<int>(plan.steps.size()));
  }
  return writer.finish();
}

QuantizeSummary summarise(const QuantizePlan& plan, const Checkpoint& checkpoint) {
  QuantizeSummary summary;
  std::set<const TensorView*> quantised;
  for (const QuantizeStep& step : plan.steps) {
    if (step.quantise) quantised.insert(step.source);
  }
  summary.quantised = static_cast<int>(quantised.size());
  summary.kept = static_cast<int>(checkpoint.tensors().size() - quantised.size());
  for (const TensorView& tensor : checkpoint.tensors()) summary.bytes_before += tensor.bytes;
  for (const TensorPlan& output : plan.outputs) summary.bytes_after += output.bytes();
  return summary;
}

}  // namespace

Result<QuantizeSummary> quantize_checkpoint(const fs::path& from, const fs::path& to, QuantSpec spec, ThreadPool& pool,
                                            const Progress& progress) {
  if ((spec.bits != 4 && spec.bits != 8) || (spec.group != 32 && spec.group != 64 && spec.group != 128)) {
    return Error{fmt::format("expected 4 or 8 bits in groups of 32, 64 or 128; found {} in {}", spec.bits, spec.group)};
  }
  fs::path final_path = to.lexically_normal();
  if (!final_path.has_filename()) final_path = final_path.parent_path();  // "out/" → "out"
  std::error_code error;
  if (fs::exists(final_path, error))
    return Error{fmt::format("{}: expected no such folder, but it exists", to.string())};

  if (is_gguf_place(from)) {
    return Error{fmt::format("{}: expected a folder in Hugging Face layout to quantise, found GGUF", from.string())};
  }
  TRY_ASSIGN(const auto checkpoint, Checkpoint::open(from));
  const QuantizePlan plan = plan_quantization(*checkpoint, spec);
  TRY_ASSIGN(const std::string config, add_quantization(checkpoint->config_json(), spec, plan.overrides));
  const QuantizeSummary summary = summarise(plan, *checkpoint);
  if (summary.quantised == 0) {
    return Error{fmt::format("{}: no weights have rows that are multiples of {}", from.string(), spec.group)};
  }
  PartialFolder partial(fmt::format("{}.partial-{}", final_path.string(), ::getpid()));
  TRY(partial.create());
  TRY(write_text(partial.path() / "config.json", config));
  TRY(copy_side_files(from, partial.path()));
  TRY(write_weights(plan, partial.path() / "model.safetensors", pool, progress));
  TRY(partial.become(final_path));
  return summary;
}

}  // namespace paceline
