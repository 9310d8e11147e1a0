#ifndef MUSTER_CLI_INTERRUPTS_H_
#define MUSTER_CLI_INTERRUPTS_H_

namespace muster::cli {

// Takes SIGINT (Ctrl-C) and SIGTERM from here on: they no longer end this process, but are counted.
void CountInterrupts();

// Returns how many there have been.
int Interrupts();

}  // namespace muster::cli

#endif  // MUSTER_CLI_INTERRUPTS_H_
