#include "cli/flags/interrupts.h"

#include <csignal>

namespace muster::cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void OnInterrupt(int) { interrupts = interrupts + 1; }

// A terminal that goes away may send several hang-ups. They do not add up to a second Ctrl-C.
void OnHangUp(int) {
  if (interrupts == 0) interrupts = 1;
}

}  // namespace

void CountInterrupts() {
  std::signal(SIGINT, &OnInterrupt);
  std::signal(SIGTERM, &OnInterrupt);
  if (std::signal(SIGHUP, &OnHangUp) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

int Interrupts() { return interrupts; }

}  // namespace muster::cli
