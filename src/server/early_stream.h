// What a stream says while its model is still to come.
#pragma once

#include <cstdint>
#include <string>

namespace paceline {

struct HttpAnswer;

// Of the answer that it has begun so: whoever writes the rest goes on from there.
struct SaidEarly {
  std::string letters;  // of the answer's name, from the moment when its request came
  int64_t created = 0;
  int64_t events = 0;  // 0: nothing was said
};

class EarlyStream {
 public:
  virtual ~EarlyStream() = default;
  // That it lives.
  virtual std::string sign() = 0;
  // The model did not come.
  virtual std::string end(const HttpAnswer& instead) = 0;
};

}  // namespace paceline
