#include "model/qwen/feed_forward.h"

#include "model/experts_touched.h"

namespace paceline::qwen {

using kernels::Projection;

size_t FeedForward::run(const Rows& r) {
  if (w_.router.present()) return experts(r);
  dense(r, r.y);
  return 0;
}

void FeedForward::dense(const Rows& r, float* y) {
  float* wide = m_.sized(m_.scratch.ffn, int64_t{r.rows} * w_.gate.rows);
  m_.ops.gated(r.x, r.rows, m_.act, {&w_.gate, &w_.up, wide, kernels::GateFunction::silu});
  const Projection down{&w_.down, y};
  m_.ops.linear(wide, r.rows, m_.act, {&down, 1});
}

size_t FeedForward::experts(const Rows& r) {
  Scratch& s = m_.scratch;
  const int64_t slots = int64_t{r.rows} * c_.experts_per_token;
  float* share = m_.sized(s.share, slots);
  auto* chosen = reinterpret_cast<int32_t*>(m_.sized(s.chosen, slots));
  float* scores = m_.sized(s.scores, int64_t{r.rows} * c_.experts);
  m_.ops.route({&w_.router, r.x, expert_scale_.for_ops(), r.rows, c_.experts_per_token, scores, chosen, share,
                c_.divides_shares});
  m_.ops.experts({&w_.expert_gate, &w_.expert_up, &w_.expert_down, r.x, chosen, share, r.rows, c_.experts_per_token,
                  r.y, kernels::GateFunction::silu},
                 m_.act);
  if (w_.shared_gate.present()) add_shared(r);
  const int32_t touched = experts_touched(m_.ops, {chosen, r.rows, c_.experts_per_token, c_.experts});
  return static_cast<size_t>(touched - c_.experts_per_token) * w_.one_expert_bytes();
}

void FeedForward::add_shared(const Rows& r) {
  const int64_t floats = int64_t{r.rows} * c_.hidden;
  float* shared = m_.sized(m_.scratch.shared, floats);
  float* gate = m_.sized(m_.scratch.shared_gate, r.rows);
  const Projection out{&w_.shared_gate, gate};
  m_.ops.linear(r.x, r.rows, m_.act, {&out, 1});
  dense(r, shared);
  m_.ops.recurrent()->sigmoid_mul({shared, gate, r.rows, c_.hidden, true});
  m_.ops.add_scaled(r.y, shared, 1.0f, floats);
}

}  // namespace paceline::qwen
