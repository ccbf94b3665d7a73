#include "model/qwen/attention.h"

namespace paceline::qwen {

using kernels::Projection;

void Attention::run(const Rows& r) {
  Scratch& s = m_.scratch;
  const int64_t queries = int64_t{r.rows} * c_.heads * c_.head_dim, keys = int64_t{r.rows} * c_.kv_heads * c_.head_dim;
  float* q = m_.sized(s.q, queries);
  float* k = m_.sized(s.k, keys);
  float* v = m_.sized(s.v, keys);
  project(r, q, k, v);

  const RopeTable rope = s.rope.table(m_.ops, c_.rope_theta, c_.rotary, c_.yarn);
  kernels::HeadsArgs heads;
  heads.shape = r.shape;
  heads.q = q;
  heads.k = k;
  heads.v = v;
  heads.q_weight = w_.q_norm.for_ops();
  heads.k_weight = w_.k_norm.for_ops();
  heads.cos = rope.cos;
  heads.sin = rope.sin;
  heads.eps = c_.rms_eps;
  heads.seqs = r.seqs;
  heads.norms_values = false;
  heads.rotary = c_.rotary;
  float* attended = m_.sized(s.attended, queries);
  m_.ops.attend(heads, {r.shape, q, attended, 0, true, r.seqs, nullptr});
  if (c_.gates_attention)
    m_.ops.recurrent()->sigmoid_mul({attended, s.gate.data(), r.rows, c_.heads * c_.head_dim, false});
  const Projection o{&w_.o, r.y};
  m_.ops.linear(attended, r.rows, m_.act, {&o, 1});
}

// Queries and gates come out head by head, each query with its gate behind it.
void Attention::project(const Rows& r, float* q, float* k, float* v) {
  Scratch& s = m_.scratch;
  const int32_t heads = r.rows * c_.heads;
  float* joined = c_.gates_attention ? m_.sized(s.joined, int64_t{2} * heads * c_.head_dim) : q;
  const Projection out[3] = {{&w_.q, joined}, {&w_.k, k}, {&w_.v, v}};
  m_.ops.linear(r.x, r.rows, m_.act, out);
  if (!c_.gates_attention) return;
  m_.ops.recurrent()->part_pairs({joined, q, m_.sized(s.gate, int64_t{heads} * c_.head_dim), heads, c_.head_dim});
}

}  // namespace paceline::qwen
