// CudaOps over experts: the router's choice, the experts' products, and what becomes of their sum.
#include <algorithm>

#include "base/check.h"
#include "kernels/cuda/cuda_ops.h"

namespace paceline::kernels::cuda {

// Memory for the plan of so many rows.
PlanArgs CudaOps::plan_for(const int32_t* chosen, int32_t rows, int32_t top, int32_t experts) {
  const auto slots = static_cast<size_t>(rows) * static_cast<size_t>(top);
  PlanArgs plan;
  plan.chosen = chosen;
  plan.rows = rows;
  plan.top = top;
  plan.experts = experts;
  plan.plan = static_cast<ExpertPlan*>(grown(expert_plan_, sizeof(ExpertPlan)));
  plan.slot_row = static_cast<int32_t*>(grown(slots_, slots * 2 * sizeof(int32_t)));
  plan.slot_of = plan.slot_row + slots;
  return plan;
}

void CudaOps::route(const kernels::RouteArgs& args) {
  if (!takes("experts", args.router->rows, kMaxExperts)) return;
  if (!takes("experts per token", args.top, std::min(args.router->rows, kMaxExpertsPerToken))) return;
  cuda::RouteArgs a;
  a.scores = args.scores;
  a.expert_scale = args.expert_scale;
  a.rows = args.rows;
  a.experts = args.router->rows;
  a.top = args.top;
  a.divides = args.divides ? 1 : 0;
  a.chosen = args.chosen;
  a.share = args.share;
  planned_ = {};
  const RouterArgs router{weight_of(*args.router), args.x, static_cast<float*>(scores_left_.memory.get())};
  if (can_route_and_plan(router, args.rows)) {
    flush();
    const PlanArgs plan = plan_for(args.chosen, args.rows, args.top, a.experts);
    if (!status_.ok()) return;
    route_and_plan(router, a, plan, stream_);
    planned_ = {args.chosen, args.rows, args.top};
    return;
  }
  const Projection out{args.router, args.scores};
  // In float32 whatever the rest runs in, as on the processor.
  linear(args.x, args.rows, Activation::f32, {&out, 1});
  flush();
  if (status_.ok()) cuda::route(a, stream_);
}

// Both products of the experts: what each slot gives, and which slots are a row's. A dense part beside them shares
// their launches.
CudaOps::SlotRows CudaOps::expert_products(const ExpertsArgs& args, Activation activation, const MixtureArgs* beside) {
  flush();
  const Matrix &first_gate = args.gate->first, &first_up = args.up->first;
  if (first_gate.format != first_up.format || first_gate.group != first_up.group ||
      first_gate.scale_dtype != first_up.scale_dtype) {
    fail("CUDA: experts' gate and up differ in format");
    return {};
  }
  const int32_t slots = args.rows * args.top;
  const int32_t hidden = args.gate->first.cols, width = args.gate->first.rows;
  const PlanArgs plan = plan_for(args.chosen, args.rows, args.top, args.gate->count);
  const Weight gate = weight_of(*args.gate, args.top);
  const size_t wide_floats = static_cast<size_t>(slots) * static_cast<size_t>(width);
  const size_t down_floats = static_cast<size_t>(slots) * static_cast<size_t>(hidden);
  auto* wide = static_cast<float*>(grown(slot_rows_, (wide_floats + down_floats) * sizeof(float)));
  if (!status_.ok()) return {};
  written(wide, static_cast<int64_t>(wide_floats + down_floats));
  // The router's kernel may have made the plan already.
  if (planned_.chosen != args.chosen || planned_.rows != args.rows || planned_.top != args.top)
    args.rows <= kNarrowRows ? plan_experts(plan, stream_) : plan_many_experts(plan, stream_);
  planned_ = {};

  const Weight down = weight_of(*args.down, args.top);
  MatmulArgs first;
  first.x = rows_for(args.x, args.rows, gate, activation);
  first.rows = args.rows;
  first.experts = {plan.plan, plan.slot_row, std::min(args.gate->count, slots), slots};
  if (beside != nullptr) {
    Product& dense = first.out[first.count++];
    dense.dense = 1;
    dense.weight = weight_of(*beside->gate);
    dense.up = weight_of(*beside->up);
    dense.silu = args.function == GateFunction::silu ? 1 : 0;
    dense.x = rows_for(beside->x, args.rows, dense.weight, activation);
    dense.y_bf16 = make_ready(beside->wide, args.rows, dense.weight.rows, dense.y_stride);
  }
  Product& gated_product = first.out[first.count++];
  gated_product.weight = gate;
  gated_product.up = weight_of(*args.up, args.top);
  gated_product.silu = args.function == GateFunction::silu ? 1 : 0;
  // Nobody but the second product reads them.
  if (like_bf16(gate.format) && like_bf16(down.format) && activation == Activation::bf16)
    gated_product.y_bf16 = make_ready(wide, slots, width, gated_product.y_stride);
  else
    gated_product.y = wide;
  multiply(first, activation);

  MatmulArgs second;
  second.x = rows_for(wide, slots, down, activation);
  second.rows = args.rows;
  // Behind a launch that waited for the plan it is there from the start.
  second.experts = {plan.plan, nullptr, first.experts.most_touched, slots, beside != nullptr ? 1 : 0};
  if (beside != nullptr) {
    Product& dense = second.out[second.count++];
    dense.dense = 1;
    dense.weight = weight_of(*beside->down);
    dense.x = rows_for(beside->wide, args.rows, dense.weight, activation);
    dense.y = beside->dense;
    written(beside->dense, static_cast<int64_t>(args.rows) * hidden);
  }
  second.out[second.count].weight = down;
  second.out[second.count++].y = wide + wide_floats;
  multiply(second, activation);
  return {wide + wide_floats, plan.slot_of};
}

void CudaOps::experts(const ExpertsArgs& args, Activation activation) {
  const SlotRows from = expert_products(args, activation);
  const int32_t hidden = args.gate->first.cols;
  written(args.y, static_cast<int64_t>(args.rows) * hidden);
  if (status_.ok())
    combine_experts({from.rows, from.slot_of, args.share, args.y, args.rows, args.top, hidden}, stream_);
}

void CudaOps::mixture(const MixtureArgs& args, Activation activation) {
  CHECK(args.add.branch == args.dense);
  // The dense part goes with the experts where rows are few and everything is bf16.
  MatmulArgs all;
  all.rows = args.add.rows;
  bool joined = activation == Activation::bf16 && joins(all);
  for (const Matrix* m :
       {args.gate, args.up, args.down, &args.experts.gate->first, &args.experts.up->first, &args.experts.down->first})
    joined = joined && m->format == WeightFormat::bf16;
  if (!joined) {
    gated(args.x, args.add.rows, activation, {args.gate, args.up, args.wide, args.experts.function});
    const Projection down{args.down, args.dense};
    linear(args.wide, args.add.rows, activation, {&down, 1});
  }
  const SlotRows from = expert_products(args.experts, activation, joined ? &args : nullptr);
  add_norm(args.add);
  // Where joined, the second product starts when the first one knows the plan, and the norms behind that.
  pending_mixed_ = {from.rows,          from.slot_of,     args.experts.share, args.dense_weight,
                    args.expert_weight, args.experts.top, joined ? 1 : 0};
}

}  // namespace paceline::kernels::cuda
