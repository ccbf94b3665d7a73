// Ctrl-C asks a running generation to end at its next token; a second one ends the program at once.
#pragma once

#include <csignal>

namespace paceline {

// From here on the first SIGINT or SIGTERM only sets the flag.
void catch_interrupts();
bool interrupted();
// As if none had come.
void forget_interrupts();

// While it lives, Ctrl-C only sets the flag, however often it comes; before and behind it does what it always did.
class HeldInterrupts {
 public:
  HeldInterrupts();
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace paceline
