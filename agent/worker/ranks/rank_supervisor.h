#ifndef MUSTER_AGENT_WORKER_RANKS_RANK_SUPERVISOR_H_
#define MUSTER_AGENT_WORKER_RANKS_RANK_SUPERVISOR_H_

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/core/worker_event.h"
#include "agent/worker/ranks/rank_end.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/process/process.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::agent {

// The processes of a worker's local ranks: launches them in process groups of their own, carries
// messages over their links, captures their output, and reports their ends. When a rank ends, the
// rest of its process group is killed before the end is reported.
//
// Single-threaded: the kernel kills every rank when the thread that launched it ends. Nothing
// blocks.
class RankSupervisor {
 public:
  struct Options {
    int ranks = 1;
    // The directory of rank-<local rank>.log; if empty, output is only shown.
    std::string log_directory;
    size_t max_log_bytes = size_t{16} << 20;
    std::function<void(std::string_view)> show;
    // A private folder for the sockets and error files of commands; if empty, commands get none.
    std::string socket_directory;
  };
  struct Program {
    std::vector<std::string> argv;
    std::vector<std::string> env;
    std::string cwd;
    // As in ProcessSpec.
    std::vector<int> cpus;
    // True for the built-in trainer, whose end of the link is descriptor 3. A command gets the path
    // of a socket in MUSTER_AGENT_SOCKET instead, and of a file for its exception in
    // TORCHELASTIC_ERROR_FILE, which it may use or not.
    bool link = true;
    // The rank named in its log lines.
    int rank = 0;
  };

  // `launcher`, `files` and `clock` must outlive it.
  RankSupervisor(Options options, ProcessLauncher& launcher, Files& files, const Clock& clock);
  ~RankSupervisor();  // kills running processes

  // `local_rank` must have no process.
  absl::Status Launch(int local_rank, int generation, const Program& program);
  void Kill(int local_rank, int generation, int signal);
  void Send(int local_rank, const v1alpha1::ToTrainer& message);
  // Returns true if `pid` is a rank's process whose end has not been reported yet.
  bool Owns(pid_t pid) const;

  // Adds the descriptors to poll before the next Collect.
  void AddPollFds(std::vector<pollfd>* fds) const;
  // Returns all events since the last call, in order for each rank.
  std::vector<Event> Collect();

 private:
  class Rank;
  std::vector<std::unique_ptr<Rank>> ranks_;
  OomKills oom_kills_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_RANK_SUPERVISOR_H_
