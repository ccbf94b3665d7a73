#include "weights/gguf/gguf_types.h"

#include <array>

#include "base/check.h"

namespace paceline {
namespace {

struct NamedType {
  uint32_t number;
  const char* name;
  std::optional<GgufType> read;
};

constexpr GgufType elements(DType dtype) { return {dtype, WeightFormat::none}; }
constexpr GgufType blocks_of(WeightFormat format) { return {DType::u8, format}; }

constexpr std::array kGgufTypes = {
    NamedType{0, "F32", elements(DType::f32)},
    NamedType{1, "F16", elements(DType::f16)},
    NamedType{30, "BF16", elements(DType::bf16)},
    NamedType{26, "I32", elements(DType::i32)},
    NamedType{27, "I64", elements(DType::i64)},
    NamedType{2, "Q4_0", blocks_of(WeightFormat::q4_0)},
    NamedType{3, "Q4_1", blocks_of(WeightFormat::q4_1)},
    NamedType{6, "Q5_0", blocks_of(WeightFormat::q5_0)},
    NamedType{7, "Q5_1", blocks_of(WeightFormat::q5_1)},
    NamedType{8, "Q8_0", blocks_of(WeightFormat::q8_0)},
    NamedType{10, "Q2_K", blocks_of(WeightFormat::q2_k)},
    NamedType{11, "Q3_K", blocks_of(WeightFormat::q3_k)},
    NamedType{12, "Q4_K", blocks_of(WeightFormat::q4_k)},
    NamedType{13, "Q5_K", blocks_of(WeightFormat::q5_k)},
    NamedType{14, "Q6_K", blocks_of(WeightFormat::q6_k)},
    NamedType{20, "IQ4_NL", blocks_of(WeightFormat::iq4_nl)},
    NamedType{23, "IQ4_XS", blocks_of(WeightFormat::iq4_xs)},
    NamedType{39, "MXFP4", blocks_of(WeightFormat::mxfp4)},
    NamedType{40, "NVFP4", blocks_of(WeightFormat::nvfp4)},
    NamedType{9, "Q8_1", std::nullopt},
    NamedType{15, "Q8_K", std::nullopt},
    NamedType{16, "IQ2_XXS", std::nullopt},
    NamedType{17, "IQ2_XS", std::nullopt},
    NamedType{18, "IQ3_XXS", std::nullopt},
    NamedType{19, "IQ1_S", std::nullopt},
    NamedType{21, "IQ3_S", std::nullopt},
    NamedType{22, "IQ2_S", std::nullopt},
    NamedType{24, "I8", std::nullopt},
    NamedType{25, "I16", std::nullopt},
    NamedType{28, "F64", std::nullopt},
    NamedType{29, "IQ1_M", std::nullopt},
    NamedType{34, "TQ1_0", std::nullopt},
    NamedType{35, "TQ2_0", std::nullopt},
    NamedType{41, "Q1_0", std::nullopt},
    NamedType{42, "Q2_0", std::nullopt},
};

const NamedType* find_gguf_type(uint32_t number) {
  for (const NamedType& type : kGgufTypes)
    if (type.number == number) return &type;
  return nullptr;
}

}  // namespace

std::optional<GgufType> gguf_type(uint32_t number) {
  const NamedType* found = find_gguf_type(number);
  return found == nullptr ? std::nullopt : found->read;
}

uint32_t gguf_type_number(GgufType type) {
  for (const NamedType& known : kGgufTypes)
    if (known.read && known.read->dtype == type.dtype && known.read->blocks == type.blocks) return known.number;
  CHECK(false);
  return 0;
}

std::string gguf_type_name(uint32_t number) {
  const NamedType* found = find_gguf_type(number);
  return found == nullptr ? std::to_string(number) : found->name;
}

}  // namespace paceline
