#include "bench/target.h"

#include <fmt/format.h>

#include "session/model_path.h"

namespace paceline {
namespace {

Result<BenchTarget> make_random_target(const RandomModel& random, ThreadPool& pool, const TargetNews& news) {
  const WeightFormat format = synthetic_format(random).format;
  BenchTarget target;
  const bool grouped = format == WeightFormat::q8 || format == WeightFormat::q4;
  target.name =
      fmt::format("{} {}{}", random.shape, random.format, grouped ? fmt::format(" (groups of {})", random.group) : "");
  TRY_ASSIGN(target.weights, make_random_weights(random, pool, news.tell));
  return target;
}

}  // namespace

Result<BenchTarget> load_bench_target(const BenchSource& source, Machine& machine, const TargetNews& news) {
  BenchTarget target;
  if (source.random.shape.empty()) {
    TRY_ASSIGN(target.folder, find_model(source.model));
    TRY_ASSIGN(target.text, load_text_model(target.folder, machine.pool()));
    target.weights = target.text->loaded.weights;
    target.name = target.folder.string();
  } else {
    TRY_ASSIGN(target, make_random_target(source.random, machine.pool(), news));
  }
  TRY(target.weights->check(machine.ops().limits()));
  target.weights = target.weights->placed_for(machine.ops(), [&](size_t done, size_t total) {
    if (news.arranging) news.arranging(static_cast<int64_t>(done), static_cast<int64_t>(total));
    return true;
  });
  return target;
}

}  // namespace paceline
