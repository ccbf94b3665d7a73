// Products and the norms behind them, many after each other: the norms' kernel takes a product's rows while it still
// runs. And ends of layers with experts, likewise.
#include "kernels_check.h"

namespace paceline::gpu {
namespace {

using kernels::NormOutput;
using kernels::random_rows;
using kernels::RandomMatrix;

// What a product gives, normed and added, over and over: the norms' kernel takes it as it comes, while the product
// still runs. All in one go has the bits of one operation after the other.
class Chain {
 public:
  static constexpr int32_t kProducts = 3;

  // Products of rows that come from elsewhere, with parts of K that are one, few and short, and of the norm's own.
  Chain(Backends& b, WeightFormat format, int32_t width, int32_t rows)
      : b_(b),
        rows_(rows),
        width_(width),
        floats_(static_cast<size_t>(rows) * static_cast<size_t>(width)),
        first_x_(random_rows(rows, width, b.random)),
        weights_(b.gpu, random_rows(2, width, b.random)),
        x_(b.gpu, floats_),
        scratch_(b.gpu, size_t{64}) {
    const int32_t cols[kProducts] = {128, 1024, width};
    const int32_t group = format == WeightFormat::bf16 ? 0 : 64;
    for (int32_t i = 0; i < kProducts; ++i) {
      const RandomMatrix raw(format, width, cols[i], group, DType::bf16, b.random);
      matrices_[i] = b.gpu.place(raw.view, owners_);
      inputs_.emplace_back(b.gpu, random_rows(rows, cols[i], b.random));
      branches_.emplace_back(b.gpu, floats_);
      normed_.emplace_back(b.gpu, floats_);
    }
    name_ = (format == WeightFormat::bf16 ? "bf16"
             : format == WeightFormat::q8 ? "q8"
                                          : "q4") +
            (" products into norms of " + std::to_string(width)) + ", " + std::to_string(rows) + " rows";
  }

  // Where an operation may end: what waits for the next one is launched there, if this run wants it.
  void cut() const {
    if (apart_) b_.gpu.clear(scratch_.at(), 256);
  }
  void linear(int32_t i, const float* from, float* to) const {
    const kernels::Projection out{&matrices_[i], to};
    b_.gpu.linear(from, rows_, Activation::bf16, {&out, 1});
    cut();
  }
  void linear(int32_t i) const { linear(i, inputs_[static_cast<size_t>(i)].at(), branch(i)); }
  void add(const float* branch, float scale = 1.0f) const {
    b_.gpu.add_norm({x(), branch, weights_.at(), rows_, width_, 1e-6f, scale});
    cut();
  }
  void norm(float* to, float eps = 1e-6f) const {
    b_.gpu.rms_norm({x(), weights_.at(static_cast<size_t>(width_)), to, rows_, width_, eps, 1.0f});
    cut();
  }
  [[nodiscard]] float* x() const { return x_.at(); }
  [[nodiscard]] float* branch(int32_t i) const { return branches_[static_cast<size_t>(i)].at(); }
  [[nodiscard]] float* normed(int32_t i) const { return normed_[static_cast<size_t>(i)].at(); }
  [[nodiscard]] Ops& ops() const { return b_.gpu; }
  [[nodiscard]] int32_t rows() const { return rows_; }
  [[nodiscard]] int32_t width() const { return width_; }
  [[nodiscard]] size_t floats() const { return floats_; }

  // `turns` of it without a wait, so often: lists that recur are started as graphs.
  template <class Turn>
  void check(const std::string& what, int32_t turns, int32_t times, const Turn& turn) {
    const auto run = [&](bool apart) {
      apart_ = false;
      for (const auto* all : {&branches_, &normed_})
        for (const Block& one : *all) one.poison();
      b_.gpu.upload(x(), first_x_.data(), floats_ * sizeof(float));
      (void)b_.gpu.wait();
      apart_ = apart;
      for (int32_t i = 0; i < turns; ++i) turn(*this, i);
      apart_ = false;
      std::vector<float> all = x_.read();
      for (const auto* some : {&branches_, &normed_})
        for (const Block& one : *some) append(all, one.read());
      return all;
    };
    const std::vector<float> want = run(true);
    for (int32_t i = 0; i < times; ++i) {
      const std::vector<float> got = run(false);
      b_.checks.expect(same_bits(got.data(), want.data(), want.size()),
                       name_ + ", " + what + ", time " + std::to_string(i));
    }
  }

 private:
  Backends& b_;
  int32_t rows_, width_;
  size_t floats_;
  std::vector<std::shared_ptr<const void>> owners_;
  Matrix matrices_[kProducts];
  std::vector<Block> inputs_, branches_, normed_;
  std::vector<float> first_x_;
  Block weights_, x_, scratch_;
  bool apart_ = false;
  std::string name_;
};

// One product after the other, each behind the norms of the one before; every third of the norm itself.
void check_chain(Backends& b, WeightFormat format, int32_t width, int32_t rows, int32_t turns) {
  Chain chain(b, format, width, rows);
  chain.check("in turn", turns, 4, [](const Chain& c, int32_t turn) {
    const int32_t i = turn % Chain::kProducts;
    if (i == 2)
      c.linear(i, c.normed(1), c.branch(i));
    else
      c.linear(i);
    c.add(c.branch(i));
    c.norm(c.normed(i));
  });
}

// What comes near to a product and the norms behind it, and is not that.
void check_broken_chains(Backends& b, WeightFormat format, int32_t width, int32_t rows) {
  using Turn = void (*)(const Chain&, int32_t);
  const std::pair<const char*, Turn> kinds[] = {
      {"no norm behind the sum",
       [](const Chain& c, int32_t) {
         c.linear(1);
         c.add(c.branch(1));
         c.linear(2, c.x(), c.branch(2));
         c.add(c.branch(2), 0.5f);
       }},
      {"another branch",
       [](const Chain& c, int32_t turn) {
         c.linear(turn % 2);
         c.linear(1 - turn % 2);
         c.add(c.branch(turn % 2));
         c.norm(c.normed(0));
       }},
      {"some of the rows",
       [](const Chain& c, int32_t) {
         c.linear(0);
         c.ops().add_norm({c.x(), c.branch(0), nullptr, (c.rows() + 1) / 2, c.width(), 1e-6f, 1.0f});
         c.cut();
         c.norm(c.normed(0));
       }},
      {"rows from elsewhere in between",
       [](const Chain& c, int32_t) {
         c.linear(1);
         c.ops().add_scaled(c.branch(1), c.x(), 0.5f, static_cast<int64_t>(c.floats()));
         c.cut();
         c.add(c.branch(1));
         c.ops().add_scaled(c.x(), c.branch(1), 0.5f, static_cast<int64_t>(c.floats()));
         c.cut();
         c.norm(c.normed(1));
       }},
      {"the norm where the branch was",
       [](const Chain& c, int32_t) {
         c.linear(1);
         c.add(c.branch(1));
         c.norm(c.branch(1));
       }},
      {"the norm in place",
       [](const Chain& c, int32_t turn) {
         c.linear(turn % 2);
         c.add(c.branch(turn % 2));
         c.norm(c.x());
       }},
      {"another norm",
       [](const Chain& c, int32_t) {
         c.linear(0);
         c.add(c.branch(0));
         c.norm(c.normed(0), 1e-3f);
       }},
      {"twice the same branch",
       [](const Chain& c, int32_t) {
         c.linear(1);
         c.add(c.branch(1));
         c.add(c.branch(1), 0.5f);
         c.norm(c.normed(1));
       }},
      {"three norms",
       [](const Chain& c, int32_t) {
         c.linear(1);
         c.add(c.branch(1));
         const NormOutput out[3] = {{nullptr, c.normed(0), 0.3f}, {nullptr, c.normed(1)}, {nullptr, c.normed(2), 2.0f}};
         c.ops().rms_norms({c.x(), c.rows(), c.width(), 1e-6f, out});
         c.cut();
       }},
      {"memory that is given back",
       [](const Chain& c, int32_t turn) {
         {
           const Block in(c.ops(), std::vector<float>(static_cast<size_t>(c.rows()) * 1024, 0.5f));
           c.linear(1, in.at(), c.branch(1));
         }
         const Block other(c.ops(), std::vector<float>(static_cast<size_t>(c.rows()) * 1024, -1.0f));
         c.add(c.branch(1));
         c.norm(c.normed(turn % 2));
       }},
  };
  Chain chain(b, format, width, rows);
  for (const auto& [what, turn] : kinds) chain.check(what, 12, 2, turn);
}

// Ends of layers with experts, one behind the other. Where operations follow at once, the router goes with the
// products of its experts and plans are handed from block to block; apart, each waits for the one in front.
class Mixtures {
 public:
  Mixtures(Backends& b, int32_t experts, int32_t top, int32_t hidden, int32_t width, int32_t rows)
      : b_(b),
        experts_(experts),
        top_(top),
        hidden_(hidden),
        rows_(rows),
        first_x_(random_rows(rows, hidden, b.random)),
        weights_(b.gpu, random_rows(6, hidden, b.random)),
        scale_(b.gpu, random_rows(1, experts, b.random)),
        x_(b.gpu, first_x_.size()),
        normed_{{b.gpu, first_x_.size()}, {b.gpu, first_x_.size()}, {b.gpu, first_x_.size()}},
        dense_(b.gpu, first_x_.size()),
        out_(b.gpu, first_x_.size()),
        wide_(b.gpu, count(rows, 3 * width)),
        scores_(b.gpu, count(rows, experts)),
        chosen_(b.gpu, count(rows, top)),
        share_(b.gpu, count(rows, top)) {
    const auto matrix = [&](int32_t n, int32_t k) {
      return b.gpu.place(RandomMatrix(WeightFormat::bf16, n, k, 0, DType::bf16, b.random).view, owners_);
    };
    const auto stack = [&](int32_t n, int32_t k) {
      const RandomMatrix all(WeightFormat::bf16, experts * n, k, 0, DType::bf16, b.random);
      return b.gpu.place(MatrixStack{all.view.row_slice(0, n), experts, n, 0}, owners_);
    };
    router_ = matrix(experts, hidden);
    dense_gate_ = matrix(3 * width, hidden);
    dense_up_ = matrix(3 * width, hidden);
    dense_down_ = matrix(hidden, 3 * width);
    gate_ = stack(width, hidden);
    up_ = stack(width, hidden);
    down_ = stack(hidden, width);
  }

  // x behind so many of them, and the last choice.
  [[nodiscard]] std::vector<float> run(int32_t turns, bool apart) const {
    b_.gpu.upload(x_.at(), first_x_.data(), first_x_.size() * sizeof(float));
    (void)b_.gpu.wait();
    for (int32_t i = 0; i < turns; ++i) turn(apart);
    std::vector<float> all = x_.read();
    append(all, share_.read());
    return all;
  }

 private:
  static size_t count(int32_t a, int32_t b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }
  [[nodiscard]] const float* weight(int32_t i) const { return weights_.at(count(i, hidden_)); }

  void turn(bool apart) const {
    const auto cut = [&] {
      if (apart) (void)b_.gpu.wait();
    };
    const NormOutput to[3] = {
        {weight(0), normed_[0].at()}, {weight(1), normed_[1].at(), 0.3f}, {weight(2), normed_[2].at()}};
    b_.gpu.rms_norms({x_.at(), rows_, hidden_, 1e-6f, to});
    cut();
    auto* ids = reinterpret_cast<int32_t*>(chosen_.at());
    b_.gpu.route({&router_, normed_[1].at(), scale_.at(), rows_, top_, scores_.at(), ids, share_.at()});
    cut();
    kernels::MixtureArgs mix;
    mix.gate = &dense_gate_;
    mix.up = &dense_up_;
    mix.down = &dense_down_;
    mix.x = normed_[0].at();
    mix.wide = wide_.at();
    mix.dense = dense_.at();
    mix.experts = {&gate_, &up_, &down_, normed_[2].at(), ids, share_.at(), rows_, top_, out_.at()};
    mix.dense_weight = weight(3);
    mix.expert_weight = weight(4);
    mix.add = {x_.at(), dense_.at(), weight(5), rows_, hidden_, 1e-6f, 0.8f};
    b_.gpu.mixture(mix, Activation::bf16);
    cut();
  }

  Backends& b_;
  int32_t experts_, top_, hidden_, rows_;
  std::vector<std::shared_ptr<const void>> owners_;
  Matrix router_, dense_gate_, dense_up_, dense_down_;
  MatrixStack gate_, up_, down_;
  std::vector<float> first_x_;
  Block weights_, scale_, x_, normed_[3], dense_, out_, wide_, scores_, chosen_, share_;
};

void check_mixtures(Backends& b, int32_t experts, int32_t top, int32_t hidden, int32_t width, int32_t rows,
                    int32_t turns) {
  const Mixtures mixtures(b, experts, top, hidden, width, rows);
  const std::vector<float> want = mixtures.run(turns, true);
  // Lists that recur are started as graphs.
  for (int32_t i = 0; i < 4; ++i) {
    const std::vector<float> got = mixtures.run(turns, false);
    b.checks.expect(same_bits(got.data(), want.data(), want.size()),
                    std::to_string(turns) + " mixtures in turn of " + std::to_string(hidden) + " by " +
                        std::to_string(width) + ", " + std::to_string(rows) + " rows, time " + std::to_string(i));
  }
}

}  // namespace

void check_chains(Backends& b, bool few) {
  constexpr WeightFormat kFormats[] = {WeightFormat::bf16, WeightFormat::q8, WeightFormat::q4};
  for (const WeightFormat format : kFormats) {
    check_chain(b, format, 320, 3, few ? 12 : 200);
    check_broken_chains(b, format, 320, 2);
  }
  check_chain(b, WeightFormat::bf16, 320, 20, few ? 6 : 200);
  check_mixtures(b, 8, 2, 64, 48, 3, few ? 3 : 100);
  if (few) return;
  for (const int32_t rows : {1, 2, 7, 8, 9, 17}) {
    check_mixtures(b, 16, 4, 256, 128, rows, 200);
    check_mixtures(b, 32, 8, 2816, 64, rows, 100);
  }
  for (const WeightFormat format : kFormats) {
    for (const int32_t width : {256, 1024, 2560, 3840, 5376})
      for (const int32_t rows : {1, 2, 5, 8, 9, 16}) check_chain(b, format, width, rows, 200);
    for (const int32_t rows : {17, 32}) check_chain(b, format, 2560, rows, 200);
    check_broken_chains(b, format, 2560, 1);
    check_broken_chains(b, format, 3840, 16);
  }
}

}  // namespace paceline::gpu
