// Every operation of the CUDA device against the portable kernels within rounding, and a row's bits alone, in company,
// at any place and in any chunking.
#include "kernels_check.h"

#include <functional>

namespace paceline::gpu {
namespace {

using kernels::CpuOps;
using kernels::random_rows;

void check_memory(Backends& b) {
  // More than there is: said, and the device goes on.
  auto again = kernels::make_cuda_ops();
  b.checks.expect(again.ok(), "a second Ops on the device");
  if (!again.ok()) return;
  b.checks.expect((*again)->memory(size_t{1} << 50) == nullptr, "memory that is not there");
  const Status status = (*again)->wait();
  b.checks.expect(!status.ok() && status.error().message.find("memory left") != std::string::npos, "and says so");
  const Block fine(b.gpu, random_rows(1, 10, b.random));
  b.checks.expect(fine.read().size() == 10, "the first Ops goes on");
}

// Matrices that lay at the same place one after the other, and one that is there twice.
void check_placing(Backends& b) {
  constexpr int32_t kRows = 64;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<uint16_t> values(size_t{kRows} * 256, 0x3f80);  // ones
  const auto place = [&](int32_t cols) {
    Matrix m;
    m.format = WeightFormat::bf16;
    m.rows = kRows;
    m.cols = cols;
    m.values = values.data();
    return b.gpu.place(m, owners);
  };
  const Block x(b.gpu, std::vector<float>(256, 1.0f)), y(b.gpu, size_t{kRows});
  const auto product = [&](const Matrix& m) {
    const kernels::Projection out{&m, y.at()};
    b.gpu.linear(x.at(), 1, Activation::bf16, {&out, 1});
    return y.read()[kRows - 1];
  };
  const Matrix first = place(256), again = place(256), shorter = place(128);
  b.checks.expect(again.values == first.values, "a matrix placed twice is there once");
  values.assign(values.size(), 0x4000);  // twos
  const Matrix other = place(256);
  b.checks.expect(product(first) == 256 && product(shorter) == 128 && product(other) == 512,
                  "matrices that lay at the same place");
}

void check_products(Backends& b, bool quick) {
  check_projections(b);
  for (const Case& c : kCases) {
    check_matmul(b, c, 100, 128, quick ? 20 : 150, true);
    check_matmul(b, c, 704, 1664, quick ? 40 : 150, true);  // more than a narrow kernel's
    if (c.group <= 32) check_matmul(b, c, 48, 96, quick ? 20 : 150, true);
    check_not_a_number(b, c);
    if (quick) continue;
    check_matmul(b, c, 5376, 1024, 150, false);
    check_matmul(b, c, 192, 21504, 150, false);
  }
  // So many units that parts stay in one block, and gated matrices of odd width.
  check_matmul(b, kCases[0], 140000, 320, quick ? 5 : 20, false);
  check_matmul(b, kCases[9], 140000, 1920, quick ? 5 : 20, false);
  check_matmul(b, kCases[0], 2112, 2816, quick ? 20 : 150, true);
  // Blocks of 224, 192 and 160 rows.
  check_matmul(b, kCases[0], 3840, 640, 896, false);
  check_matmul(b, kCases[0], 2816, 640, 1150, false);
  check_matmul(b, kCases[0], 2560, 640, 960, false);
}

// Of GGUF's blocks, the same.
void check_block_products(Backends& b, bool few, bool quick) {
  check_unlike_gates(b);
  for (const Case& c : block_cases()) {
    const int32_t elements = block_shape(c.format).elements;
    check_matmul(b, c, 80, elements == 256 ? 512 : 384, few ? 18 : quick ? 20 : 150, true);
    if (!few) check_matmul(b, c, 704, elements == 256 ? 1792 : 1664, quick ? 20 : 150, true);
    if (elements == 32) check_matmul(b, c, 48, 96, 20, true);
    if (c.activation == Activation::f32) continue;
    check_not_a_number(b, c);
    if (!few && !quick) check_matmul(b, c, 5376, 1024, 150, false);
    if (!few && !quick) check_matmul(b, c, 192, 21504, 150, false);
  }
}

// Of what becomes bf16 on its way, the same.
void check_chunk_products(Backends& b, bool few, bool quick) {
  for (const Case& c : chunk_cases()) {
    check_matmul(b, c, 80, 384, few ? 18 : 150, true);
    check_matmul(b, c, 48, 96, 20, true);
    check_matmul(b, c, 100, 1280, few ? 18 : 150, true);
    if (few) continue;
    check_matmul(b, c, 704, 1664, quick ? 40 : 150, true);
    if (c.activation == Activation::f32) continue;
    check_not_a_number(b, c);
    if (!quick) check_matmul(b, c, 5376, 1024, 150, false), check_matmul(b, c, 192, 21504, 150, false);
    // The processor makes bytes of rows for nvfp4.
    if (c.format == WeightFormat::f8) check_experts(b, c, 16, 4, 256, 128, quick ? 20 : 150);
  }
}

void check_attentions(Backends& b, bool quick) {
  for (const AttentionCase& c : {AttentionCase{4, 2, 32, 24, 130},
                                 {4, 1, 16, 0, 200},
                                 {4, 2, 24, 20, 200},
                                 {6, 2, 40, 0, 150},
                                 {8, 1, 64, 40, 300},
                                 {8, 2, 256, 512, 640},
                                 {16, 2, 512, 0, 600},
                                 {16, 1, 512, 0, 300},
                                 {4, 4, 128, 100, 333},
                                 {4, 2, 32, 0, 200, 8, false},
                                 {8, 2, 128, 0, 300, 128, false},
                                 {64, 8, 128, 100, 400, 128, false},
                                 {8, 2, 256, 0, 500, 64, false}}) {
    check_attention(b, c, DType::bf16);
    if (c.dim < 256) check_attention(b, c, DType::f32);
  }
  for (const AttentionCase& c :
       {AttentionCase{16, 8, 256, 100, 700}, {8, 2, 256, 0, 700}, {8, 2, 512, 0, 500}, {32, 8, 128, 0, 400, 0, false}})
    check_company(b, c, 70, 190);
  check_company(b, {16, 8, 256, 1024, 1400}, 20, 190);
  // A prompt whose pages have blocks of their own, beside sequences whose chunks do.
  check_company(b, {16, 8, 256, 1024, 1400}, 20, 12);
  check_company(b, {16, 8, 256, 100, 700}, 40, 30);
  if (!quick) {
    check_attention(b, {32, 16, 256, 1024, 1500}, DType::bf16);
    check_attention(b, {32, 4, 512, 0, 1100}, DType::bf16);
    // Several chunks: pages with blocks of their own, chunks with theirs, and blocks that walk all of them.
    check_attention(b, {32, 4, 512, 0, 2600}, DType::bf16);
    check_attention(b, {16, 8, 256, 1024, 2300}, DType::bf16);
    check_attention(b, {8, 2, 256, 0, 2200}, DType::bf16);
    check_attention(b, {4, 1, 16, 0, 3200}, DType::bf16);
    check_attention(b, {4, 2, 24, 0, 2300}, DType::bf16);
    check_attention(b, {4, 1, 16, 1500, 3200}, DType::f32);
    for (const AttentionCase& c : {AttentionCase{16, 1, 512, 0, 2600, 0, true, 128},
                                   {32, 4, 512, 0, 1100, 0, true, 128},
                                   {32, 4, 512, 0, 3300, 0, true, 128},
                                   {16, 2, 512, 700, 2100, 0, true, 128}})
      for (const DType dtype : {DType::bf16, DType::i8}) check_attention(b, c, dtype);
  }
  check_pages(b.gpu, b.checks);
}

void check_all_experts(Backends& b, bool quick) {
  for (const Case& c : kCases) {
    if (c.format == WeightFormat::f16 || c.format == WeightFormat::f32) continue;
    check_experts(b, c, 16, 4, 256, 128, quick ? 20 : 150);
  }
  for (const Case& c : block_cases())
    if (c.activation == Activation::bf16) check_experts(b, c, 16, 4, 256, 256, quick ? 20 : 150);
  // As files mix them.
  check_experts(b, {WeightFormat::q4_k, Activation::bf16, 32, DType::bf16, "Q4_K"}, 16, 4, 256, 256, 20,
                WeightFormat::q6_k);
  check_experts(b, kCases[0], 16, 4, 256, 256, 20, WeightFormat::q8_0);
  check_experts(b, {WeightFormat::f8, Activation::bf16, 0, DType::bf16, "fp8"}, 16, 4, 256, 256, 20,
                WeightFormat::q4_0);
  if (!quick) check_experts(b, kCases[0], 128, 8, 640, 192, 150);
  // The longest rows that the router's kernel takes, longer ones, and more experts than a lane has in one load.
  check_experts(b, kCases[0], 40, 8, 2816, 64, 20);
  check_experts(b, kCases[0], 8, 2, 2832, 48, 20);
  check_experts(b, kCases[0], 200, 8, 64, 48, 20);
  check_experts(b, kCases[0], 8, 2, 64, 48, quick ? 20 : 150);
}

// All, or what is named.
void run_parts(std::span<const std::pair<const char*, std::function<void()>>> parts, const std::string& named) {
  for (const auto& [name, part] : parts) {
    if (!named.empty() && named != name) continue;
    part();
    std::printf("%s done\n", name);
    std::fflush(stdout);
  }
}

// What is left of it under a checker that slows everything down a thousandfold; of that all, or what is named.
int run_few(Backends& b, const std::string& named) {
  const std::pair<const char*, std::function<void()>> parts[] = {
      {"products",
       [&] {
         for (const Case& c : kCases) check_matmul(b, c, 80, 384, 18, true), check_not_a_number(b, c);
       }},
      {"larger", [&] { check_matmul(b, kCases[0], 704, 1664, 40, false); }},
      {"attention",
       [&] {
         check_attention(b, {4, 2, 32, 24, 70}, DType::bf16);
       }},
      {"heads",
       [&] {
         check_attention(b, {4, 2, 256, 100, 80}, DType::bf16);
         check_attention(b, {4, 2, 256, 0, 80, 64, false}, DType::bf16);
       }},
      {"experts", [&] { check_experts(b, kCases[0], 8, 2, 64, 48, 20); }},
      {"rows", [&] { check_elementwise(b), check_placing(b); }},
      {"joined", [&] { check_joined(b.gpu, b.cpu, b.checks, true); }},
      {"chains", [&] { check_chains(b, true); }},
      {"recurrent", [&] { check_recurrent(b, true); }},
      {"blocks", [&] { check_blocks(b); }},
      {"gguf", [&] { check_block_products(b, true, true); }},
      {"floats", [&] { check_chunk_products(b, true, true); }},
  };
  run_parts(parts, named);
  return b.checks.finish("kernels, a few");
}

int run_all(const std::string& which, const std::string& named) {
  const bool quick = which == "quick";
  ThreadPool pool(0);
  CpuOps cpu(**kernels::find_cpu_table("portable"), pool);
  auto gpu = kernels::make_cuda_ops();
  if (!gpu.ok()) {
    std::printf("%s\n", gpu.error().message.c_str());
    return 3;
  }
  Checks checks;
  Backends b{**gpu, cpu, checks, std::mt19937(5)};
  if (which == "few") return run_few(b, named);
  const std::pair<const char*, std::function<void()>> parts[] = {
      {"rows", [&] { check_rows(b), check_elementwise(b), check_placing(b); }},
      {"blocks", [&] { check_blocks(b); }},
      {"recurrent", [&] { check_recurrent(b, quick); }},
      {"gguf", [&] { check_block_products(b, false, quick); }},
      {"floats", [&] { check_chunk_products(b, false, quick); }},
      {"products", [&] { check_products(b, quick); }},
      {"attention", [&] { check_attentions(b, quick); }},
      {"walks", [&] { check_walks(b.gpu, b.checks); }},
      {"experts", [&] { check_all_experts(b, quick); }},
      {"joined", [&] { check_joined(b.gpu, b.cpu, b.checks, false), check_chains(b, false); }},
      {"memory", [&] { check_memory(b); }},
  };
  run_parts(parts, named);
  return checks.finish("kernels");
}

}  // namespace
}  // namespace paceline::gpu

// `all`, `quick` or `few`, and perhaps which of them.
int main(int argc, char** argv) { return paceline::gpu::run_all(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""); }
