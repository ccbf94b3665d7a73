// The tensors of one module that is quantised, for the readers of formats: taken by the ends of their names, checked
// against dtypes and shapes that the model implies, never against what the file says of itself.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"
#include "weights/made_memory.h"
#include "weights/quantised/declared.h"

namespace paceline {

// Element i of a tensor of BF16, F16 or F32 that may lie at any address.
float float_element(const TensorView& tensor, size_t i);
uint32_t word_element(const TensorView& tensor, size_t i);

// Where modules are read from, and what is made for them is kept.
struct ModuleSource {
  TensorUse& use;
  ThreadPool& pool;
  std::vector<std::shared_ptr<const void>>& owners;
  const DeclaredQuantization& declared;
};

class QuantisedModule {
 public:
  using Shape = std::vector<int64_t>;

  // shape: [rows, cols], or of a stack, whose tensors have one dimension more and names without ".weight".
  QuantisedModule(const ModuleSource& source, std::string name, const Shape& shape)
      : source_(source), name_(std::move(name)), stacked_(shape.size() == 3), shape_(shape) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const DeclaredQuantization& declared() const { return source_.declared; }
  [[nodiscard]] ThreadPool& pool() const { return source_.pool; }
  [[nodiscard]] bool stacked() const { return stacked_; }
  // Of one matrix.
  [[nodiscard]] int64_t rows() const { return shape_[shape_.size() - 2]; }
  [[nodiscard]] int64_t cols() const { return shape_.back(); }
  // Of all of a stack.
  [[nodiscard]] int64_t all_rows() const { return stacked_ ? shape_[0] * rows() : rows(); }

  // part: ".weight_packed"
  [[nodiscard]] const TensorView* find(std::string_view part) const;
  [[nodiscard]] bool has(std::string_view part) const { return find(part) != nullptr; }
  // dtypes: those that it may have; shape: of one matrix.
  Result<const TensorView*> take(std::string_view part, std::span<const DType> dtypes, const Shape& shape);
  Result<const TensorView*> take(std::string_view part, DType dtype, const Shape& shape) {
    return take(part, std::span(&dtype, 1), shape);
  }
  // One float32, of shape [] or [1].
  Result<float> number(std::string_view part);
  // Refuses E4M3 with a code that is no number (0x7f, 0xff): it would make all that is computed with it none.
  [[nodiscard]] Status only_numbers(std::string_view part, const TensorView& tensor) const;
  // Known, and of no use here.
  void skip(std::string_view part);

  [[nodiscard]] Error wrong(std::string_view part, std::string_view text) const;

  // Memory that lives as long as the model reads it (weights/made_memory.h); not cleared.
  template <class T>
  T* memory(size_t count) {
    source_.owners.push_back(made_memory(count * sizeof(T)));
    return static_cast<T*>(const_cast<void*>(source_.owners.back().get()));
  }
  // The tensor's bytes where they may be read as words, or a copy of them.
  const void* in_place(const TensorView& tensor);

 private:
  [[nodiscard]] std::string full_name(std::string_view part) const;

  ModuleSource source_;
  std::string name_;
  bool stacked_;
  Shape shape_;
};

inline constexpr DType kFloats[] = {DType::bf16, DType::f16, DType::f32};

}  // namespace paceline
