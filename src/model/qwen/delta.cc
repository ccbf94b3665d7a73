#include "model/qwen/delta.h"

namespace paceline::qwen {

using kernels::Projection;

void Delta::run(const LayerRows& r, int32_t layer, const float* x, float* y) {
  Scratch& s = m_.scratch;
  const kernels::DeltaShape& shape = c_.delta;
  kernels::DeltaArgs args;
  args.shape = shape;
  args.rows = r.rows;
  float* u = m_.sized(s.delta_in, int64_t{r.rows} * shape.channels());
  float* a = m_.sized(s.delta_a, int64_t{r.rows} * shape.value_heads);
  float* b = m_.sized(s.delta_b, int64_t{r.rows} * shape.value_heads);
  args.z = m_.sized(s.delta_z, int64_t{r.rows} * shape.values());
  const Projection in[4] = {{&w_.qkv, u}, {&w_.z, args.z}, {&w_.a, a}, {&w_.b, b}};
  m_.ops.linear(x, r.rows, m_.act, in);
  args.u = u;
  args.a = a;
  args.b = b;
  args.taps = w_.taps.for_ops();
  args.rate = w_.rate.for_ops();
  args.bias = w_.bias.for_ops();
  args.weight = w_.norm.for_ops();
  args.eps = c_.rms_eps;
  args.y = m_.sized(s.delta_y, int64_t{r.rows} * shape.channels());
  args.o = m_.sized(s.delta_o, int64_t{r.rows} * shape.values());
  args.places = r.seqs[0].kv->delta_places(layer);
  s.delta_spans.clear();
  for (size_t i = 0; i < r.seqs.size(); ++i) {
    kernels::DeltaSpan span = r.seqs[i].kv->delta_span(r.seqs[i].count, r.seqs[i].drafts);
    span.first_row = r.spans[i].first_row;
    s.delta_spans.push_back(span);
  }
  args.seqs = s.delta_spans;
  m_.ops.recurrent()->delta(args);
  const Projection out{&w_.out, y};
  m_.ops.linear(args.z, r.rows, m_.act, {&out, 1});
}

}  // namespace paceline::qwen
