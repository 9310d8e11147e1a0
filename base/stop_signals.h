#ifndef MUSTER_BASE_STOP_SIGNALS_H_
#define MUSTER_BASE_STOP_SIGNALS_H_

#include <signal.h>

namespace muster {

// SIGTERM and SIGINT, taken by one thread when it asks for them. Made first in main(), before any
// thread is started: all inherit that these are blocked. SIGPIPE is ignored from then on: a peer
// that went away is an error of the call.
class StopSignals {
 public:
  StopSignals();

  // Waits; returns the signal.
  int Wait() const;
  // Whether one has come since the last call.
  bool Take() const;
  // A new descriptor that becomes readable with one; the caller closes it. -1 with errno on error.
  int NewDescriptor() const;

 private:
  sigset_t set_;
};

}  // namespace muster

#endif  // MUSTER_BASE_STOP_SIGNALS_H_
