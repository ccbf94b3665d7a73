// Any bytes as a config.json with a quantisation in it, whole or as the quantisation alone: an error that says
// something, or numbers that the readers can take.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "weights/quantised/declared.h"

namespace {

void read(const boost::json::object& config) {
  const auto declared = paceline::read_quantization(paceline::JsonFields(config, "config.json"));
  if (!declared.ok()) {
    CHECK(!declared.error().message.empty());
    return;
  }
  CHECK(declared->bits == 0 || declared->bits == 4 || declared->bits == 8);
  CHECK(declared->group >= 0);
  CHECK((declared->method == paceline::QuantMethod::none) == declared->format.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto document = paceline::parse_json_object(text, "config.json");
  if (!document.ok()) return 0;
  read(*document);
  read({{"quantization_config", *document}});
  return 0;
}
