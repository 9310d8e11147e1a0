#ifndef MUSTER_BASE_PROCESS_PROCESS_SPEC_H_
#define MUSTER_BASE_PROCESS_PROCESS_SPEC_H_

#include <string>
#include <vector>

namespace muster {

// The program that a process is started with, and what it is given.
struct ProcessSpec {
  enum class Group {
    kInherit,
    kProcessGroup,  // leads a new process group of the same session
    kSession,       // leads a new session
  };
  struct FdMapping {
    int parent = -1;
    int child = -1;
  };

  // If argv[0] has no slash, it is looked up in PATH of `env`.
  std::vector<std::string> argv;
  // The whole environment, as NAME=VALUE.
  std::vector<std::string> env;
  std::string cwd;
  // The child gets these descriptors, stdin from /dev/null and this process's stdout and stderr
  // unless they are mapped; every other descriptor is closed.
  std::vector<FdMapping> fds;
  Group group = Group::kInherit;
  // The CPUs on which it runs, of those that this process may use; empty: all of these. A wish: it
  // starts also where none of them can be had.
  std::vector<int> cpus;
  // The kernel kills the child (SIGKILL) when the *thread* that launched it ends, so launch it from
  // a thread that lives as long as the process.
  bool die_with_parent = false;
  // NAME=VALUE, preferably an entry of `env`, too. It identifies the process and its descendants
  // after the process has ended (process_mark.h).
  std::string mark;
};

}  // namespace muster

#endif  // MUSTER_BASE_PROCESS_PROCESS_SPEC_H_
