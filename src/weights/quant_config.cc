#include "weights/quant_config.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

json::object spec_json(QuantSpec spec) {
  json::object object;
  object["group_size"] = spec.group;
  object["bits"] = spec.bits;
  return object;
}

}  // namespace

Result<std::string> add_quantization(std::string_view config_json, QuantSpec spec,
                                     const std::map<std::string, QuantSpec>& overrides) {
  TRY_ASSIGN(json::object config, parse_json_object(config_json, "config.json"));
  const JsonFields fields(config, "config.json");
  for (const char* name : {"quantization", "quantization_config"}) {
    if (fields.find(name) != nullptr)
      return fields.wrong(name, "nothing, as only unquantised checkpoints can be quantised");
  }
  json::object quantization = spec_json(spec);
  quantization["mode"] = "affine";
  for (const auto& [module, other] : overrides) quantization[module] = spec_json(other);
  config["quantization"] = quantization;
  config["quantization_config"] = std::move(quantization);
  return json::serialize(config) + "\n";
}

}  // namespace paceline
