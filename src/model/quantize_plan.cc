#include "model/quantize_plan.h"

#include <array>

#include "model/tensor_names.h"

namespace paceline {
namespace {

constexpr std::string_view kWeight = ".weight";

bool is_router(std::string_view name) {
  return name.ends_with(".router.proj.weight") || name.ends_with(".mlp.gate.weight") ||
         name.ends_with(".mlp.shared_expert_gate.weight");
}

// Where a family keeps its experts once gate and up are apart: what MLX calls the module.
std::string split_experts(std::string_view experts) {
  constexpr std::string_view kMlp = ".mlp";
  return std::string(experts) + (experts.ends_with(kMlp) ? ".switch_mlp" : ".experts.switch_glu");
}

// Linear layers and embeddings are the two-dimensional "….weight"s, experts the three-dimensional tensors under
// "experts."; norms have one dimension. Left as they are: the media parts, and the projection of per-layer embeddings,
// as not every reader of the format has it as a plain linear layer.
bool is_quantisable(const TensorView& tensor, int32_t group) {
  const std::string_view name = tensor.name;
  if (!is_float(tensor.dtype) || belongs_to_media(name)) return false;
  if (tensor.shape.empty() || tensor.shape.back() == 0 || tensor.shape.back() % group != 0) return false;
  if (name.ends_with("per_layer_model_projection.weight")) return false;
  if (tensor.shape.size() == 2) return name.ends_with(kWeight);
  if (tensor.shape.size() != 3) return false;
  return name.ends_with(".experts.gate_up_proj") || name.ends_with(".experts.down_proj") ||
         (name.find(".experts.switch_glu.") != std::string_view::npos && name.ends_with(kWeight));
}

// MLX loads "model.language_model.x" as the module "language_model.model.x".
std::string mlx_module(std::string_view base) {
  constexpr std::string_view kNested = "model.language_model.";
  if (!base.starts_with(kNested)) return std::string(base);
  return "language_model.model." + std::string(base.substr(kNested.size()));
}

class Planner {
 public:
  explicit Planner(QuantSpec spec) : spec_(spec) {}

  void add(const TensorView& tensor) {
    constexpr std::string_view kGateUp = ".experts.gate_up_proj";
    constexpr std::string_view kDown = ".experts.down_proj";
    const std::string_view name = tensor.name;
    if (!is_quantisable(tensor, spec_.group)) {
      keep(tensor);
    } else if (name.ends_with(kGateUp) && tensor.shape[1] % 2 == 0) {
      const std::string experts = split_experts(name.substr(0, name.size() - kGateUp.size()));
      const int64_t half = tensor.shape[1] / 2;
      quantise(tensor, experts + ".gate_proj", 0, half);
      quantise(tensor, experts + ".up_proj", half, half);
    } else if (name.ends_with(kDown)) {
      const std::string experts = split_experts(name.substr(0, name.size() - kDown.size()));
      quantise(tensor, experts + ".down_proj", 0, tensor.shape[1]);
    } else if (name.ends_with(kWeight)) {
      quantise(tensor, std::string(name.substr(0, name.size() - kWeight.size())), 0,
               tensor.shape[tensor.shape.size() - 2]);
    } else {
      keep(tensor);
    }
  }

  QuantizePlan plan;

 private:
  void keep(const TensorView& tensor) {
    QuantizeStep step;
    step.source = &tensor;
    step.output = plan.outputs.size();
    plan.outputs.push_back({tensor.name, tensor.dtype, tensor.shape});
    plan.steps.push_back(step);
  }

  void quantise(const TensorView& tensor, const std::string& base, int64_t first_row, int64_t rows) {
    QuantizeStep step;
    step.source = &tensor;
    step.quantise = true;
    step.spec = spec_;
    // The router decides which experts run: MLX, too, gives it eight bits always.
    if (is_router(tensor.name)) step.spec.bits = 8;
    if (step.spec.bits != spec_.bits) plan.overrides[mlx_module(base)] = step.spec;
    step.blocks = tensor.shape.size() == 3 ? tensor.shape[0] : 1;
    step.first_row = first_row;
    step.block_rows = rows;
    step.stride_rows = tensor.shape[tensor.shape.size() - 2];
    step.output = plan.outputs.size();
    auto packed = tensor.shape, groups = tensor.shape;
    packed[packed.size() - 2] = groups[groups.size() - 2] = rows;
    packed.back() = tensor.shape.back() * step.spec.bits / 32;
    groups.back() = step.spec.scale_count(tensor.shape.back());
    plan.outputs.push_back({base + ".weight", DType::u32, packed});
    plan.outputs.push_back({base + ".scales", DType::bf16, groups});
    plan.outputs.push_back({base + ".biases", DType::bf16, groups});
    plan.steps.push_back(step);
  }

  QuantSpec spec_;
};

}  // namespace

QuantizePlan plan_quantization(const Checkpoint& checkpoint, QuantSpec spec) {
  Planner planner(spec);
  for (const TensorView& tensor : checkpoint.tensors()) planner.add(tensor);
  return std::move(planner.plan);
}

}  // namespace paceline
