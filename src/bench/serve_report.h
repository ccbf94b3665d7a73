// What a load on a server came to: rates, and how long clients waited.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/load_pictures.h"
#include "bench/load_run.h"

namespace paceline {

struct Percentiles {
  double p50 = 0, p90 = 0, p99 = 0, most = 0;
};
Percentiles percentiles_of(std::vector<double> values);

// All rounds of one load, asked for in one way.
struct ServeCell {
  int32_t at_once = 0;       // 0: open
  double per_second = 0;     // open
  std::string kind;          // of texts; "": several
  int32_t prompt_words = 0;  // 0: as the mix has it
  bool speculates = false;
  std::optional<int32_t> depth;  // none: as the server chooses
  std::vector<LoadRun> rounds;

  int64_t requests = 0, failed = 0, cancelled = 0;
  std::string first_problem;
  double tokens_per_s = 0;                          // over all the time, the median round's
  double least_per_s = 0, most_per_s = 0;           // of the rounds
  double decode_per_s = 0;                          // of one stream behind its first text, the median round's
  double ratio = 0;                                 // to plain: the median of the rounds'; 0: there is no plain one
  std::vector<double> first_ms, gaps_ms, whole_ms;  // of all rounds, without those that failed or were cancelled
  double tokens_per_verify = 0, accepted_of_drafted = 0, kv_peak = 0;
  double idle = 0;  // the part of steps in which a device had nothing to do
  int32_t most_open = 0;

  // From the rounds.
  void sum_up();
  // What is asked of the server; and in which way.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string way() const;
};

struct ServeReport {
  std::string server;
  std::vector<ServeCell> cells;
  // auto ÷ plain by load: the median over rounds.
  struct Ratio {
    std::string load;
    double ratio = 0;
  };
  std::vector<Ratio> ratios;
  PrefixRun prefixes;
  PictureRun pictures;
  size_t resident_before = 0, resident_after = 0;  // bytes of a server of our own

  [[nodiscard]] int64_t failed() const;
};

std::string serve_table(const ServeReport& report);
boost::json::object serve_json(const ServeReport& report);
// Several pictures in one: the shares of requests that waited less than so long; below, rates and waits over clients.
std::string plot_serving(const ServeReport& report);
// These alone, as a part of a picture, from there on.
std::string plot_clients(const ServeReport& report, double left, double top);
// Of kinds of text: the ratio to plain over depths.
std::string plot_depths(const ServeReport& report);

}  // namespace paceline
