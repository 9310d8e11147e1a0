#ifndef MUSTER_CLI_FLAGS_INTERRUPTS_H_
#define MUSTER_CLI_FLAGS_INTERRUPTS_H_

namespace muster::cli {

// Takes SIGINT (Ctrl-C), SIGTERM and SIGHUP from here on: they no longer end this process, but are
// counted; hang-ups as one, and only if nothing came before. A SIGHUP that is ignored, as under
// nohup, stays ignored.
void CountInterrupts();

// Returns how many there have been.
int Interrupts();

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_INTERRUPTS_H_
