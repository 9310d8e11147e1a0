#ifndef MUSTER_AGENT_WORKER_RANK_SUPERVISOR_H_
#define MUSTER_AGENT_WORKER_RANK_SUPERVISOR_H_

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/core/worker_event.h"
#include "base/files.h"
#include "base/process.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::agent {

// The processes of a worker's local ranks: launches them in process groups of their own, carries
// messages over their links, captures what they print, and tells when they end. When a rank ends,
// whatever is left of its process group is killed before its end is reported.
//
// Single-threaded, and the kernel kills every rank when that thread ends. Nothing blocks.
class RankSupervisor {
 public:
  struct Options {
    int ranks = 1;
    // For rank-<local rank>.log; empty: only shown.
    std::string log_directory;
    size_t max_log_bytes = size_t{16} << 20;
    std::function<void(std::string_view)> show;
  };
  struct Program {
    std::vector<std::string> argv;
    std::vector<std::string> env;
    std::string cwd;
    // The built-in trainer: its end of the link is descriptor 3.
    bool link = true;
    // For its log lines.
    int rank = 0;
  };

  RankSupervisor(Options options, ProcessLauncher& launcher, Files& files);
  ~RankSupervisor();  // kills what runs

  // `local_rank` must have no process.
  absl::Status Launch(int local_rank, int generation, const Program& program);
  void Kill(int local_rank, int generation, int signal);
  void Send(int local_rank, const v1alpha1::ToTrainer& message);
  // Whether `pid` is a rank's process whose end was not reported yet.
  bool Owns(pid_t pid) const;

  // What to wait for; then Collect.
  void AddPollFds(std::vector<pollfd>* fds) const;
  // Everything that happened since, in the order in which each rank did it.
  std::vector<Event> Collect();

 private:
  class Rank;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANK_SUPERVISOR_H_
