#include "server/console/all_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/replaced_file.h"

namespace paceline {

namespace json = boost::json;

AllTime::AllTime(std::string file, std::function<void(const std::string&)> tell)
    : file_(std::move(file)), tell_(std::move(tell)) {
  const auto found = read_file();
  if (!found) this->tell(fmt::format("{}: expected sums as JSON; totals begin with nothing", file_));
  others_ = found.value_or(Sums{});
}

AllTime::~AllTime() { write_down(); }

void AllTime::tell(const std::string& what) const {
  if (tell_) tell_(what);
}

std::optional<AllTime::Sums> AllTime::read_file() const {
  Sums made{};
  std::error_code error;
  if (file_.empty() || !std::filesystem::exists(file_, error)) return made;
  std::ifstream stream(file_, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  boost::system::error_code failed;
  const json::value read = json::parse(text.str(), failed);
  if (failed || !read.is_object()) return std::nullopt;
  for (size_t i = 0; i < made.size(); ++i) {
    const json::value* found = read.get_object().if_contains(history_column_name(kSummed[i]));
    const double sum = found != nullptr && found->is_number() ? found->to_number<double>() : 0;
    made[i] = std::isfinite(sum) && sum > 0 ? sum : 0;
  }
  return made;
}

void AllTime::note(const HistorySample& sample) {
  constexpr double kBetween_s = 60;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < kSummed.size(); ++i) counted_[i] = sample[kSummed[i]];
  if (sample[kTime] - written_at_ < kBetween_s) return;
  written_at_ = sample[kTime];
  write_down();
}

// Another server may have added to it meanwhile.
void AllTime::write_down() {
  if (file_.empty() || counted_ == written_) return;
  const Sums found = read_file().value_or(Sums{});
  json::object sums;
  for (size_t i = 0; i < kSummed.size(); ++i) {
    others_[i] = found[i] - written_[i];
    sums[history_column_name(kSummed[i])] = others_[i] + counted_[i];
  }
  const Status written = replace_file(file_, json::serialize(sums));
  if (written.ok()) written_ = counted_;
  if (!written.ok() && could_write_) tell(fmt::format("totals are not kept: {}", written.error().message));
  could_write_ = written.ok();
}

json::object AllTime::before() const {
  const std::lock_guard lock(mutex_);
  json::object made;
  for (size_t i = 0; i < kSummed.size(); ++i) made[history_column_name(kSummed[i])] = std::max(others_[i], 0.0);
  return made;
}

}  // namespace paceline
