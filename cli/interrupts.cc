#include "cli/interrupts.h"

#include <csignal>

namespace muster::cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void OnInterrupt(int) { interrupts = interrupts + 1; }

}  // namespace

void CountInterrupts() {
  std::signal(SIGINT, &OnInterrupt);
  std::signal(SIGTERM, &OnInterrupt);
}

int Interrupts() { return interrupts; }

}  // namespace muster::cli
