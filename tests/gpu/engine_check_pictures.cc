// Pictures on the device: soft tokens against the processor's, together and alone.
#include <random>
#include <vector>

#include "engine_check.h"
#include "model/load.h"
#include "model/vision/vision_forward.h"

namespace paceline::gpu {
namespace {

Patches random_patches(const VisionConfig& config, int32_t columns, int32_t rows, std::mt19937_64& random) {
  Patches patches;
  patches.side = config.side();
  patches.columns = columns;
  patches.rows = rows;
  patches.tokens = columns * rows;
  if (config.kind == VisionKind::tower) patches.tokens /= config.shape.pool * config.shape.pool;
  patches.values.resize(static_cast<size_t>(patches.count()) * patches.patch_values());
  for (uint8_t& value : patches.values) value = static_cast<uint8_t>(random());
  return patches;
}

}  // namespace

void check_pictures(Machine& m, Checks& checks, const std::filesystem::path& folder) {
  const LoadedModel model = must(load_model(folder, m.pool));
  const auto weights = must(load_vision_weights(model.checkpoint, model.config.hidden, m.pool));
  kernels::CpuOps cpu(*must(kernels::default_cpu_table()), m.pool);
  std::mt19937_64 random(3);
  const Patches all[] = {random_patches(weights->config, 12, 9, random), random_patches(weights->config, 3, 3, random),
                         random_patches(weights->config, 6, 15, random),
                         random_patches(weights->config, 48, 36, random)};  // more than one block of rows
  const std::vector<const Patches*> together{&all[0], &all[1], &all[2], &all[3]};
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    VisionForward device(weights, *m.ops, precision), host(weights, cpu, precision);
    const auto got = device.run(together), want = host.run(together);
    for (size_t i = 0; i < together.size(); ++i) {
      const double off = distance(got[i], want[i]);
      const std::string name =
          folder.string() + (precision == Precision::f32 ? " f32" : " bf16") + " picture " + std::to_string(i);
      std::printf("%s: %zu soft tokens, off by %.2e\n", name.c_str(),
                  got[i].size() / static_cast<size_t>(weights->text_hidden), off);
      checks.expect(off < (precision == Precision::f32 ? 2e-4 : 2e-2), name);
      checks.expect(device.run(std::vector<const Patches*>{together[i]})[0] == got[i], name + ", alone");
    }
  }
  expect_fine(m, checks, folder.string());
}

}  // namespace paceline::gpu
