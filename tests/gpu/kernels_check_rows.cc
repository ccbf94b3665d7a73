// Norms and what is done to rows element by element, against the portable ones, and a row's bits in any company.
#include <algorithm>

#include "kernels_check.h"

namespace paceline::gpu {

using kernels::random_rows;
using kernels::RandomMatrix;

void check_rows(Backends& b) {
  for (const int32_t width : {16, 64, 100, 256, 1024, 2560, 2816, 3840, 5376}) {
    const int32_t rows = 21;
    const std::vector<float> x = random_rows(rows, width, b.random), branch = random_rows(rows, width, b.random);
    const std::vector<float> w = random_rows(1, width, b.random), w2 = random_rows(1, width, b.random);
    const Block weight(b.gpu, w), weight2(b.gpu, w2);
    std::vector<float> want = x, want_y(x.size()), plain = x;
    b.cpu.add_norm({plain.data(), branch.data(), nullptr, rows, width, 1e-6f, 0.7f});
    const Block gplain(b.gpu, x), gbranch(b.gpu, branch);
    b.gpu.add_norm({gplain.at(), gbranch.at(), nullptr, rows, width, 1e-6f, 0.7f});
    const std::vector<float> added = gplain.read();
    b.checks.expect(same_bits(added.data(), plain.data(), plain.size()), "a branch of " + std::to_string(width));
    b.cpu.add_norm({want.data(), branch.data(), w.data(), rows, width, 1e-6f, 0.7f});
    b.cpu.rms_norm({want.data(), w2.data(), want_y.data(), rows, width, 1e-6f, 1.5f});
    const auto run = [&](int32_t first, int32_t count, bool apart) {
      const Block gx(b.gpu, rows_of(x, first, count, width)), gb(b.gpu, rows_of(branch, first, count, width));
      const Block gy(b.gpu, static_cast<size_t>(count) * static_cast<size_t>(width));
      b.gpu.add_norm({gx.at(), gb.at(), weight.at(), count, width, 1e-6f, 0.7f});
      if (apart) (void)b.gpu.wait();
      b.gpu.rms_norm({gx.at(), weight2.at(), gy.at(), count, width, 1e-6f, 1.5f});
      std::vector<float> both = gx.read();
      const std::vector<float> y = gy.read();
      both.insert(both.end(), y.begin(), y.end());
      return both;
    };
    const std::vector<float> whole = run(0, rows, false);
    const std::string name = "norms of " + std::to_string(width);
    b.checks.expect(distance(std::span(whole).first(x.size()), want) < 1e-6, name + ": x");
    b.checks.expect(distance(std::span(whole).last(x.size()), want_y) < 1e-6, name + ": y");
    b.checks.expect(run(0, rows, true) == whole, name + ": in one kernel or two");
    const std::vector<float> one = run(7, 1, false);
    b.checks.expect(same_bits(one.data(), whole.data() + int64_t{7} * width, static_cast<size_t>(width)),
                    name + ": alone");
    b.checks.expect(same_bits(one.data() + width, whole.data() + static_cast<int64_t>(rows + 7) * width,
                              static_cast<size_t>(width)),
                    name + ": alone, y");
  }
}

void check_elementwise(Backends& b) {
  const int32_t rows = 5, width = 300, stride = 1200;
  const std::vector<float> y = random_rows(rows, width, b.random), x = random_rows(rows, stride, b.random);
  std::vector<float> want = y, silu = y;
  const Block gy(b.gpu, y), gx(b.gpu, x), gsilu(b.gpu, y);
  b.cpu.gate_mul({want.data(), x.data() + 300, rows, width, stride, kernels::GateFunction::gelu});
  b.gpu.gate_mul({gy.at(), gx.at(300), rows, width, stride, kernels::GateFunction::gelu});
  b.checks.expect(distance(gy.read(), want) < 1e-6, "gate_mul, gelu");
  b.cpu.gate_mul({silu.data(), x.data() + 300, rows, width, stride, kernels::GateFunction::silu});
  b.gpu.gate_mul({gsilu.at(), gx.at(300), rows, width, stride, kernels::GateFunction::silu});
  b.checks.expect(distance(gsilu.read(), silu) < 1e-6, "gate_mul, silu");
  b.cpu.add_scaled(want.data(), x.data(), 0.3f, rows * width);
  b.gpu.add_scaled(gy.at(), gx.at(), 0.3f, rows * width);
  b.checks.expect(distance(gy.read(), want) < 1e-6, "add_scaled");
  for (float& v : want) v *= 20;
  const Block capped(b.gpu, want);
  b.cpu.softcap(want.data(), 30.0f, rows * width);
  b.gpu.softcap(capped.at(), 30.0f, rows * width);
  b.checks.expect(distance(capped.read(), want) < 1e-6, "softcap");

  std::vector<float> scores = random_rows(7, 70001, b.random);
  scores[5] = NAN;
  scores[70001 + 44] = scores[70001 + 60000] = 99;  // of equal ones the first
  std::fill(scores.begin() + 2 * 70001, scores.begin() + 3 * 70001, NAN);
  std::vector<TokenId> best(7);
  b.cpu.argmax(scores.data(), 7, 70001, best.data());
  const Block gs(b.gpu, scores), gbest(b.gpu, 7);
  b.gpu.argmax(gs.at(), 7, 70001, reinterpret_cast<TokenId*>(gbest.at()));
  b.checks.expect(std::memcmp(gbest.read().data(), best.data(), 28) == 0, "argmax");

  const int32_t places[] = {3, 0, 3, 1};
  const Block picked(b.gpu, 4 * width);
  std::vector<float> want_picked(4 * width);
  b.cpu.gather(y.data(), places, width, want_picked.data());
  const Block from(b.gpu, y);
  b.gpu.gather(from.at(), places, width, picked.at());
  b.checks.expect(picked.read() == want_picked, "gather");

  const int32_t positions[] = {0, 5, 100000, 262143};
  std::vector<float> frequencies(128), cos(4 * 128), sin(4 * 128);
  for (size_t i = 0; i < 128; ++i)
    frequencies[i] = static_cast<float>(1.0 / std::pow(10000.0, 2.0 * static_cast<double>(i) / 256));
  b.cpu.rope({positions, frequencies, cos.data(), sin.data()});
  const Block gcos(b.gpu, 4 * 128), gsin(b.gpu, 4 * 128);
  b.gpu.rope({positions, frequencies, gcos.at(), gsin.at()});
  b.checks.expect(distance(gcos.read(), cos) < 1e-6 && distance(gsin.read(), sin) < 1e-6, "rope");

  std::vector<Case> tables = block_cases();
  tables.insert(tables.end(), std::begin(kCases), std::end(kCases));
  for (const Case& c : chunk_cases()) tables.push_back(c);
  for (const Case& c : tables) {
    constexpr int32_t kColumns = 768;
    RandomMatrix table(c.format, 77, kColumns, c.group, c.scales, b.random);
    const std::vector<double> factors = give_factors(table.view, b.random);
    std::vector<std::shared_ptr<const void>> owners;
    const Matrix placed = b.gpu.place_table(table.view, owners);
    const TokenId tokens[] = {0, 76, 15, 16, 33};
    std::vector<float> rows_wanted(5 * kColumns);
    b.cpu.embed(table.view, tokens, 5, 3.5f, rows_wanted.data());
    const Block got(b.gpu, 5 * kColumns);
    const Block ids(b.gpu, 5);
    b.gpu.upload(ids.at(), tokens, sizeof tokens);
    b.gpu.embed(placed, reinterpret_cast<const TokenId*>(ids.at()), 5, 3.5f, got.at());
    b.checks.expect(distance(got.read(), rows_wanted) < 1e-6, std::string("embed ") + c.name);
  }
}

}  // namespace paceline::gpu
