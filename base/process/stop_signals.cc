#include "base/process/stop_signals.h"

#include <pthread.h>
#include <sys/signalfd.h>

namespace muster {

StopSignals::StopSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

int StopSignals::Wait() const {
  int number = 0;
  while (sigwait(&set_, &number) != 0) {
  }
  return number;
}

bool StopSignals::Take() const {
  const timespec none = {0, 0};
  return sigtimedwait(&set_, nullptr, &none) > 0;
}

int StopSignals::NewDescriptor() const { return signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK); }

}  // namespace muster
