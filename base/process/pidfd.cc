#include "base/process/pidfd.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster {

int PidfdOpen(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

int PidfdSignal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

bool HasEnded(int pidfd) {
  pollfd fd = {pidfd, POLLIN, 0};
  return poll(&fd, 1, 0) > 0;
}

}  // namespace muster
