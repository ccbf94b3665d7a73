#include "cli/interrupt.h"

namespace paceline {
namespace {

// The one mutable global of the program: a signal handler can reach nothing else.
volatile std::sig_atomic_t interrupt_seen = 0;

void on_interrupt(int) { interrupt_seen = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  // One shot: the second signal does what it always did. Without SA_RESTART, a read from a terminal ends too.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

HeldInterrupts::HeldInterrupts() {
  forget_interrupts();
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, &before_);
}

HeldInterrupts::~HeldInterrupts() {
  sigaction(SIGINT, &before_, nullptr);
  forget_interrupts();
}

void forget_interrupts() { interrupt_seen = 0; }

bool interrupted() { return interrupt_seen != 0; }

}  // namespace paceline
