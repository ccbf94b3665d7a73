// What a build without the server says of measuring one.
#include <boost/json/object.hpp>

#include "bench/serve_bench.h"

namespace paceline {

Result<ServeReport> bench_serving(const ServeBenchSettings& /*settings*/) {
  return Error{"this program was built without the server: configure with -DPACELINE_SERVER=ON"};
}

int64_t ServeReport::failed() const { return 0; }
std::string serve_table(const ServeReport& /*report*/) { return ""; }
boost::json::object serve_json(const ServeReport& /*report*/) { return {}; }
std::string plot_serving(const ServeReport& /*report*/) { return ""; }

}  // namespace paceline
