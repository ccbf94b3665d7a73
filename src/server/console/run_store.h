// Measurements that have ended: the last ones, in a file where there is one, so that they outlive the server.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace paceline {

class RunStore {
 public:
  static constexpr size_t kMost = 20;

  // file: "": in memory alone. One that cannot be read counts as empty.
  explicit RunStore(std::string file);

  // run: has an id, and when it began.
  void add(boost::json::object run);
  // False: there is none.
  bool remove(std::string_view id);
  // nullptr: there is none. Until something changes.
  [[nodiscard]] const boost::json::object* find(std::string_view id) const;
  // The newest first.
  [[nodiscard]] const boost::json::array& all() const { return runs_; }

 private:
  void take_file();
  void write_file() const;

  std::string file_;
  boost::json::array runs_;
};

}  // namespace paceline
