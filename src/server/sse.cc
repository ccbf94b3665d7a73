#include "server/sse.h"

#include <boost/json/serialize.hpp>

namespace paceline {

void add_event(const boost::json::object& object, std::string& out) {
  out += "data: ";
  out += boost::json::serialize(object);
  out += "\n\n";
}

void add_event(std::string_view name, const boost::json::object& object, std::string& out) {
  out += "event: ";
  out += name;
  out += "\n";
  add_event(object, out);
}

}  // namespace paceline
