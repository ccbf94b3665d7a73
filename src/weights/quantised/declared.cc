#include "weights/quantised/declared.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace paceline {
namespace {

namespace json = boost::json;

constexpr const char* kMethods =
    "compressed-tensors, modelopt, gptq, auto-round, awq, bitsandbytes, or MLX's groups (others are not read)";

Status check_quant_numbers(const JsonFields& fields) {
  TRY_ASSIGN(const int64_t bits, fields.integer("bits", 1, 32));
  TRY_ASSIGN(const int64_t group, fields.integer("group_size", 1, 1024));
  if (bits != 4 && bits != 8) return fields.wrong("bits", "4 or 8");
  if (group != 32 && group != 64 && group != 128) return fields.wrong("group_size", "32, 64 or 128");
  TRY_ASSIGN(const std::string mode, fields.text_or("mode", "affine"));
  if (mode != "affine") return fields.wrong("mode", "\"affine\"");
  return Done{};
}

Result<DeclaredQuantization> read_mlx(const JsonFields& fields) {
  TRY(check_quant_numbers(fields));
  TRY_ASSIGN(const int64_t bits, fields.integer("bits", 4, 8));
  TRY_ASSIGN(const int64_t group, fields.integer("group_size", 32, 128));
  for (const auto& [key, value] : fields.object()) {
    if (!value.is_object()) continue;  // false: that tensor is not quantised, which its shape says too
    TRY(check_quant_numbers(JsonFields(value.get_object(), fields.path_of({key.data(), key.size()}))));
  }
  DeclaredQuantization declared;
  declared.method = QuantMethod::mlx;
  declared.bits = static_cast<int32_t>(bits);
  declared.group = static_cast<int32_t>(group);
  declared.format = "MLX's groups";
  return declared;
}

// A scheme for something that is not a weight; null or an empty object where there is none.
bool says_something(const JsonFields& fields, std::string_view name) {
  const json::value* found = fields.find(name);
  return found != nullptr && !(found->is_object() && found->get_object().empty());
}

// Numbers of one group of modules.
Status read_group(const JsonFields& group, DeclaredQuantization* declared) {
  declared->activations |= says_something(group, "input_activations") || says_something(group, "output_activations");
  TRY_ASSIGN(const auto weights, group.object_if_any("weights"));
  if (!weights) return Done{};
  TRY_ASSIGN(const int64_t bits, weights->integer("num_bits", 1, 32));
  if (bits != 4 && bits != 8) return weights->wrong("num_bits", "4 or 8");
  TRY_ASSIGN(const std::string type, weights->text_or("type", "int"));
  if (type != "int" && type != "float") return weights->wrong("type", "\"int\" or \"float\"");
  TRY_ASSIGN(const int64_t size, weights->integer_or("group_size", 0, -1, 1 << 20));
  declared->bits = static_cast<int32_t>(bits);
  declared->group = static_cast<int32_t>(size > 0 ? size : 0);
  return Done{};
}

Status read_groups(const JsonFields& fields, DeclaredQuantization* declared) {
  TRY_ASSIGN(const auto groups, fields.object_if_any("config_groups"));
  if (!groups) return Done{};
  for (const auto& [key, value] : groups->object()) {
    const std::string_view name(key.data(), key.size());
    if (!value.is_object()) return groups->wrong(name, "an object");
    TRY(read_group(JsonFields(value.get_object(), groups->path_of(name)), declared));
  }
  return Done{};
}

constexpr std::array<std::string_view, 3> kCompressedFormats = {"pack-quantized", "float-quantized",
                                                                "nvfp4-pack-quantized"};

Status check_compressed_format(const JsonFields& fields, std::string_view format, bool mixture) {
  if (std::find(kCompressedFormats.begin(), kCompressedFormats.end(), format) != kCompressedFormats.end())
    return Done{};
  if (mixture && format == "mixed-precision") return Done{};
  return fields.wrong("format",
                      "\"pack-quantized\", \"float-quantized\", \"nvfp4-pack-quantized\" or \"mixed-precision\" (other "
                      "compressed-tensors formats are not read)");
}

Result<DeclaredQuantization> read_compressed(const JsonFields& fields) {
  TRY_ASSIGN(const std::string format, fields.text_or("format", ""));
  TRY(check_compressed_format(fields, format, true));
  DeclaredQuantization declared;
  declared.method = QuantMethod::compressed_tensors;
  declared.format = "compressed-tensors " + format;
  declared.activations = says_something(fields, "kv_cache_scheme");
  TRY(read_groups(fields, &declared));
  TRY_ASSIGN(const auto groups, fields.object_if_any("config_groups"));
  if (!groups) return declared;
  for (const auto& [key, value] : groups->object()) {
    const JsonFields group(value.get_object(), groups->path_of({key.data(), key.size()}));
    TRY_ASSIGN(const std::string own, group.text_or("format", format));
    TRY(check_compressed_format(group, own, own == format));
  }
  return declared;
}

// The algorithms of ModelOpt that are read, and the bits that they have.
Result<int32_t> modelopt_bits(const JsonFields& fields) {
  TRY_ASSIGN(const std::string algorithm, fields.text_or("quant_algo", ""));
  if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4") return 4;
  if (algorithm == "FP8" || algorithm == "FP8_PER_CHANNEL_PER_TOKEN" || algorithm == "FP8_PB_WO") return 8;
  return fields.wrong("quant_algo",
                      "NVFP4, FP8 or a MIXED_PRECISION of these (other algorithms of ModelOpt are not read)");
}

Result<DeclaredQuantization> read_modelopt(const JsonFields& fields) {
  DeclaredQuantization declared;
  declared.method = QuantMethod::modelopt;
  TRY_ASSIGN(const std::string algorithm, fields.text_or("quant_algo", ""));
  declared.format = "ModelOpt " + algorithm;
  declared.activations = true;
  if (algorithm != "MIXED_PRECISION") {
    TRY_ASSIGN(declared.bits, modelopt_bits(fields));
    declared.group = declared.bits == 4 ? 16 : 0;
    return declared;
  }
  TRY_ASSIGN(const auto layers, fields.object_if_any("quantized_layers"));
  if (!layers) return declared;
  for (const auto& [key, value] : layers->object()) {
    const std::string_view name(key.data(), key.size());
    if (!value.is_object()) return layers->wrong(name, "an object");
    TRY_ASSIGN(declared.bits, modelopt_bits(JsonFields(value.get_object(), layers->path_of(name))));
  }
  return declared;
}

Status read_bits(const JsonFields& fields, DeclaredQuantization* declared) {
  TRY_ASSIGN(const int64_t bits, fields.integer("bits", 1, 32));
  if (bits != 4 && bits != 8) return fields.wrong("bits", "4 or 8");
  TRY_ASSIGN(const int64_t group, fields.integer_or("group_size", -1, -1, 1 << 20));
  declared->bits = static_cast<int32_t>(bits);
  declared->group = static_cast<int32_t>(group > 0 ? group : 0);
  return Done{};
}

Result<DeclaredQuantization> read_gptq(const JsonFields& fields) {
  DeclaredQuantization declared;
  declared.method = QuantMethod::gptq;
  TRY(read_bits(fields, &declared));
  TRY_ASSIGN(const std::string format, fields.text_or("checkpoint_format", "gptq"));
  if (format != "gptq" && format != "gptq_v2") return fields.wrong("checkpoint_format", "\"gptq\" or \"gptq_v2\"");
  declared.format = format == "gptq" ? "GPTQ" : "GPTQ v2";
  TRY_ASSIGN(declared.symmetric, fields.boolean_or("sym", false));
  declared.zeros_less_one = format == "gptq";
  return declared;
}

// How AutoRound packs: as GPTQ does, with zeros stored one too small only where it says auto_gptq; or as AWQ.
struct AutoRoundPacking {
  std::string_view name;
  QuantMethod method;
  bool zeros_less_one;
};
constexpr std::array<AutoRoundPacking, 6> kAutoRoundPackings = {
    AutoRoundPacking{"auto_round:auto_gptq", QuantMethod::gptq, true},
    {"auto_round:gptqmodel", QuantMethod::gptq, false},
    {"auto_round", QuantMethod::gptq, false},  // of files that are not symmetric
    {"auto_round:exllamav2", QuantMethod::gptq, false},
    {"auto_round:tritonv2", QuantMethod::gptq, false},
    {"auto_round:auto_awq", QuantMethod::awq, false}};

// Layers may be said to differ. What can be seen from their tensors may; whether they are symmetric cannot.
Status check_auto_round_layers(const JsonFields& fields, bool symmetric) {
  TRY_ASSIGN(const auto layers, fields.object_if_any("extra_config"));
  if (!layers) return Done{};
  for (const auto& [key, value] : layers->object()) {
    if (!value.is_object()) continue;
    const JsonFields layer(value.get_object(), layers->path_of({key.data(), key.size()}));
    TRY_ASSIGN(const bool own, layer.boolean_or("sym", symmetric));
    if (own != symmetric) return layer.wrong("sym", symmetric ? "true, as for the others" : "false, as for the others");
  }
  return Done{};
}

Result<DeclaredQuantization> read_auto_round(const JsonFields& fields) {
  TRY_ASSIGN(const std::string name, fields.text_or("packing_format", ""));
  const auto* packing = std::find_if(kAutoRoundPackings.begin(), kAutoRoundPackings.end(),
                                     [&](const AutoRoundPacking& known) { return known.name == name; });
  if (packing == kAutoRoundPackings.end())
    return fields.wrong("packing_format",
                        "\"auto_round:auto_gptq\", \"auto_round:gptqmodel\", \"auto_round\" (with exllamav2 or "
                        "tritonv2 behind it) or \"auto_round:auto_awq\"");
  DeclaredQuantization declared;
  declared.method = packing->method;
  TRY(read_bits(fields, &declared));
  if (declared.method == QuantMethod::awq && declared.bits != 4) return fields.wrong("bits", "4");
  declared.format = "AutoRound";
  TRY_ASSIGN(declared.symmetric, fields.boolean_or("sym", false));
  TRY(check_auto_round_layers(fields, declared.symmetric));
  declared.zeros_less_one = packing->zeros_less_one;
  return declared;
}

Result<DeclaredQuantization> read_awq(const JsonFields& fields) {
  DeclaredQuantization declared;
  declared.method = QuantMethod::awq;
  TRY(read_bits(fields, &declared));
  if (declared.bits != 4) return fields.wrong("bits", "4");
  TRY_ASSIGN(const std::string version, fields.text_or("version", "gemm"));
  if (version != "gemm" && version != "GEMM") return fields.wrong("version", "\"gemm\"");
  declared.format = "AWQ";
  return declared;
}

Result<DeclaredQuantization> read_bitsandbytes(const JsonFields& fields) {
  TRY_ASSIGN(const bool four, fields.boolean_or("load_in_4bit", false));
  if (!four) return fields.wrong("load_in_4bit", "true (8 bits of bitsandbytes are not read)");
  TRY_ASSIGN(const std::string type, fields.text_or("bnb_4bit_quant_type", "fp4"));
  if (type != "nf4" && type != "fp4") return fields.wrong("bnb_4bit_quant_type", "\"nf4\" or \"fp4\"");
  DeclaredQuantization declared;
  declared.method = QuantMethod::bitsandbytes;
  declared.bits = 4;
  declared.group = 64;
  declared.format = "bitsandbytes " + type;
  return declared;
}

struct QuantReader {
  std::string_view name;
  Result<DeclaredQuantization> (*read)(const JsonFields&);
};
constexpr QuantReader kQuantReaders[] = {{"compressed-tensors", read_compressed},
                                         {"modelopt", read_modelopt},
                                         {"gptq", read_gptq},
                                         {"auto-round", read_auto_round},
                                         {"awq", read_awq},
                                         {"bitsandbytes", read_bitsandbytes},
                                         {"", read_mlx}};

Result<DeclaredQuantization> read_method(const JsonFields& fields) {
  TRY_ASSIGN(const std::string method, fields.text_or("quant_method", ""));
  for (const QuantReader& known : kQuantReaders) {
    if (method == known.name) return known.read(fields);
  }
  return fields.wrong("quant_method", kMethods);
}

// What ModelOpt wrote before it was part of config.json.
constexpr const char* kModelOptFile = "hf_quant_config.json";
constexpr size_t kMostModelOptBytes = size_t{4} << 20;

}  // namespace

// MLX writes the same object under both names; other quantisers use the second with a form of their own.
Result<DeclaredQuantization> read_quantization(const JsonFields& top) {
  for (const char* name : {"quantization", "quantization_config", "compression_config"}) {
    TRY_ASSIGN(const auto quantization, top.object_if_any(name));
    if (quantization) return read_method(*quantization);
  }
  return DeclaredQuantization{};
}

Result<DeclaredQuantization> declared_quantization(const Checkpoint& checkpoint) {
  TRY_ASSIGN(const json::object document, parse_json_object(checkpoint.config_json(), "config.json"));
  TRY_ASSIGN(DeclaredQuantization declared, read_quantization(JsonFields(document, "config.json")));
  if (declared.method != QuantMethod::none) return declared;
  TRY_ASSIGN(const auto text, checkpoint.side_file(kModelOptFile));
  if (!text) return declared;
  if (text->size() > kMostModelOptBytes)
    return Error{
        fmt::format("{}: expected at most {} bytes, found {}", kModelOptFile, kMostModelOptBytes, text->size())};
  TRY_ASSIGN(const json::object other, parse_json_object(*text, kModelOptFile));
  TRY_ASSIGN(const auto quantization, JsonFields(other, kModelOptFile).object_if_any("quantization"));
  if (!quantization || quantization->find("quant_algo") == nullptr) return declared;
  return read_modelopt(*quantization);
}

}  // namespace paceline
