// The checks of kernels: what they are run with, and what there is.
#pragma once

#include "check.h"

namespace paceline::gpu {

using kernels::Activation;

struct Case {
  WeightFormat format;
  Activation activation;
  int32_t group;
  DType scales;
  const char* name;
};

inline const Case kCases[] = {
    {WeightFormat::bf16, Activation::bf16, 0, DType::bf16, "bf16"},
    {WeightFormat::bf16, Activation::f32, 0, DType::bf16, "bf16 with f32 rows"},
    {WeightFormat::f32, Activation::f32, 0, DType::bf16, "f32"},
    {WeightFormat::f16, Activation::f32, 0, DType::bf16, "f16"},
    {WeightFormat::q8, Activation::bf16, 32, DType::bf16, "q8 by 32"},
    {WeightFormat::q8, Activation::bf16, 64, DType::bf16, "q8 by 64"},
    {WeightFormat::q8, Activation::bf16, 128, DType::f32, "q8 by 128, f32 scales"},
    {WeightFormat::q4, Activation::bf16, 32, DType::bf16, "q4 by 32"},
    {WeightFormat::q4, Activation::bf16, 64, DType::f32, "q4 by 64, f32 scales"},
    {WeightFormat::q4, Activation::bf16, 64, DType::bf16, "q4 by 64"},
    {WeightFormat::q4, Activation::bf16, 128, DType::bf16, "q4 by 128"},
};

// Those of GGUF's blocks, with rows in bytes and as they are: blocks of 32 or 64 elements, then those of 256.
std::vector<Case> block_cases();
// Those that become bf16 on their way, and rows of theirs have factors.
std::vector<Case> chunk_cases();
// What a matrix of these has besides; empty where it has none. Set in the matrix.
std::vector<double> give_factors(Matrix& m, std::mt19937& random);

// Products: against the portable ones where there is an oracle, and cut in many ways.
void check_matmul(Backends& b, const Case& c, int32_t n, int32_t k, int32_t rows, bool oracle);
// A row that is not a number stays so, and is nothing to others.
void check_not_a_number(Backends& b, const Case& c);
// Several products in one call are those of one call each.
void check_projections(Backends& b);
// A gate and what it gates in formats of their own.
void check_unlike_gates(Backends& b);
// `down`: the format of the last matrix where it is another, of blocks.
void check_experts(Backends& b, const Case& c, int32_t experts, int32_t top, int32_t hidden, int32_t width,
                   int32_t rows, WeightFormat down = WeightFormat::none);

// Norms, and what is done to rows element by element.
void check_rows(Backends& b);
void check_elementwise(Backends& b);

struct AttentionCase {
  int32_t heads, kv_heads, dim, window, length;
  int32_t rotary = 0;  // 0: all of a head
  bool norms_values = true;
  int32_t joined = 0;  // as HeadShape has it
};
void check_attention(Backends& b, const AttentionCase& c, DType dtype);
// Many sequences of unlike length in one step, of one row, of a few and of many: each as it is alone.
void check_company(Backends& b, const AttentionCase& c, int32_t sequences, int32_t prompt_rows);

// Products and the norms behind them.
void check_chains(Backends& b, bool few);
// The operations that are several in one: each against its parts on the processor, and a row alone against company.
void check_joined(Ops& gpu, kernels::CpuOps& cpu, Checks& checks, bool few);
// Gated DeltaNet, and gates.
void check_recurrent(Backends& b, bool few);
// What drafters of whole blocks need.
void check_blocks(Backends& b);
// Attention of few rows, in launches behind each other.
void check_pages(Ops& gpu, Checks& checks);
// Long contexts that few queries walk in equal shares.
void check_walks(Ops& gpu, Checks& checks);

}  // namespace paceline::gpu
