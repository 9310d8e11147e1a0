#ifndef MUSTER_BASE_PROCESS_PROCESS_MARK_H_
#define MUSTER_BASE_PROCESS_PROCESS_MARK_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

// A mark is inherited by all descendants of a process, so that they can be found after it has
// ended.
//
// It must be present at every moment of their lives, even in the middle of execve, and no ordinary
// action may remove it: a second fork, a session of one's own (setsid), an emptied environment. It
// must also outlive the process that searches for it, since a pod's process continues while its
// LocalNodes is restarted. So a mark is a number in a resource limit that Linux keeps but no longer
// enforces (the soft RLIMIT_LOCKS; the hard one stays): the kernel copies limits at fork before the
// child becomes visible, keeps them at execve, and shows them in /proc for any process.
//
// The alternatives, and why none suffices alone:
// - The environment is not readable during an execve, and `env -i` empties it. It is checked too,
//   for processes that were started without the limit or have set it themselves.
// - The chain of parents breaks at the first parent that ends, and descendants are searched for
//   after the first process has ended. A subreaper would become their parent, but the one in
//   LocalNodes ends with it, and it could not tell the orphans of one pod from those of another.
// - A cgroup, or a PID namespace like a container's, needs privileges that a user's machine rarely
//   grants.
// - A process leaves its group and its session with setsid.
//
// Pids are reused, so a caller opens a pidfd first and checks the mark afterwards.

namespace muster {

uint64_t MarkNumber(const std::string& mark);

// Called in a child between fork and exec: makes a system call only. If the hard limit is lower
// than the number, only the environment carries the mark.
void TakeMark(uint64_t number);

// Returns true if `pid` has the mark, in its limit or in an entry of its environment; false if it
// is gone.
bool HasMark(pid_t pid, const std::string& mark);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PROCESS_MARK_H_
