// Stands at the server's port while the models of the start are still being loaded: /health answers at once; everything
// else, /ready too, hears 503 and when to come again.
#pragma once

#include <memory>

#include "server/settings.h"

namespace paceline {

class Doorman {
 public:
  // None where nobody can listen there, or the port is not known yet: the server will say so itself.
  static std::unique_ptr<Doorman> start(const ServerSettings& settings);
  // Gives the port back.
  ~Doorman();
  Doorman(const Doorman&) = delete;
  Doorman& operator=(const Doorman&) = delete;

 private:
  class Parts;
  explicit Doorman(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace paceline
