#ifndef MUSTER_BASE_PROCESS_MARK_H_
#define MUSTER_BASE_PROCESS_MARK_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

// A mark that a process hands down to all that it starts, so that they are found when it is gone.
//
// It has to be there at every moment of their lives, also in the middle of execve, and no ordinary
// deed may shed it: a second fork, a session of one's own (setsid), an emptied environment. It has
// to survive whoever looks for it, too, since a pod's process goes on while its LocalNodes is
// started anew. So a mark is a number in a resource limit that Linux keeps and no longer applies
// (RLIMIT_LOCKS, the soft one; the hard one stays): the kernel copies limits at fork before the
// child can be seen, keeps them at execve, and shows them in /proc without asking whose process it
// is.
//
// What else would do, and why it does not alone:
// - the environment is not readable while a program is executed, and `env -i` empties it. It is
//   looked at too, for what was started without the limit or has set it itself.
// - the chain of parents ends at the first of them that ended, and it is after the first process's
//   end that its descendants are looked for. A subreaper would become their parent then, but the
//   one that LocalNodes is ends with it, and cannot tell the orphans of one pod from those of
//   another.
// - a cgroup, or a PID namespace as a container has, needs rights that a user's machine rarely
//   gives.
// - groups and sessions are what setsid leaves.
//
// Numbers of processes are used again; so a caller opens a pidfd first and asks for the mark then.

namespace muster {

uint64_t MarkNumber(const std::string& mark);

// In a child between fork and exec: only a system call. Where the hard limit is lower than the
// number, the environment has to do.
void TakeMark(uint64_t number);

// Whether `pid` has the mark, by its limit or by an entry of its environment. False when it is
// gone.
bool HasMark(pid_t pid, const std::string& mark);

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_MARK_H_
