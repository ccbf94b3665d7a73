#include "proof/wide_weights.h"

#include <vector>

namespace paceline {

std::shared_ptr<Gemma4Weights> in_float32(const Gemma4Weights& weights, const kernels::CpuTable& table) {
  auto wide = std::make_shared<Gemma4Weights>(weights);
  wide->checkpoint = nullptr;
  const auto widen = [&](Matrix& m) {
    if (!m.quantised()) return;
    const auto cols = static_cast<size_t>(m.cols);
    auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(m.rows) * cols);
    for (int32_t r = 0; r < m.rows; ++r) table.dequantise(m, r, 1.0f, values->data() + static_cast<size_t>(r) * cols);
    wide->owners.push_back(values);
    m = {.format = WeightFormat::f32, .rows = m.rows, .cols = m.cols, .values = values->data()};
  };
  for (LayerWeights& l : wide->layers)
    for (Matrix* m : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down}) widen(*m);
  widen(wide->embedding);
  wide->head = wide->embedding;
  return wide;
}

}  // namespace paceline
