#ifndef MUSTER_AGENT_WORKER_WORKER_AGENT_H_
#define MUSTER_AGENT_WORKER_WORKER_AGENT_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/worker_event.h"
#include "agent/core/worker_machine.h"
#include "agent/core/worker_settings.h"
#include "agent/hardware/reading.h"
#include "agent/replicas/replica_exchange.h"
#include "agent/worker/ranks/copies_folder.h"
#include "agent/worker/ranks/rank_environment.h"
#include "agent/worker/ranks/rank_supervisor.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/process/process.h"

namespace muster::agent {

// The machine's hardware from which ranks that compute on GPUs get their device and CPUs; empty for
// workers without GPUs.
struct WorkerHardware {
  GpuDevices gpus;
  std::vector<NumaReading> numa_nodes;
  std::vector<int> cpus;  // those on which the worker may run
};

struct WorkerAgentOptions {
  WorkerConfig config;
  CoordinatorClientOptions coordinator;
  std::string trainer_path;
  std::string log_directory;
  size_t max_log_bytes = size_t{16} << 20;
  // As in RankSupervisor::Options.
  std::string socket_directory;
  // The folder of a memory file system below which ranks keep copies of their state.
  std::string memory_directory = "/dev/shm";
  // A signalfd for SIGTERM and SIGINT; -1 if signals are not handled.
  int signal_fd = -1;
  Environment environment;
  // The number of GPUs on which a trainer's ranks compute, and the library by which they are found.
  int gpus = 0;
  std::string nvml;
  WorkerHardware hardware;
  // Receives the ranks' lines, with their prefix.
  std::function<void(std::string_view)> show;
};

// The worker agent: feeds events to the worker machine and carries out its actions.
// Single-threaded: one thread, which must live as long as the object, calls RunOnce until it
// returns an exit code.
class WorkerAgent {
 public:
  // `clock`, `launcher` and `files` must outlive it.
  WorkerAgent(WorkerAgentOptions options, const Clock& clock, ProcessLauncher& launcher,
              Files& files);

  // Waits at most `wait` for events and handles all of them. Returns the exit code once no rank is
  // left and the last report is sent.
  std::optional<int> RunOnce(absl::Duration wait);

  const WorkerMachine& machine() const { return machine_; }
  // See WorkerMachine.
  std::vector<v1alpha1::AgentMessage> TakeUnsent() { return machine_.TakeUnsent(); }

 private:
  void WaitForEvents(absl::Duration wait);
  void TakeSignals();
  void ReapStrays();
  void Handle(const Event& event);

  void Do(const LaunchRank& launch);
  void Do(const KillRank& kill);
  void Do(const SendToRank& send);
  void Do(const SendToOperator& send);
  void Do(const ReservePort& reserve);
  void Do(const ServeReplicas& serve);
  void Do(const KeepOnDisk& keep);
  void Do(const RemoveFromDisk&);
  void Do(const ReplicateTo& replicate);
  void Do(const FetchReplicas& fetch);
  void Do(const Redial& redial);
  void Do(const ExitAgent& exit);

  void AddHints(const RankPlacement& at, Environment& env) const;
  absl::StatusOr<RankSupervisor::Program> ProgramOf(const RankPlacement& placement) const;
  absl::Status GiveGpu(const RankPlacement& placement, Environment& env,
                       RankSupervisor::Program& program) const;
  void ReleasePort();
  bool MakeCopiesFolder();
  // Passes on a certificate that is new.
  void GiveKeys();

  const WorkerAgentOptions options_;
  const Clock& clock_;
  Files& files_;
  CopiesFolder copies_;
  WorkerMachine machine_;
  RankSupervisor supervisor_;
  CoordinatorClient client_;
  // Null unless the job's copies have replicas, or are kept on disk, too. Ends before the folder of
  // the copies.
  std::unique_ptr<ReplicaExchange> replicas_;
  int given_certificates_ = 0;
  // Events that occurred while an action was carried out.
  std::deque<Event> pending_;
  // Holds the port promised to the user's rendezvous store until that store is launched.
  int port_fd_ = -1;
  std::optional<int> exit_code_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_WORKER_AGENT_H_
