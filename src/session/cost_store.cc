#include "session/cost_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/folder_entries.h"
#include "base/regular_file.h"
#include "base/replaced_file.h"
#include "weights/json_fields.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr int kFormat = 1;
// What another run found is believed, but the first rounds may still correct it.
constexpr int32_t kMostSamples = 8;
constexpr double kMostMs = 1e7;

json::array curve_json(const CostCurve& curve) {
  json::array points;
  for (int32_t count = 0; count < CostCurve::kCounts; ++count) {
    if (curve.samples(count) > 0) points.push_back(json::array{count, curve.timed_ms(count), curve.samples(count)});
  }
  return points;
}

bool is_number(const json::value& value, double least, double most) {
  if (!value.is_number()) return false;
  const auto number = value.to_number<double>();
  return std::isfinite(number) && number >= least && number <= most;
}

bool read_curve(const json::value* value, CostCurve& curve) {
  if (value == nullptr || !value->is_array()) return false;
  for (const json::value& point : value->get_array()) {
    if (!point.is_array() || point.get_array().size() != 3) return false;
    const json::array& fields = point.get_array();
    if (!is_number(fields[0], 0, CostCurve::kCounts - 1) || !is_number(fields[1], 0, kMostMs)) return false;
    if (!is_number(fields[2], 1, 1e9)) return false;
    const auto samples = static_cast<int32_t>(fields[2].to_number<double>());
    curve.set(static_cast<int32_t>(fields[0].to_number<double>()), fields[1].to_number<double>(),
              std::min(samples, kMostSamples));
  }
  return true;
}

bool read_typical(const json::value* value, Survival& typical) {
  if (value == nullptr || !value->is_array()) return false;
  const json::array& fields = value->get_array();
  Survival::Positions positions;
  if (fields.size() != 1 + positions.size() || !is_number(fields[0], 0, 1)) return false;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (!fields[i + 1].is_array() || fields[i + 1].get_array().size() != 2) return false;
    const json::array& pair = fields[i + 1].get_array();
    if (!is_number(pair[1], 0, 1e6) || !is_number(pair[0], 0, pair[1].to_number<double>())) return false;
    positions[i] = {pair[0].to_number<double>(), pair[1].to_number<double>()};
  }
  typical.restore(fields[0].to_number<double>(), positions);
  return true;
}

bool read_costs(const json::object& object, StepCosts& costs) {
  const json::value* contexts = object.if_contains("contexts");
  if (contexts == nullptr || !contexts->is_array()) return false;
  for (const json::value& entry : contexts->get_array()) {
    if (!entry.is_object()) return false;
    const json::object& fields = entry.get_object();
    const json::value* index = fields.if_contains("class");
    if (index == nullptr || !is_number(*index, 0, StepCosts::kContexts - 1)) return false;
    RoundCosts round;
    if (!read_curve(fields.if_contains("step"), round.step) || !read_curve(fields.if_contains("draft"), round.draft)) {
      return false;
    }
    costs.set_class(static_cast<int32_t>(index->to_number<double>()), round);
  }
  return read_typical(object.if_contains("typical"), costs.typical);
}

bool is_of(const json::object& object, const CostKey& key) {
  const auto same = [&](const char* name, const std::string& expected) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() && value->get_string() == expected;
  };
  const json::value* format = object.if_contains("format");
  return format != nullptr && *format == kFormat && same("model", key.model) && same("drafter", key.drafter) &&
         same("device", key.device) && same("build", key.build);
}

json::object json_of(const CostKey& key, const StepCosts& costs) {
  json::array contexts, typical{costs.typical.start()};
  for (int32_t i = 0; i < StepCosts::kContexts; ++i) {
    const auto& round = costs.of_class(i);
    if (round) {
      contexts.push_back({{"class", i}, {"step", curve_json(round->step)}, {"draft", curve_json(round->draft)}});
    }
  }
  for (const Survival::Position& position : costs.typical.positions()) {
    typical.push_back(json::array{position.held, position.judged});
  }
  return {{"format", kFormat},  {"model", key.model},   {"drafter", key.drafter}, {"device", key.device},
          {"build", key.build}, {"contexts", contexts}, {"typical", typical}};
}

std::string identity_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  const auto changed = fs::last_write_time(file, error);
  return error ? "" : fmt::format("{}:{}:{}", file.filename().string(), size, changed.time_since_epoch().count());
}

}  // namespace

CostStore CostStore::in_user_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return CostStore(fs::path(cache) / "paceline" / "costs");
  if (home != nullptr && *home == '/') return CostStore(fs::path(home) / ".cache" / "paceline" / "costs");
  return CostStore(fs::path());
}

Result<fs::path> CostStore::file_of(const CostKey& key) const {
  if (folder_.empty()) return Error{"no cache folder: neither XDG_CACHE_HOME nor HOME is set"};
  const std::string all = fmt::format("{}\n{}\n{}\n{}", key.model, key.drafter, key.device, key.build);
  TRY_ASSIGN(const std::string digest, sha256_hex(std::as_bytes(std::span(all))));
  return folder_ / (digest.substr(0, 32) + ".json");
}

// Too much for the stack of a small thread.
std::unique_ptr<StepCosts> CostStore::load(const CostKey& key) const {
  const auto file = file_of(key);
  if (!file.ok()) return nullptr;
  const auto text = read_file(*file, kMaxFileBytes);
  if (!text.ok()) return nullptr;
  const auto object = parse_json_object(*text, "costs");
  auto costs = std::make_unique<StepCosts>();
  if (!object.ok() || !is_of(*object, key) || !read_costs(*object, *costs)) return nullptr;
  return costs;
}

Status CostStore::save(const CostKey& key, const StepCosts& costs) const {
  TRY_ASSIGN(const fs::path file, file_of(key));
  return replace_file(file.string(), json::serialize(json_of(key, costs)) + '\n');
}

std::string checkpoint_identity(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> files;
  if (fs::is_regular_file(folder, error)) files.push_back(identity_of(folder));
  for (const fs::path& path : folder_entries(folder)) {
    if (path.extension() == ".safetensors" || path.extension() == ".gguf" || path.filename() == "config.json")
      files.push_back(identity_of(path));
  }
  std::sort(files.begin(), files.end());
  return fmt::format("{} {}", fs::weakly_canonical(folder, error).string(), fmt::join(files, " "));
}

std::string build_identity() {
  std::error_code error;
  return fmt::format("{} {}", PACELINE_VERSION, identity_of(fs::read_symlink("/proc/self/exe", error)));
}

}  // namespace paceline
