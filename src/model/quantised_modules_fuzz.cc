// A module of tensors with any names, dtypes and shapes, read in every quantised format: an error, or a matrix all of
// whose numbers can be read.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/portable/matmul.h"
#include "model/tensor_binder.h"

namespace paceline {
namespace {

constexpr const char* kParts[] = {".weight",
                                  ".weight_packed",
                                  ".weight_scale",
                                  ".weight_global_scale",
                                  ".weight_scale_2",
                                  ".weight_scale_inv",
                                  ".weight_zero_point",
                                  ".weight_g_idx",
                                  ".weight_shape",
                                  ".qweight",
                                  ".qzeros",
                                  ".scales",
                                  ".biases",
                                  ".g_idx",
                                  ".weight.absmax",
                                  ".weight.quant_map",
                                  ".weight.nested_absmax",
                                  ".weight.nested_quant_map",
                                  ".weight.quant_state.bitsandbytes__nf4"};
constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16, DType::u8,  DType::i8,      DType::u32,
                             DType::i32, DType::i64, DType::f64,  DType::u16, DType::f8_e4m3, DType::f8_e8m0};
constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 8, 16, 32, 64, 96, 128, 256};
constexpr const char* kConfigs[] = {
    "{}", R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})",
    R"({"quantization_config": {"quant_method": "gptq", "bits": 8, "checkpoint_format": "gptq_v2"}})",
    R"({"quantization_config": {"quant_method": "awq", "bits": 4}})"};

// Bytes of the input, one after the other, zeros behind the last.
class Bytes {
 public:
  Bytes(const uint8_t* at, size_t size) : at_(at), size_(size) {}
  uint8_t next() { return used_ < size_ ? at_[used_++] : 0; }
  template <class T, size_t N>
  T one_of(const T (&all)[N]) {
    return all[next() % N];
  }

 private:
  const uint8_t* at_;
  size_t size_, used_ = 0;
};

class MadeCheckpoint : public Checkpoint {
 public:
  MadeCheckpoint(Bytes& bytes, const char* config) : config_(config) {
    for (const char* part : kParts) {
      if (bytes.next() % 2 == 0) continue;
      TensorView tensor;
      tensor.name = std::string("m") + part;
      tensor.dtype = bytes.one_of(kDTypes);
      size_t elements = 1;
      for (int rank = bytes.next() % 4; rank > 0; --rank) {
        tensor.shape.push_back(bytes.one_of(kSizes));
        elements *= static_cast<size_t>(tensor.shape.back());
      }
      // As large as the test allows, each in memory of its own so that nothing behind its end goes unseen.
      if (elements > size_t{1} << 16) continue;
      tensor.bytes = elements * dtype_bytes(tensor.dtype);
      auto& held = memory_.emplace_back(tensor.bytes);
      for (size_t i = 0; i < held.size(); ++i) held[i] = std::byte{i < 300 ? bytes.next() : uint8_t{0x11}};
      tensor.values = held.data();
      tensors_.push_back(std::move(tensor));
    }
  }

  [[nodiscard]] const std::filesystem::path& folder() const override { return folder_; }
  [[nodiscard]] std::span<const MappedFile> files() const override { return {}; }
  [[nodiscard]] std::span<const TensorView> tensors() const override { return tensors_; }
  [[nodiscard]] const TensorView* find(std::string_view name) const override {
    for (const TensorView& tensor : tensors_)
      if (tensor.name == name) return &tensor;
    return nullptr;
  }
  [[nodiscard]] const std::string& config_json() const override { return config_; }
  [[nodiscard]] const std::string& generation_config_json() const override { return none_; }
  [[nodiscard]] Result<std::optional<std::string>> side_file(std::string_view) const override {
    return std::optional<std::string>();
  }

 private:
  std::filesystem::path folder_;
  std::string config_, none_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<TensorView> tensors_;
};

void read_module(Bytes bytes) {
  const char* const config = bytes.one_of(kConfigs);
  const int64_t rows = bytes.one_of(kSizes), cols = bytes.one_of(kSizes);
  ThreadPool pool(1);
  TensorBinder binder(std::make_shared<MadeCheckpoint>(bytes, config), pool);
  Matrix m;
  if (rows == 0 || cols == 0 || !binder.matrix("m", rows, cols, &m).ok()) return;
  std::vector<float> row(static_cast<size_t>(cols));
  for (int32_t n = 0; n < m.rows; ++n) kernels::portable::dequantise(m, n, 1.0f, row.data());
}

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  paceline::read_module({bytes, size});
  return 0;
}
