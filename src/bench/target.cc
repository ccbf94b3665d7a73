#include "bench/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units_text.h"
#include "model/gemma4/synthetic.h"
#include "model/qwen/synthetic.h"
#include "session/model_path.h"

namespace paceline {
namespace {

bool is_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<BenchTarget> make_synthetic_target(const BenchSource& source, ThreadPool& pool, const TargetNews& news) {
  const SyntheticFormat format = synthetic_format(source);
  const auto tell = [&](size_t bytes) {
    if (news.tell) news.tell(fmt::format("making {} of random weights", bytes_text(static_cast<double>(bytes))));
  };
  BenchTarget target;
  const bool grouped = format.format == WeightFormat::q8 || format.format == WeightFormat::q4;
  target.name = fmt::format("{} {}{}", source.synthetic, source.format,
                            grouped ? fmt::format(" (groups of {})", source.group) : "");
  if (is_one_of(source.synthetic, qwen::synthetic_names())) {
    TRY_ASSIGN(const qwen::QwenConfig config, qwen::synthetic_config(source.synthetic));
    tell(qwen::synthetic_bytes(config, format));
    target.weights = qwen::make_synthetic(config, format, pool);
    return target;
  }
  if (!is_one_of(source.synthetic, synthetic_names()))
    return Error{fmt::format("no synthetic model is called '{}': expected one of {}", source.synthetic,
                             fmt::join(synthetic_shapes(), ", "))};
  TRY_ASSIGN(const Gemma4Config config, synthetic_config(source.synthetic));
  tell(synthetic_bytes(config, format));
  target.weights = make_synthetic(config, format, pool);
  return target;
}

}  // namespace

std::vector<std::string_view> synthetic_shapes() {
  std::vector<std::string_view> all = synthetic_names();
  all.insert(all.end(), qwen::synthetic_names().begin(), qwen::synthetic_names().end());
  return all;
}

SyntheticFormat synthetic_format(const BenchSource& source) {
  SyntheticFormat format;
  format.group = source.group;
  for (const SyntheticFormatName& known : kSyntheticFormats) {
    if (source.format != known.name) continue;
    format.format = known.format;
    format.wide = known.wide;
  }
  return format;
}

Result<BenchTarget> load_bench_target(const BenchSource& source, Machine& machine, const TargetNews& news) {
  BenchTarget target;
  if (source.synthetic.empty()) {
    TRY_ASSIGN(target.folder, find_model(source.model));
    TRY_ASSIGN(target.text, load_text_model(target.folder, machine.pool()));
    target.weights = target.text->loaded.weights;
    target.name = target.folder.string();
  } else {
    TRY_ASSIGN(target, make_synthetic_target(source, machine.pool(), news));
  }
  TRY(target.weights->check(machine.ops().limits()));
  target.weights = target.weights->placed_for(machine.ops(), [&](size_t done, size_t total) {
    if (news.arranging) news.arranging(static_cast<int64_t>(done), static_cast<int64_t>(total));
  });
  return target;
}

}  // namespace paceline
