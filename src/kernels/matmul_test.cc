// Every table's matrix kernels on random shapes: each row's bits are the same alone and in any company, for any cut of
// the outputs; and the values are the portable table's within rounding.
#include "kernels/portable/matmul.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "kernels/cpu_ops.h"
#include "kernels/cpu_table.h"
#include "kernels/cpu_unpacked.h"
#include "kernels/lanes/blocks_layout.h"
#include "kernels/random_matrix.h"

namespace paceline::kernels {
namespace {

struct Prepared {
  Act act;
  std::vector<char> bytes;
};

Prepared prepare_rows(const CpuTable& table, const ActShape& shape, const float* x) {
  Prepared out;
  out.bytes.resize(table.act_bytes(shape) + 64);
  out.act = {shape, reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(out.bytes.data()) + 63) / 64 * 64)};
  table.prepare(out.act, x, shape.cols, 0, (shape.rows + table.act_unit - 1) / table.act_unit);
  return out;
}

// The matrix in the table's own order, where it has one.
struct Placed {
  Matrix view;
  std::vector<std::shared_ptr<const void>> owners;

  Placed(const CpuTable& table, const Matrix& w) {
    ThreadPool pool(2);
    view = CpuOps(table, pool).place(w, owners);
  }
};

std::vector<float> multiply(const CpuTable& table, const Matrix& w, ActShape shape, const float* x) {
  const Prepared rows = prepare_rows(table, shape, x);
  std::vector<float> y(static_cast<size_t>(shape.rows) * static_cast<size_t>(w.rows), NAN);
  table.matmul(w, rows.act, y.data(), w.rows, 0, w.rows);
  return y;
}

// What an error of one rounding in each product could add up to, for values of these sizes.
double tolerance(const RandomMatrix& m, ActKind kind) {
  const double per_product = kind == ActKind::f32 ? 1e-6 : 2e-5;
  // Weights of f8 are up to 448, not 0.2.
  const double large = m.view.format == WeightFormat::f8 ? 1000 : 1;
  return per_product * std::sqrt(static_cast<double>(m.view.cols)) * 8 * large;
}

struct Case {
  WeightFormat format;
  ActKind kind;
  int32_t group;
  DType scales;
};

std::vector<WeightFormat> block_formats() {
  std::vector<WeightFormat> all;
  for (int format = static_cast<int>(WeightFormat::q8_0); format <= static_cast<int>(WeightFormat::iq4_xs); ++format)
    all.push_back(static_cast<WeightFormat>(format));
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all = {{WeightFormat::f32, ActKind::f32, 0, DType::bf16},
                           {WeightFormat::f16, ActKind::f32, 0, DType::bf16},
                           {WeightFormat::bf16, ActKind::f32, 0, DType::bf16},
                           {WeightFormat::bf16, ActKind::bf16, 0, DType::bf16}};
  all.push_back({WeightFormat::f8, ActKind::f32, 0, DType::bf16});
  all.push_back({WeightFormat::f8, ActKind::bf16, 0, DType::bf16});
  for (const int32_t group : {32, 64, 128})
    for (const DType scales : {DType::bf16, DType::f32}) {
      all.push_back({WeightFormat::q8, ActKind::int8, group, scales});
      all.push_back({WeightFormat::q4, ActKind::nibbles, group, scales});
    }
  for (const WeightFormat format : block_formats())
    all.push_back({format, ActKind::blocks, block_shape(format).group, DType::bf16});
  return all;
}

class MatmulTest : public testing::TestWithParam<const CpuTable*> {};

TEST_P(MatmulTest, RowsDoNotDependOnTheirCompany) {
  const CpuTable& table = *GetParam();
  std::mt19937 random(7);
  const auto pick = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  const int rounds = std::getenv("PACELINE_TEST_LONG") != nullptr ? 80 : 12;
  for (const Case& c : cases()) {
    if (c.format == WeightFormat::f8 && !table.reads_f8) continue;
    for (int round = 0; round < rounds; ++round) {
      const int32_t step = in_blocks(c.format) ? block_shape(c.format).elements : c.group;
      const int32_t cols = step > 0 ? step * pick(1, step == 256 ? 6 : 9) : pick(1, 300);
      const RandomMatrix m(c.format, pick(1, 90), cols, c.group, c.scales, random);
      const Placed placed(table, m.view);
      const ActShape shape{c.kind, round < 6 ? pick(1, 16) : pick(1, 70), cols, c.group};
      const std::vector<float> x = random_rows(shape.rows, cols, random);
      SCOPED_TRACE(testing::Message() << weight_format_name(c.format) << " group " << c.group << " [" << m.view.rows
                                      << ", " << cols << "] rows " << shape.rows);
      const std::vector<float> y = multiply(table, placed.view, shape, x.data());

      // Alone.
      ActShape one = shape;
      one.rows = 1;
      for (int32_t r = 0; r < shape.rows; ++r) {
        const std::vector<float> alone = multiply(table, placed.view, one, x.data() + static_cast<int64_t>(r) * cols);
        ASSERT_EQ(0, std::memcmp(alone.data(), y.data() + static_cast<int64_t>(r) * m.view.rows,
                                 alone.size() * sizeof(float)))
            << "row " << r;
      }
      // Outputs cut anywhere that a thread may begin.
      const Prepared rows = prepare_rows(table, shape, x.data());
      std::vector<float> cut(y.size(), NAN);
      for (int32_t n = 0; n < m.view.rows;) {
        const int32_t end = std::min(m.view.rows, n + kOutputTile * pick(1, 3));
        table.matmul(placed.view, rows.act, cut.data(), m.view.rows, n, end);
        n = end;
      }
      ASSERT_EQ(0, std::memcmp(cut.data(), y.data(), y.size() * sizeof(float)));
      // Right.
      const CpuTable& oracle = *cpu_tables().back();
      const std::vector<float> want = multiply(oracle, m.view, shape, x.data());
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], want[i], tolerance(m, c.kind)) << "output " << i % static_cast<size_t>(m.view.rows);
    }
  }
}

// What attention multiplies with: the same bits, whatever is asked for meanwhile, and only the outputs that are meant.
TEST_P(MatmulTest, PagesAreMatrices) {
  const CpuTable& table = *GetParam();
  if (table.matmul_page == nullptr) GTEST_SKIP() << "matmul does it";
  std::mt19937 random(8);
  const auto pick = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  for (const int32_t cols : {4, 8, 24, 36, 64, 128, 256, 512, 520})
    for (const ActKind kind : {ActKind::bf16, ActKind::f32})
      for (int round = 0; round < 12; ++round) {
        // Keys are rows of which some are meant, values are all.
        const bool all = round % 3 == 0;
        const int32_t outputs = all ? kOutputTile * pick(1, 8) : 64;
        const WeightFormat format = kind == ActKind::f32 ? WeightFormat::f32 : WeightFormat::bf16;
        const RandomMatrix m(format, outputs, cols, 0, DType::bf16, random);
        const RandomMatrix ahead(format, outputs, cols, 0, DType::bf16, random);
        const ActShape shape{kind, round < 6 ? pick(1, 9) : pick(1, 64), cols, 0};
        const std::vector<float> x = random_rows(shape.rows, cols, random);
        const Prepared rows = prepare_rows(table, shape, x.data());
        const int32_t begin = all ? 0 : kOutputTile * pick(0, 3), end = all ? outputs : pick(begin, 64);
        SCOPED_TRACE(testing::Message() << cols << " columns, " << shape.rows << " rows, outputs " << begin << " to "
                                        << end << " of " << outputs);
        std::vector<float> want(static_cast<size_t>(shape.rows) * outputs, 7.0f), got = want;
        table.matmul(m.view, rows.act, want.data(), outputs, begin, end);
        table.matmul_page(m.view, round % 2 == 0 ? nullptr : ahead.view.values, rows.act, got.data(), outputs, begin,
                          end);
        ASSERT_EQ(0, std::memcmp(got.data(), want.data(), want.size() * sizeof(float)));
      }
}

// The largest integers there are must not overflow on the way.
TEST_P(MatmulTest, ExtremesAreExact) {
  const CpuTable& table = *GetParam();
  for (const WeightFormat format : {WeightFormat::q8, WeightFormat::q4})
    for (const int32_t group : {32, 64, 128})
      for (const float sign : {1.0f, -1.0f})
        for (const int32_t rows : {1, 2, 3, 7, 8, 9, 16, 17, 40}) {
          std::mt19937 random(1);
          const int32_t cols = group * (rows % 2 == 0 ? 5 : 2);
          RandomMatrix m(format, 20, cols, group, DType::bf16, random);
          m.fill(0xff, 1.0f, 0.0f);
          const std::vector<float> x(static_cast<size_t>(rows * cols), 127.0f * sign);
          const ActKind kind = format == WeightFormat::q8 ? ActKind::int8 : ActKind::nibbles;
          const float want = sign * 127.0f * (format == WeightFormat::q8 ? 255.0f : 15.0f) * static_cast<float>(cols);
          for (const float y : multiply(table, Placed(table, m.view).view, {kind, rows, cols, group}, x.data()))
            ASSERT_EQ(y, want);
        }
}

// Bytes that end where memory does: what reads beyond them is ended by the system.
class AtTheEnd {
 public:
  explicit AtTheEnd(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (bytes + page - 1) / page * page + page;
    void* map = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(map, MAP_FAILED);
    first_ = static_cast<char*>(map);
    EXPECT_EQ(0, mprotect(first_ + mapped_ - page, page, PROT_NONE));
    at_ = first_ + (mapped_ - page - bytes) / 64 * 64;
  }
  ~AtTheEnd() { munmap(first_, mapped_); }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  [[nodiscard]] char* data() const { return at_; }

 private:
  char* first_ = nullptr;
  char* at_ = nullptr;
  size_t mapped_ = 0;
};

TEST_P(MatmulTest, NothingBehindWeightsAndRowsIsRead) {
  const CpuTable& table = *GetParam();
  if (table.packed_bytes == nullptr) GTEST_SKIP() << "weights are used as they lie";
  std::mt19937 random(5);
  for (const Case& c : cases()) {
    const int32_t cols = in_blocks(c.format) ? 2 * block_shape(c.format).elements : c.group > 0 ? 3 * c.group : 96;
    const RandomMatrix m(c.format, 37, cols, c.group, c.scales, random);
    const size_t bytes = table.packed_bytes(m.view);
    if (bytes == 0) continue;
    const AtTheEnd weights(bytes);
    table.pack(m.view, weights.data(), 0, (m.view.rows + table.pack_rows - 1) / table.pack_rows);
    Matrix w = m.view;
    w.packed = true;
    w.values = weights.data();
    w.scales = w.biases = nullptr;
    for (const int32_t rows : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 50}) {
      const ActShape shape{c.kind, rows, cols, c.group};
      const AtTheEnd act_bytes(table.act_bytes(shape));
      const std::vector<float> x = random_rows(rows, cols, random);
      const Act act{shape, act_bytes.data()};
      table.prepare(act, x.data(), cols, 0, (rows + table.act_unit - 1) / table.act_unit);
      std::vector<float> y(static_cast<size_t>(rows) * 37, NAN);
      table.matmul(w, act, y.data(), 37, 0, 37);
      const std::vector<float> want = multiply(table, Placed(table, m.view).view, shape, x.data());
      ASSERT_EQ(0, std::memcmp(y.data(), want.data(), y.size() * sizeof(float))) << weight_format_name(c.format);
    }
  }
}

// The same of blocks: codes, scales within blocks and activations at their ends. What is rounded is small against what
// an overflow would be.
TEST_P(MatmulTest, ExtremesOfBlocksDoNotOverflow) {
  const CpuTable& table = *GetParam();
  std::mt19937 random(3);
  for (const WeightFormat format : block_formats())
    for (const int byte : {0x00, 0x7f, 0x80, 0x88, 0xff})
      for (const int32_t rows : {1, 2, 9}) {
        const BlockShape block = block_shape(format);
        const int32_t cols = 2 * block.elements;
        RandomMatrix m(format, 20, cols, block.group, DType::bf16, random);
        m.fill_blocks(static_cast<unsigned char>(byte), 1.0f);
        std::vector<float> x(static_cast<size_t>(rows * cols)), row(static_cast<size_t>(cols));
        for (size_t i = 0; i < x.size(); ++i) x[i] = i / static_cast<size_t>(cols) % 2 == 0 ? 127.0f : -127.0f;
        portable::dequantise(m.view, 0, 127.0f, row.data());
        double want = 0;
        for (const float v : row) want += static_cast<double>(v);
        const std::vector<float> y =
            multiply(table, Placed(table, m.view).view, {ActKind::blocks, rows, cols, block.group}, x.data());
        for (size_t i = 0; i < y.size(); ++i)
          ASSERT_NEAR(i / 20 % 2 == 0 ? y[i] : -y[i], want, 1e-6 * 127 * cols)
              << weight_format_name(format) << ' ' << byte << " rows " << rows;
      }
}

// Every code of f8 in every place of a vector, by rows that have a single one in them: few at a time and many.
TEST_P(MatmulTest, EveryNumberOfEightBitsIsExact) {
  const CpuTable& table = *GetParam();
  ThreadPool pool(2);
  CpuOps ops(table, pool);
  constexpr int32_t kOutputs = 19, kCols = 256;
  std::vector<uint8_t> codes(size_t{kOutputs} * kCols);
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<uint8_t>(i * 37 + i / 256);
    codes[i] = (code & 0x7f) == 0x7f ? 0 : code;
  }
  std::vector<double> factors(kOutputs);
  for (size_t n = 0; n < factors.size(); ++n) factors[n] = 0.1 * static_cast<double>(n + 1);
  Matrix w;
  w.format = WeightFormat::f8;
  w.rows = kOutputs;
  w.cols = kCols;
  w.values = codes.data();
  w.factors = factors.data();
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = ops.place(w, owners);
  std::vector<float> ones(size_t{kCols} * kCols, 0.0f);
  for (size_t k = 0; k < kCols; ++k) ones[k * kCols + k] = 1.0f;
  for (const Activation activation : {Activation::f32, Activation::bf16})
    for (const int32_t rows : {1, 2, 8, 64})
      for (int32_t first = 0; first + rows <= kCols; first += rows) {
        std::vector<float> y(static_cast<size_t>(rows) * kOutputs);
        const Projection out{&placed, y.data()};
        ops.linear(ones.data() + int64_t{first} * kCols, rows, activation, {&out, 1});
        for (int32_t r = 0; r < rows; ++r)
          for (int32_t n = 0; n < kOutputs; ++n) {
            const double code = e4m3_to_f32(codes[static_cast<size_t>(n * kCols + first + r)]);
            ASSERT_EQ(y[static_cast<size_t>(r * kOutputs + n)],
                      static_cast<float>(code * factors[static_cast<size_t>(n)]))
                << first + r << ", " << n;
          }
      }
}

// Scales of blocks of 128 rows and columns, the last ones shorter: sums as of the numbers in float32, and a row's bits
// the same alone and in company.
TEST_P(MatmulTest, BlocksOfEightBitsHaveTheirScales) {
  const CpuTable& table = *GetParam();
  ThreadPool pool(2);
  CpuOps ops(table, pool);
  std::mt19937 random(8);
  constexpr int32_t kOutputs = 150, kCols = 300, kRows = 21, kAcross = 3;
  RandomMatrix m(WeightFormat::f8, kOutputs, kCols, 0, DType::f32, random);
  std::vector<float> scales;
  for (int32_t n = 0; n < kOutputs; ++n)
    for (int32_t b = 0; b < kAcross; ++b) scales.push_back(0.001f * static_cast<float>(1 + n / 128 * kAcross + b));
  m.view.group = 128;
  m.view.scales = scales.data();
  std::vector<std::shared_ptr<const void>> owners;
  const Matrix placed = ops.place(m.view, owners);
  const std::vector<float> x = random_rows(kRows, kCols, random);
  for (const Activation activation : {Activation::f32, Activation::bf16}) {
    std::vector<float> y(size_t{kRows} * kOutputs), alone(kOutputs), row(kCols);
    const Projection out{&placed, y.data()}, one{&placed, alone.data()};
    ops.linear(x.data(), kRows, activation, {&out, 1});
    for (int32_t r = 0; r < kRows; ++r) {
      ops.linear(x.data() + int64_t{r} * kCols, 1, activation, {&one, 1});
      ASSERT_EQ(0, std::memcmp(alone.data(), y.data() + int64_t{r} * kOutputs, alone.size() * sizeof(float))) << r;
      for (int32_t n = 0; n < kOutputs; ++n) {
        portable::dequantise(m.view, n, 1.0f, row.data());
        double want = 0, size = 0;
        for (int32_t k = 0; k < kCols; ++k) {
          const double number = row[static_cast<size_t>(k)];
          const double product = number * static_cast<double>(x[static_cast<size_t>(r * kCols + k)]);
          want += product;
          size += std::fabs(product);
        }
        // bf16 rounds an activation by 2^-9 at most.
        const double off = activation == Activation::f32 ? 1e-6 : 2e-3;
        ASSERT_NEAR(static_cast<double>(alone[static_cast<size_t>(n)]), want, size * off) << r << ", " << n;
      }
    }
  }
}

// What tables without kernels for f8 do with it.
TEST_P(MatmulTest, UnpackedEightBitsAreTheSame) {
  const CpuTable& table = *GetParam();
  std::mt19937 random(6);
  for (const ActKind kind : {ActKind::f32, ActKind::bf16})
    for (const int32_t cols : {7, 64, 301}) {
      const RandomMatrix m(WeightFormat::f8, 37, cols, 0, DType::bf16, random);
      const ActShape shape{kind, 5, cols, 0};
      const std::vector<float> x = random_rows(shape.rows, cols, random);
      const Prepared rows = prepare_rows(table, shape, x.data());
      std::vector<float> y(size_t{5} * 37, NAN);
      multiply_f8(table, m.view, rows.act, y.data(), 37, 0, 37);
      const std::vector<float> want = multiply(*cpu_tables().back(), m.view, shape, x.data());
      for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], tolerance(m, kind));
    }
}

// Few rows take f8 from where it lies, more as bf16 in memory: nobody can tell.
TEST_P(MatmulTest, FewRowsOfEightBitsHaveTheBitsOfMany) {
  const CpuTable& table = *GetParam();
  if (table.reads_f8 || table.few_f8_rows == 0) GTEST_SKIP() << "all rows take the same way";
  std::mt19937 random(9);
  for (const ActKind kind : {ActKind::f32, ActKind::bf16})
    for (const int32_t cols : {7, 64, 301})
      for (int32_t rows = 1; rows <= table.few_f8_rows; ++rows) {
        const RandomMatrix m(WeightFormat::f8, 37, cols, 0, DType::bf16, random);
        const ActShape shape{kind, rows, cols, 0};
        const std::vector<float> x = random_rows(rows, cols, random);
        const Prepared act = prepare_rows(table, shape, x.data());
        std::vector<float> want(static_cast<size_t>(rows) * 37, NAN);
        multiply_f8(table, m.view, act.act, want.data(), 37, 0, 37);
        const std::vector<float> y = multiply(table, m.view, shape, x.data());
        ASSERT_EQ(0, std::memcmp(y.data(), want.data(), y.size() * sizeof(float))) << rows << " rows, " << cols;
      }
}

struct SmallFloats {
  WeightFormat format;
  int32_t group, cols;
};

// Columns of a group, the last of which may be fewer.
constexpr SmallFloats kScaledFloats[] = {
    {WeightFormat::f8, 128, 301},  {WeightFormat::f8, 128, 384},  {WeightFormat::f8, 128, 9},
    {WeightFormat::nf4, 64, 192},  {WeightFormat::nf4, 128, 256}, {WeightFormat::nf4, 64, 64},
    {WeightFormat::nf4, 256, 256},
};

// Likewise where numbers have scales along a row. Nothing behind them is read.
TEST_P(MatmulTest, FewRowsOfScaledFloatsHaveTheBitsOfMany) {
  const CpuTable& table = *GetParam();
  if (table.few_scaled_rows == 0) GTEST_SKIP() << "all rows take the same way";
  std::mt19937 random(11);
  for (const SmallFloats& floats : kScaledFloats)
    for (int32_t rows = 1; rows <= table.few_scaled_rows; ++rows) {
      const RandomMatrix m(floats.format, 37, floats.cols, floats.group, DType::f32, random);
      const ActShape shape{ActKind::f32, rows, floats.cols, 0};
      const std::vector<float> x = random_rows(rows, floats.cols, random);
      const Prepared act = prepare_rows(table, shape, x.data());
      std::vector<float> want(static_cast<size_t>(rows) * 37, NAN);
      multiply_unpacked(table, m.view, act.act, want.data(), 37, 0, 37);
      const AtTheEnd values(size_t{37} * m.view.row_value_bytes());
      std::memcpy(values.data(), m.view.values, size_t{37} * m.view.row_value_bytes());
      Matrix w = m.view;
      w.values = values.data();
      const std::vector<float> y = multiply(table, w, shape, x.data());
      ASSERT_EQ(0, std::memcmp(y.data(), want.data(), y.size() * sizeof(float)))
          << weight_format_name(floats.format) << ' ' << rows << " rows, " << floats.cols;
    }
}

// With a scale for the row, or for each group of columns.
TEST_P(MatmulTest, NumbersOfSmallFloatsAreTheFiles) {
  const CpuTable& table = *GetParam();
  std::mt19937 random(10);
  std::vector<SmallFloats> all(std::begin(kScaledFloats), std::end(kScaledFloats));
  all.push_back({WeightFormat::f8, 0, 301});
  for (const SmallFloats& floats : all) {
    const RandomMatrix m(floats.format, 23, floats.cols, floats.group, DType::f32, random);
    std::vector<float> want(static_cast<size_t>(floats.cols)), found = want;
    for (int32_t r = 0; r < m.view.rows; ++r) {
      portable::dequantise(m.view, r, 0.7f, want.data());
      table.dequantise(m.view, r, 0.7f, found.data());
      ASSERT_EQ(0, std::memcmp(want.data(), found.data(), want.size() * sizeof(float))) << r;
    }
  }
}

// What sums of few bits have room for: any bytes of a file.
TEST(BlocksLayout, CodesAreNoLargerThanItSays) {
  std::mt19937 random(5);
  DecodedBlock decoded;
  for (int f = static_cast<int>(WeightFormat::q8_0); f <= static_cast<int>(WeightFormat::iq4_xs); ++f) {
    const auto format = static_cast<WeightFormat>(f);
    if (format == WeightFormat::nvfp4_split) continue;  // as nvfp4
    const int most = lanes::most_code(lanes::blocks_layout(format).codes);
    std::vector<uint8_t> block(static_cast<size_t>(block_shape(format).bytes));
    for (int round = 0; round < 50; ++round) {
      for (uint8_t& byte : block) byte = static_cast<uint8_t>(random());
      decode_block(format, block.data(), &decoded);
      for (int32_t e = 0; e < block_shape(format).elements; ++e) ASSERT_LE(decoded.codes[e], most) << f;
    }
  }
}

// Nothing is lost by placing: a row of numbers has the bits that it has in the file.
TEST_P(MatmulTest, PlacedBlocksHaveTheFilesNumbers) {
  const CpuTable& table = *GetParam();
  std::mt19937 random(4);
  for (const WeightFormat format : block_formats()) {
    const BlockShape block = block_shape(format);
    const RandomMatrix m(format, 23, block.elements * 5, block.group, DType::bf16, random);
    const Placed placed(table, m.view);
    std::vector<float> want(static_cast<size_t>(m.view.cols)), found(want.size());
    for (int32_t r = 0; r < m.view.rows; ++r) {
      portable::dequantise(m.view, r, 0.7f, want.data());
      table.dequantise(placed.view, r, 0.7f, found.data());
      ASSERT_EQ(0, std::memcmp(want.data(), found.data(), want.size() * sizeof(float)))
          << weight_format_name(format) << " row " << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, MatmulTest, testing::ValuesIn(cpu_tables()), [](const auto& run) {
  std::string name = run.param->name;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

}  // namespace
}  // namespace paceline::kernels
