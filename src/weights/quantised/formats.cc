#include "weights/quantised/formats.h"

namespace paceline {

std::span<const QuantisedFormat> quantised_formats() {
  static const QuantisedFormat kAll[] = {kNvfp4Format, kFp8Format, kPackedIntegersFormat,
                                         kGptqFormat,  kAwqFormat, kBitsandbytesFormat};
  return kAll;
}

bool is_activation_scale(std::string_view name) {
  for (const std::string_view end : {".input_scale", ".input_global_scale", ".input_zero_point", ".output_scale",
                                     ".q_scale", ".k_scale", ".v_scale", ".prob_scale"})
    if (name.ends_with(end)) return true;
  return false;
}

}  // namespace paceline
