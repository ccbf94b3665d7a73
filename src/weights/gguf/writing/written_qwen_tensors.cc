#include <fmt/format.h>

#include <cmath>
#include <map>

#include "weights/gguf/writing/written_qwen.h"

namespace paceline {
namespace {

// "model.layers.0.mlp.experts.7.gate_proj.weight": the expert, and the name of the stack that it belongs to. Expert -1:
// another name.
struct ExpertName {
  int64_t expert = -1;
  std::string stack;
};

ExpertName expert_name(std::string_view name) {
  constexpr std::string_view kExperts = ".mlp.experts.";
  const size_t at = name.find(kExperts);
  if (at == std::string_view::npos) return {};
  const GgufLayerName in_expert = gguf_layer_name(name.substr(at), kExperts);
  if (in_expert.layer < 0) return {};
  return {in_expert.layer, fmt::format("{}.mlp.switch_mlp.{}", name.substr(0, at), in_expert.part)};
}

bool is_qwen_left_out(std::string_view name, const QwenForm& form) {
  for (const char* part : {"visual.", "rotary_emb.inv_freq"})
    if (name.find(part) != std::string_view::npos) return true;
  return form.tied && name == "lm_head.weight";
}

// The family's norms multiply by one more than is stored; in files of the format the one is added.
bool wants_one_more(std::string_view name, const QwenForm& form) {
  return form.recurrent() && name.ends_with("norm.weight") && !name.ends_with("linear_attn.norm.weight");
}
bool is_drafters_norm(std::string_view name) { return name.starts_with("mtp.pre_fc_norm_"); }

// Behind `before` rows there are so many for each value head.
struct ValueRows {
  QwenForm form;
  int64_t before, each;

  int64_t operator()(int64_t row) const {
    return row < before ? row : before + form.head_at((row - before) / each) * each + (row - before) % each;
  }
};

class QwenTensors {
 public:
  QwenTensors(const QwenForm& form, const GgufRecipe& recipe) : form_(form), recipe_(recipe) {}

  Status add(const TensorView& tensor, std::string_view plain) {
    if (const ExpertName one = expert_name(plain); one.expert >= 0) return add_expert(tensor, one);
    if (plain.ends_with(".mlp.experts.gate_up_proj")) return add_halves(tensor, plain);
    TRY_ASSIGN(const std::string name, name_of(tensor, plain));
    if (tensor.shape.size() < 2) return add_vector(tensor, name, plain);
    if (plain.ends_with("conv1d.weight")) return add_taps(tensor, name);
    if (plain.ends_with("shared_expert_gate.weight"))
      return put({{name, {tensor.shape.back()}, kWrittenFloats}, {&tensor}});
    WrittenTensor made{planned(name, tensor.shape, tensor.dtype), {&tensor}};
    if (form_.recurrent()) reorder(plain, &made);
    return put(std::move(made));
  }

  Result<std::vector<WrittenTensor>> take() {
    for (auto& [name, experts] : stacks_) {
      std::vector<int64_t> shape = experts.front()->shape;
      shape.insert(shape.begin(), form_.experts);
      for (const TensorView* one : experts)
        if (one == nullptr || one->shape != experts.front()->shape || one->dtype != experts.front()->dtype)
          return Error{fmt::format("\"{}\": expected {} experts of one shape", name, form_.experts)};
      TRY(put({planned(name, shape, experts.front()->dtype), std::move(experts)}));
    }
    std::vector<WrittenTensor> all;
    for (auto& [name, tensor] : made_) all.push_back(std::move(tensor));
    return all;
  }

 private:
  Result<std::string> name_of(const TensorView& tensor, std::string_view plain) const {
    std::string hub(plain);
    if (hub.ends_with("linear_attn.A_log")) hub.resize(hub.size() - std::string_view("_log").size());
    if (hub.ends_with(".mlp.experts.down_proj"))
      hub.replace(hub.size() - std::string_view("experts.down_proj").size(), std::string::npos,
                  "switch_mlp.down_proj.weight");
    std::string name = qwen_gguf_name(hub, form_.layers, form_.recurrent());
    if (name.empty()) return Error{fmt::format("tensor \"{}\" has no name in GGUF", tensor.name)};
    return name;
  }

  GgufTensorPlan planned(const std::string& name, const std::vector<int64_t>& shape, DType dtype) const {
    return {name, shape, recipe_.type_of(name, shape, dtype, form_.layers.text)};
  }

  Status put(WrittenTensor tensor) {
    const std::string name = tensor.plan.name;
    if (!made_.emplace(name, std::move(tensor)).second)
      return Error{fmt::format("two tensors are called \"{}\" in GGUF", name)};
    return Done{};
  }

  Status add_expert(const TensorView& tensor, const ExpertName& one) {
    TRY_ASSIGN(const std::string name, name_of(tensor, one.stack));
    if (one.expert >= form_.experts || tensor.shape.size() != 2)
      return Error{fmt::format("tensor \"{}\": expected a matrix of one of {} experts", tensor.name, form_.experts)};
    auto& stack = stacks_.try_emplace(name, static_cast<size_t>(form_.experts), nullptr).first->second;
    stack[static_cast<size_t>(one.expert)] = &tensor;
    return Done{};
  }

  // Gate's rows before up's, of every expert; in a file they are two tensors.
  Status add_halves(const TensorView& tensor, std::string_view plain) {
    if (tensor.shape.size() != 3 || tensor.shape[1] % 2 != 0)
      return Error{fmt::format("tensor \"{}\": expected two matrices for each expert", tensor.name)};
    const int64_t half = tensor.shape[1] / 2;
    const std::string_view layer = plain.substr(0, plain.size() - std::string_view("experts.gate_up_proj").size());
    for (const bool up : {false, true}) {
      const std::string hub = fmt::format("{}switch_mlp.{}_proj.weight", layer, up ? "up" : "gate");
      TRY_ASSIGN(const std::string name, name_of(tensor, hub));
      WrittenTensor made{planned(name, {tensor.shape[0], half, tensor.shape[2]}, tensor.dtype), {&tensor}};
      made.row_of = [half, up](int64_t row) { return row / half * 2 * half + row % half + (up ? half : 0); };
      TRY(put(std::move(made)));
    }
    return Done{};
  }

  Status add_vector(const TensorView& tensor, const std::string& name, std::string_view plain) {
    std::vector<float> values = written_floats(tensor);
    if (wants_one_more(plain, form_) || is_drafters_norm(plain))
      for (float& value : values) value += 1.0f;
    const bool of_heads = plain.ends_with("linear_attn.A_log") || plain.ends_with("linear_attn.dt_bias");
    if (plain.ends_with("linear_attn.A_log"))
      for (float& value : values) value = -std::exp(value);
    if (of_heads && static_cast<int64_t>(values.size()) == form_.value_heads) {
      const std::vector<float> as_they_were = values;
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = as_they_were[static_cast<size_t>(form_.head_at(static_cast<int64_t>(i)))];
    }
    return put({{name, written_shape(tensor), kWrittenFloats}, {}, std::move(values)});
  }

  // [channels, 1, taps], without the one.
  Status add_taps(const TensorView& tensor, const std::string& name) {
    const int64_t taps = tensor.shape.back(), channels = tensor.shape.front();
    WrittenTensor made{{name, {channels, taps}, kWrittenFloats}, {&tensor}};
    made.row_of = ValueRows{form_, 2 * form_.key_heads * form_.key_dim, form_.value_dim};
    return put(std::move(made));
  }

  void reorder(std::string_view plain, WrittenTensor* made) const {
    const auto rows = [&](int64_t before, int64_t each) { made->row_of = ValueRows{form_, before, each}; };
    if (plain.ends_with("linear_attn.in_proj_qkv.weight")) rows(2 * form_.key_heads * form_.key_dim, form_.value_dim);
    if (plain.ends_with("linear_attn.in_proj_z.weight")) rows(0, form_.value_dim);
    if (plain.ends_with("linear_attn.in_proj_a.weight") || plain.ends_with("linear_attn.in_proj_b.weight")) rows(0, 1);
    if (!plain.ends_with("linear_attn.out_proj.weight")) return;
    const ValueRows order{form_, 0, form_.value_dim};
    for (int64_t i = 0; i < form_.value_heads * form_.value_dim; ++i) made->columns.push_back(order(i));
  }

  const QwenForm& form_;
  const GgufRecipe& recipe_;
  std::map<std::string, WrittenTensor> made_;
  std::map<std::string, std::vector<const TensorView*>> stacks_;
};

// Shapes that the order of heads is taken from: a stranger's config may say something else than its tensors.
Status check_heads(const TensorView& tensor, std::string_view plain, const QwenForm& form) {
  const size_t at = plain.find("linear_attn.");
  if (at == std::string_view::npos) return Done{};
  const std::string_view part = plain.substr(at + std::string_view("linear_attn.").size());
  const int64_t values = form.value_heads * form.value_dim, channels = 2 * form.key_heads * form.key_dim + values;
  const int64_t rows = tensor.shape.empty() ? 0 : tensor.shape.front(),
                cols = tensor.shape.empty() ? 0 : tensor.shape.back();
  const bool fits = part == "in_proj_qkv.weight" || part == "conv1d.weight" ? rows == channels
                    : part == "in_proj_z.weight"                            ? rows == values
                    : part == "out_proj.weight"                             ? cols == values
                    : part == "norm.weight"                                 ? cols == form.value_dim
                                                                            : rows == form.value_heads;
  if (fits) return Done{};
  return Error{fmt::format("tensor \"{}\": expected {} value heads of {}, as config.json has them", tensor.name,
                           form.value_heads, form.value_dim)};
}

}  // namespace

Result<std::vector<WrittenTensor>> written_qwen_tensors(const Checkpoint& checkpoint, const QwenForm& form,
                                                        const GgufRecipe& recipe) {
  QwenTensors tensors(form, recipe);
  for (const TensorView& tensor : checkpoint.tensors()) {
    const std::string plain = plain_written_name(tensor.name);
    if (is_qwen_left_out(plain, form)) continue;
    TRY(check_written_form(tensor));
    TRY(check_heads(tensor, plain, form));
    TRY(tensors.add(tensor, plain));
  }
  return tensors.take();
}

}  // namespace paceline
