#ifndef MUSTER_BASE_PROCESS_PIDFD_H_
#define MUSTER_BASE_PROCESS_PIDFD_H_

#include <sys/types.h>

// A pidfd is a descriptor that refers to one process for as long as it is open, even if another
// process gets the pid later. The functions that return an int set errno and return -1 on an error.

namespace muster {

int PidfdOpen(pid_t pid);
int PidfdSignal(int pidfd, int signal);
// Returns true for a zombie, too.
bool HasEnded(int pidfd);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PIDFD_H_
