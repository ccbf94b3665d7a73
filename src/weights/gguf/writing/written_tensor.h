// One tensor of a GGUF file that is being written: where its numbers come from, and into which type they go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "weights/checkpoint.h"
#include "weights/gguf/writing/gguf_writer.h"

namespace paceline {

inline constexpr GgufType kWrittenFloats{DType::f32, WeightFormat::none};

struct WrittenTensor {
  GgufTensorPlan plan;
  std::vector<const TensorView*> sources = {};           // rows of one after the other's; all of one shape
  std::vector<float> values = {};                        // in place of sources
  std::function<int64_t(int64_t row)> row_of = nullptr;  // of the sources; none: the same
  std::vector<int64_t> columns = {};                     // likewise
};

// "model.layers.0.…" of "model.language_model.layers.0.…" and "language_model.model.layers.0.…"; towers without the
// module around each matrix.
std::string plain_written_name(std::string_view name);
// An error: it is packed already.
Status check_written_form(const TensorView& tensor);
// A shape of at least one dimension.
std::vector<int64_t> written_shape(const TensorView& tensor);
std::vector<float> written_floats(const TensorView& tensor);

// number: of the writer's list.
Status write_tensor(const WrittenTensor& tensor, size_t number, ThreadPool& pool, GgufWriter& writer);

}  // namespace paceline
