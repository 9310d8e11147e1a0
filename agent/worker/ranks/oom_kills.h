#ifndef MUSTER_AGENT_WORKER_RANKS_OOM_KILLS_H_
#define MUSTER_AGENT_WORKER_RANKS_OOM_KILLS_H_

#include <cstdint>
#include <string>

namespace muster::agent {

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

#endif  // MUSTER_AGENT_WORKER_RANKS_OOM_KILLS_H_
