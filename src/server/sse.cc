#include "server/sse.h"

#include <boost/json/serialize.hpp>

namespace paceline {

void add_event(const boost::json::object& object, std::string& out) {
  out += "data: ";
  out += boost::json::serialize(object);
  out += "\n\n";
}

}  // namespace paceline
