// What servers before this one counted: sums in a file, to which each adds what it counted.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstddef>
#include <mutex>
#include <string>

#include "server/history.h"

namespace paceline {

// May be used by several threads.
class AllTime {
 public:
  // file: "": nothing is kept. One that cannot be read counts as empty.
  explicit AllTime(std::string file);
  // Adds what was counted since the last writing.
  ~AllTime();
  AllTime(const AllTime&) = delete;
  AllTime& operator=(const AllTime&) = delete;

  // What this server has counted; written down once a minute.
  void note(const HistorySample& sample);
  // Sums of all others, by the names of their columns.
  [[nodiscard]] boost::json::object before() const;

 private:
  static constexpr std::array kSummed{kRequests, kPromptTokens, kCachedTokens, kOutputTokens,
                                      kRounds,   kDrafted,      kAccepted};
  using Sums = std::array<double, kSummed.size()>;
  [[nodiscard]] Sums read_file() const;
  void write_down();

  std::string file_;
  mutable std::mutex mutex_;
  Sums others_{}, counted_{}, written_{};
  double written_at_ = 0;
};

}  // namespace paceline
