// What servers before this one counted: sums in a file, to which each adds what it counted.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "server/history.h"

namespace paceline {

// May be used by several threads.
class AllTime {
 public:
  // file: "": nothing is kept. One that cannot be read counts as empty. tell: hears of that, and of one that cannot be
  // written; may be empty.
  explicit AllTime(std::string file, std::function<void(const std::string&)> tell = {});
  // Adds what was counted since the last writing.
  ~AllTime();
  AllTime(const AllTime&) = delete;
  AllTime& operator=(const AllTime&) = delete;

  // What this server has counted; written down once a minute.
  void note(const HistorySample& sample);
  // Sums of all others, by the names of their columns.
  [[nodiscard]] boost::json::object before() const;

 private:
  static constexpr std::array kSummed{kRequests, kPromptTokens, kCachedTokens,      kOutputTokens, kRounds,
                                      kDrafted,  kAccepted,     kVerifyStepSeconds, kDraftSeconds};
  using Sums = std::array<double, kSummed.size()>;
  // None: it is there, and cannot be read.
  [[nodiscard]] std::optional<Sums> read_file() const;
  void tell(const std::string& what) const;
  void write_down();

  std::string file_;
  std::function<void(const std::string&)> tell_;
  mutable std::mutex mutex_;
  Sums others_{}, counted_{}, written_{};
  double written_at_ = 0;
  bool could_write_ = true;  // the last time
};

}  // namespace paceline
