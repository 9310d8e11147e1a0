#ifndef MUSTER_BASE_PROCESS_STOP_SIGNALS_H_
#define MUSTER_BASE_PROCESS_STOP_SIGNALS_H_

#include <signal.h>

namespace muster {

// Receives SIGTERM and SIGINT synchronously. Construct it first in main(), before any thread is
// started, because threads inherit that these signals are blocked. It also ignores SIGPIPE: a
// closed connection becomes an error of the call.
class StopSignals {
 public:
  StopSignals();

  // Blocks until a signal arrives; returns it.
  int Wait() const;
  // Returns true if a signal has arrived since the last call.
  bool Take() const;
  // Returns a new descriptor, readable once a signal arrives, which the caller closes; -1 on error,
  // with errno.
  int NewDescriptor() const;

 private:
  sigset_t set_;
};

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_STOP_SIGNALS_H_
