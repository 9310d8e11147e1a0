#ifndef MUSTER_AGENT_WORKER_RANKS_RANK_END_H_
#define MUSTER_AGENT_WORKER_RANKS_RANK_END_H_

#include <cstdint>
#include <string>
#include <string_view>

// Tells why a rank's process ended, as far as its exit status does not.
namespace muster::agent {

// The file that torchrun names in TORCHELASTIC_ERROR_FILE: a script whose main function has
// torch.distributed.elastic's @record writes its uncaught exception there, as
// {"message": {"message": "ValueError: ...", "extraInfo": {...}}}, or with a plain string as the
// outer message. Both functions take whatever a script may have left there.

// Returns the exception, as one line of at most 500 bytes; empty if `text` has none.
std::string ExceptionOf(std::string_view text);

// Returns the exception in the file at `path`; empty if the file has none or cannot be read. Never
// blocks, and does not follow a symbolic link, because a script may have put anything there.
std::string ReadErrorFile(const std::string& path);

// Tells a rank that the kernel killed for want of memory from one that somebody else killed. The
// kernel counts its kills in the container's cgroup before it sends SIGKILL. kubelet reports only
// the end of a whole container, and the agent outlives its ranks. Outside of a container, and where
// the count cannot be read, there are no kills. Not thread-safe.
class OomKills {
 public:
  // `cgroup` is the folder in which the container sees its own cgroup.
  explicit OomKills(std::string cgroup = "/sys/fs/cgroup");

  // Returns true if there were kills since the last call, or since this was made.
  bool Advanced();

 private:
  int64_t Read() const;

  const std::string cgroup_;
  int64_t seen_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_RANK_END_H_
