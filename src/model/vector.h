// Norm weights and other short vectors, as float32.
#pragma once

#include <vector>

namespace paceline {

class Vector : public std::vector<float> {
 public:
  using std::vector<float>::vector;

  // Where operations read it: in the memory of the backend that it was placed in, or here.
  [[nodiscard]] const float* for_ops() const { return placed_ != nullptr ? placed_ : data(); }
  void set_placed(const float* at) { placed_ = at == data() ? nullptr : at; }

 private:
  const float* placed_ = nullptr;
};

}  // namespace paceline
