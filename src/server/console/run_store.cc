#include "server/console/run_store.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <sstream>

#include "base/replaced_file.h"

namespace paceline {
namespace {

namespace json = boost::json;

// Nothing else that somebody may have put there.
bool is_run(const json::value& value) {
  const json::object* run = value.if_object();
  if (run == nullptr) return false;
  const json::value *id = run->if_contains("id"), *began = run->if_contains("began");
  return id != nullptr && id->is_string() && began != nullptr && began->is_number();
}

double began_at(const json::value& run) { return run.at("began").to_number<double>(); }

template <class Runs>
auto* place_of(std::string_view id, Runs& runs) {
  return std::find_if(runs.begin(), runs.end(),
                      [&](const json::value& run) { return std::string_view(run.at("id").get_string()) == id; });
}

}  // namespace

RunStore::RunStore(std::string file) : file_(std::move(file)) { take_file(); }

// Another server may have added to it.
void RunStore::take_file() {
  if (file_.empty()) return;
  std::ifstream stream(file_, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  boost::system::error_code failed;
  const json::value read = json::parse(text.str(), failed);
  if (failed || !read.is_array()) return;
  for (const json::value& run : read.get_array()) {
    if (is_run(run) && find(run.at("id").get_string()) == nullptr) runs_.push_back(run);
  }
  std::stable_sort(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) { return began_at(a) > began_at(b); });
  if (runs_.size() > kMost) runs_.resize(kMost);
}

// Where it cannot be written, memory has to do.
void RunStore::write_file() const {
  if (file_.empty()) return;
  (void)replace_file(file_, json::serialize(runs_));
}

void RunStore::add(json::object run) {
  take_file();
  runs_.insert(runs_.begin(), std::move(run));
  if (runs_.size() > kMost) runs_.resize(kMost);
  write_file();
}

bool RunStore::remove(std::string_view id) {
  take_file();
  const auto* found = place_of(id, runs_);
  if (found == runs_.end()) return false;
  runs_.erase(found);
  write_file();
  return true;
}

const json::object* RunStore::find(std::string_view id) const {
  const auto* found = place_of(id, runs_);
  return found != runs_.end() ? &found->get_object() : nullptr;
}

}  // namespace paceline
