// Attention of few rows, whose pages have blocks of their own that leave their parts for one of them: many launches of
// different shapes behind each other, on memory that each has to leave fit for the next.
#include <algorithm>
#include <numeric>

#include "kernels_check.h"

namespace paceline::gpu {
namespace {

using kernels::HeadShape;
using kernels::kPageTokens;
using kernels::random_rows;
using kernels::RandomMatrix;
using kernels::SeqSpan;

struct Rows {
  int32_t pos, count;
};

struct Launch {
  int32_t heads, kv_heads, dim, window;
  std::vector<Rows> seqs;
};

// One and eight rows of the family's shapes, one page and more than are merged at once, windows, several sequences of
// different lengths, and dims that leave warps idle.
const Launch kLaunches[] = {
    {32, 16, 256, 1024, {{512, 1}}},
    {32, 16, 256, 1024, {{512, 8}}},
    {32, 4, 512, 0, {{512, 1}}},
    {32, 4, 512, 0, {{508, 8}}},
    {16, 8, 256, 1024, {{2000, 1}}},
    {16, 8, 256, 1024, {{1100, 5}}},
    {16, 8, 256, 1024, {{70, 1}, {1300, 1}, {0, 1}, {640, 3}}},
    {16, 1, 512, 0, {{1100, 8}}},
    {16, 1, 512, 0, {{70, 1}}},
    {16, 2, 512, 0, {{1200, 4}, {3, 2}}},
    {8, 2, 256, 512, {{900, 8}}},
    {8, 2, 512, 0, {{640, 3}, {700, 2}}},
    {4, 4, 128, 100, {{333, 16}}},
    {8, 1, 64, 40, {{300, 7}}},
    {4, 1, 16, 0, {{200, 3}}},
    {3, 1, 32, 0, {{600, 1}}},
};

// A launch with all that it reads and writes, in device memory.
class Prepared {
 public:
  Prepared(Ops& ops, const Launch& launch, std::mt19937& random)
      : ops_(ops),
        shape_{launch.heads, launch.kv_heads, launch.dim, DType::bf16},
        window_(launch.window),
        rows_(std::accumulate(launch.seqs.begin(), launch.seqs.end(), 0,
                              [](int32_t sum, const Rows& r) { return sum + r.count; })),
        q_(ops, random_rows(rows_, launch.heads * launch.dim, random)),
        k_(ops, random_rows(rows_, launch.kv_heads * launch.dim, random)),
        v_(ops, random_rows(rows_, launch.kv_heads * launch.dim, random)),
        weight_(ops, random_rows(1, launch.dim, random)),
        cos_(ops, random_rows(rows_, launch.dim / 2, random)),
        sin_(ops, random_rows(rows_, launch.dim / 2, random)),
        out_(ops, static_cast<size_t>(rows_ * launch.heads) * static_cast<size_t>(launch.dim)) {
    const auto elements = static_cast<size_t>(launch.kv_heads * launch.dim) * kPageTokens;
    int32_t row = 0, most_pages = 0;
    for (const Rows& rows : launch.seqs)
      most_pages = std::max(most_pages, (rows.pos + rows.count - 1) / kPageTokens + 1);
    // Behind each other from the last one on: where a page lies is what its number says.
    for (int32_t page = most_pages; page-- > 0;) numbers_.push_back(page);
    for (const Rows& rows : launch.seqs) {
      std::vector<uint16_t> bits(2 * elements * static_cast<size_t>(most_pages));  // up to a half either way
      for (uint16_t& b : bits) b = static_cast<uint16_t>((random() & 0x80ff) | 0x3e00);
      memory_.push_back(ops.memory(bits.size() * 2));
      ops.upload(memory_.back().get(), bits.data(), bits.size() * 2);
      spans_.push_back(
          {row, rows.count, rows.pos, kernels::pages_in_a_row(memory_.back().get(), elements * 2, numbers_.data())});
      row += rows.count;
    }
    out_.poison();
    (void)ops.wait();
  }

  void run() const {
    kernels::HeadsArgs heads;
    heads.shape = shape_;
    heads.q = q_.at();
    heads.k = k_.at();
    heads.v = v_.at();
    heads.q_weight = heads.k_weight = weight_.at();
    heads.cos = cos_.at();
    heads.sin = sin_.at();
    heads.eps = 1e-6f;
    heads.seqs = spans_;
    ops_.attend(heads, {shape_, q_.at(), out_.at(), window_, true, spans_, nullptr});
  }
  [[nodiscard]] std::vector<float> out() const { return out_.read(); }
  [[nodiscard]] const float* at() const { return out_.at(); }
  [[nodiscard]] int32_t rows() const { return rows_; }
  [[nodiscard]] int32_t width() const { return shape_.heads * shape_.head_dim; }

 private:
  Ops& ops_;
  HeadShape shape_;
  int32_t window_, rows_;
  Block q_, k_, v_, weight_, cos_, sin_, out_;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<int32_t> numbers_;
  std::vector<SeqSpan> spans_;
};

// Quantised products of attention's rows, which it makes bytes of once it knows that they are wanted: as of rows that
// come from elsewhere.
void check_products_behind(Ops& gpu, Checks& checks) {
  constexpr int32_t kOutputs = 48, kTurns = 4;
  std::mt19937 random(9);
  for (size_t i = 0; i < std::size(kLaunches); ++i)
    for (const auto& [format, group] :
         {std::pair{WeightFormat::q8, 32}, {WeightFormat::q4, 64}, {WeightFormat::q4, 128}}) {
      const Prepared one(gpu, kLaunches[i], random);
      if (one.width() % group != 0) continue;
      RandomMatrix matrix(format, kOutputs, one.width(), group, DType::bf16, random);
      std::vector<std::shared_ptr<const void>> owners;
      const Matrix m = gpu.place(matrix.view, owners);
      const auto product = [&](const float* x) {
        const Block y(gpu, static_cast<size_t>(one.rows()) * kOutputs);
        const kernels::Projection to{&m, y.at()};
        gpu.linear(x, one.rows(), Activation::bf16, {&to, 1});
        return y.read();
      };
      for (int32_t turn = 0; turn < kTurns; ++turn) {
        one.run();
        const std::vector<float> got = product(one.at());
        const Block copy(gpu, one.out());
        checks.expect(got == product(copy.at()), "a product behind attention " + std::to_string(i) + ", groups of " +
                                                     std::to_string(group) + ", turn " + std::to_string(turn));
      }
    }
}

}  // namespace

void check_pages(Ops& gpu, Checks& checks) {
  constexpr unsigned kRounds = 4;
  auto other = kernels::make_cuda_ops();
  checks.expect(other.ok(), "a second Ops for pages");
  if (!other.ok()) return;
  // Each by itself, on memory of its own size.
  std::vector<std::vector<float>> wanted;
  for (size_t i = 0; i < std::size(kLaunches); ++i) {
    std::mt19937 random(static_cast<unsigned>(i));
    const Prepared one(**other, kLaunches[i], random);
    one.run();
    wanted.push_back(one.out());
  }
  std::vector<Prepared> all;
  std::vector<size_t> which;
  for (size_t i = 0; i < std::size(kLaunches) * kRounds; ++i) which.push_back(i % std::size(kLaunches));
  std::mt19937 order(3);
  std::shuffle(which.begin(), which.end(), order);
  all.reserve(which.size());
  for (const size_t i : which) {
    std::mt19937 random(static_cast<unsigned>(i));
    all.emplace_back(gpu, kLaunches[i], random);
  }
  for (const Prepared& one : all) one.run();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<float> got = all[i].out();
    const std::vector<float>& want = wanted[which[i]];
    checks.expect(same_bits(got.data(), want.data(), want.size()),
                  "pages of launch " + std::to_string(which[i]) + " behind others");
    checks.expect(std::all_of(want.begin(), want.end(), [](float v) { return std::isfinite(v); }),
                  "pages of launch " + std::to_string(which[i]) + " are numbers");
  }
  check_products_behind(gpu, checks);
}

}  // namespace paceline::gpu
