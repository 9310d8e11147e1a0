#ifndef MUSTER_TESTS_SIMULATION_FLEET_H_
#define MUSTER_TESTS_SIMULATION_FLEET_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/core/testing/sim_agent.h"
#include "operator/kube/api.h"
#include "tests/simulation/promises.h"

namespace muster::control {

// The operator processes that agents can dial.
class Coordinators {
 public:
  virtual ~Coordinators() = default;
  virtual int count() const = 0;
  // Null while the process does not run.
  virtual AgentRegistry* RegistryOf(int number) = 0;
  // An id of the process that runs there now, which changes with a restart. A stream ends with its
  // process.
  virtual int64_t process(int number) const = 0;
};

// An agent's end of a stream: messages that the registry has sent and the agent has not read yet.
struct SimStream final : AgentStream {
  // Runs before and after a message is sent; an error keeps it from being sent.
  using Gate = std::function<absl::Status(const v1alpha1::OperatorMessage& message, bool before)>;

  absl::Status Send(EncodedMessage message) override {
    if (closed) return absl::UnavailableError("the stream is closed");
    v1alpha1::OperatorMessage decoded;
    decoded.ParseFromString(*message);
    if (absl::Status refused = gate(decoded, true); !refused.ok()) return refused;
    inbox.push_back(decoded);
    return gate(decoded, false);
  }
  void Close(const absl::Status&) override { closed = true; }

  Gate gate = [](const v1alpha1::OperatorMessage&, bool) { return absl::OkStatus(); };
  std::deque<v1alpha1::OperatorMessage> inbox;
  bool closed = false;
};

// A pod as the kubelet of its node last saw it.
struct KubeletPod {
  Json object;
  std::string uid;
  std::string node;  // empty: not bound
  bool terminating = false;
  bool ended = false;  // Succeeded or Failed
};

// A pod and the agent that runs in it (null once the agent was killed).
struct SimWorker {
  std::string job_uid;
  std::string job;
  std::string pod;
  std::string node;
  std::unique_ptr<SimAgent> agent;

  int host = -1;  // the operator process it is attached to; -1: none
  int64_t process = 0;
  uint64_t attachment = 0;
  std::shared_ptr<SimStream> stream;
  absl::Time heard;  // when the other end of the stream was last reachable
  absl::Time dial_at = absl::InfinitePast();
  absl::Time beat_at = absl::InfinitePast();
  // The newest reports sent on this stream. A stall or an exit is reported only once, over any
  // stream.
  RoundStamp told_ready;
  RoundStamp told_joined;
  RoundStamp told_finished;
  size_t told_stalls = 0;
  size_t told_exits = 0;

  // From its last Prepare; 0 steps mean that the job runs a command.
  int64_t steps = 0;
  int64_t copy_every = 0;  // 0: no copies in memory
  bool save_wanted = false;
  absl::Duration work;                            // of rank 0's round towards its next step
  absl::Time whole_until = absl::InfinitePast();  // when its round was last whole
  // The newest copy of the state in the agent's memory, which survives its ranks.
  std::optional<v1alpha1::StateCopy> copy;
  // The phase times of steps, and the checkpoints, that rank 0 has not reported yet.
  v1alpha1::PhaseTimes times;
  std::vector<v1alpha1::CheckpointReport> saved;

  // Faults: no operator is in reach before `cut_until`, and its ranks stand still before
  // `stopped_until`.
  absl::Time cut_until = absl::InfinitePast();
  absl::Time stopped_since = absl::InfiniteFuture();
  absl::Time stopped_until = absl::InfinitePast();
};

// A checkpoint that is being written.
struct SimSave {
  std::string job_uid;
  absl::Time ready_at;
  v1alpha1::CheckpointReport report;
};

// The steps of a job's own command, over all of its processes.
struct SimCommand {
  int64_t done = 0;
  int64_t saved = 0;
};

// Simulates nodes, agents and ranks on virtual time, over any Api: a kubelet that starts bound
// pods, agents that find the leader among the coordinators and obey it as the real agent does, and
// ranks that step and save while their whole round is present. Reports what happens to `promises`.
class Fleet {
 public:
  // An agent leaves a stream that was silent for this long: half a lease.
  static constexpr absl::Duration kSilence = absl::Milliseconds(7500);
  // An agent kills a rank that stood still for this long, the default of elastic.rankDeadline.
  static constexpr absl::Duration kRankDeadline = absl::Seconds(10);

  Fleet(kube::Api& api, const Clock& clock, Coordinators& coordinators, Promises& promises,
        uint64_t seed)
      : api_(api), clock_(clock), coordinators_(coordinators), promises_(promises), random_(seed) {}

  void RunOnce();

  // The agent of the newest pod of worker `index`; null if none runs.
  SimAgent* Agent(const std::string& job_uid, int index);
  // Kills that agent's process, so that its pod fails.
  void KillAgent(const std::string& job_uid, int index);
  // The largest number of the job's agents that are running in the same round.
  int Training(const std::string& job_uid) const;
  int64_t steps_done() const { return steps_done_; }
  // Sets the number of tokens that rank 0 of each job reports once a second, as trained since its
  // last report. By default it reports none, and the speed is unknown.
  void SetTokensPerReport(int64_t tokens) { tokens_per_report_ = tokens; }
  // Sets the share of each second, 0 to 1, for which rank 0 reports the ranks as busy, by the
  // number of workers that train. It is reported only together with tokens.
  void SetUse(std::function<double(int workers)> use) { use_ = std::move(use); }
  // Makes commands run `steps` steps, report each with that total, and save as jobs with a trainer
  // do. By default commands report no steps, and lose none when they resume.
  void SetReportedCommandSteps(int64_t steps) { reported_command_steps_ = steps; }
  // Sets the bounds of the random time that bound pods take to start.
  void SetStartUp(absl::Duration least, absl::Duration most) { start_up_ = {least, most}; }
  // Sets how long a save takes, during which training goes on; zero by default.
  void SetSaveTime(absl::Duration length) { save_time_ = length; }
  // Sets the time of a step with one worker; with w workers it takes 1/w of that, but at least a
  // tick. By default every round makes a step per tick.
  void SetWork(absl::Duration per_step) { work_per_step_ = per_step; }
  // Sets how long a round takes to join, and how long with a checkpoint to load; zero by default.
  void SetJoinTime(absl::Duration join, absl::Duration load) {
    join_time_ = join;
    load_time_ = load;
  }
  // Sets how late the rest of a round notices that a member has vanished; zero by default.
  void SetNoticeOfLoss(absl::Duration length) { notice_of_loss_ = length; }
  // Sets the number of steps between saves; 20 by default.
  void SetSaveEvery(int64_t steps) { save_every_ = steps; }
  // Makes storage refuse writes for `length`: saves in progress fail, and others are held back.
  void LoseStorage(absl::Duration length) { storage_away_until_ = now() + length; }
  // Ends all cuts, and the loss of storage.
  void Mend();
  int64_t saves_done() const { return saves_done_; }
  // The number of checkpoints that are being written.
  size_t saves_underway() const { return saving_.size(); }
  // `hook` runs before and after the operator process at that number sends an order to an agent:
  // "Prepare", "Go", "Stop" or "Save". It may kill the process, which then sends nothing more.
  using OrderHook = std::function<void(int host, const std::string& order, bool before)>;
  void SetOrderHook(OrderHook hook) { order_hook_ = std::move(hook); }
  // Sets the longest of the random times that deleted pods take to go.
  void SetGrace(absl::Duration most) { grace_ = most; }

  // Faults. They have no effect on a worker that does not exist.
  //
  // Kills the worker's first rank; with `restart` its agent starts it again before the next round.
  void KillRank(const std::string& job_uid, int index, bool restart);
  // Makes the worker's ranks stand still for `length`, or until their agent kills them for it.
  void StopRanks(const std::string& job_uid, int index, absl::Duration length);
  // Cuts the worker off from all operators for `length`. Its ranks go on.
  void Cut(const std::string& job_uid, int index, absl::Duration length);
  // Cuts, for `length`, a node's workers off from all operators and its kubelet from the API
  // server.
  void CutNode(const std::string& node, absl::Duration length);
  // Cuts a node's power: everything on it ends, and its kubelet is silent until the node returns.
  void LoseNode(const std::string& node);
  void ReturnNode(const std::string& node) { lost_nodes_.erase(node); }
  // Makes the job's newest checkpoint unreadable. Returns false if it has no older one.
  bool RuinCheckpoint(const std::string& job_uid);
  // Makes each round of the job take `ticks` ticks for a step.
  void SetPace(const std::string& job_uid, int ticks) { pace_[job_uid] = ticks; }

 private:
  void Follow();
  void RunKubelet();
  void RunPod(KubeletPod& pod);
  void RemovePod(const KubeletPod& pod);
  void StartPod(KubeletPod& pod);
  void EndPod(const KubeletPod& pod, const std::string& phase, int exit_code);
  void RunAgent(SimWorker& worker);
  void EndStop(SimWorker& worker);
  void Dial(SimWorker& worker);
  SimStream::Gate GateOf(int host);
  void Leave(SimWorker& worker);
  void EndStreams();
  void Read(SimWorker& worker);
  void Handle(SimWorker& worker, const v1alpha1::OperatorMessage& message);
  void ShowState(SimWorker& worker);
  void Report(SimWorker& worker);
  void ReportFailures(AgentRegistry& registry, SimWorker& worker);
  void Beat(AgentRegistry& registry, SimWorker& worker);
  void RunTraining();
  // The workers of one round, by rank.
  using Round = std::vector<SimWorker*>;
  void RunRound(const Round& round);
  bool IsLeftBehind(const Round& round) const;
  bool IsWhole(const Round& round, SimAgent::Phase phase) const;
  bool HasComeTogether(const Round& members) const;
  void Join(const Round& members);
  bool RefuseRuined(const Round& members);
  void Step(const Round& members);
  bool IsGivenUp(const Round& members) const;
  void RunCommand(const Round& members, bool stop);
  void SaveCommand(const Round& members, SimCommand& command);
  void KeepCopies(const Round& members, const v1alpha1::Version& version);
  void CountTime(SimWorker& first);
  void Save(const Round& members, const v1alpha1::Version& version);
  void EndSaves();
  bool IsSaved(const std::string& job, const v1alpha1::Version& version) const;
  bool HolderLives(const Round& members, int64_t step) const;
  SimWorker* Find(const std::string& job_uid, int index);
  int Number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  absl::Time now() const { return clock_.Monotonic(); }

  kube::Api& api_;
  const Clock& clock_;
  Coordinators& coordinators_;
  Promises& promises_;
  std::mt19937_64 random_;
  std::pair<absl::Duration, absl::Duration> start_up_ = {absl::Milliseconds(50),
                                                         absl::Milliseconds(500)};
  OrderHook order_hook_;
  absl::Duration grace_ = absl::Seconds(2);
  std::map<std::string, SimWorker> workers_;    // by pod UID
  std::map<std::string, absl::Time> starting_;  // pod UID -> when it starts
  std::map<std::string, absl::Time> ending_;    // pod UID -> when it is gone
  std::map<std::string, std::vector<v1alpha1::CheckpointRef>> checkpoints_;  // by job UID
  std::map<std::string, std::set<std::string>> ruined_;  // directories, by job UID
  std::map<std::string, int> pace_;                      // by job UID
  std::map<std::string, int64_t> prepared_;     // the newest round that a worker obeyed, by job UID
  std::map<std::string, SimCommand> commands_;  // by job UID
  std::optional<int64_t> reported_command_steps_;
  std::set<std::string> lost_nodes_;
  std::map<std::string, absl::Time> cut_nodes_;  // until when
  std::unique_ptr<kube::Watcher> watcher_;
  std::map<kube::ObjectKey, KubeletPod> pods_;
  int64_t ticks_ = 0;
  absl::Duration tick_ = absl::Milliseconds(100);
  std::map<std::string, SimSave> saving_;  // by the pod UID of rank 0
  absl::Duration work_per_step_ = absl::ZeroDuration();
  absl::Duration join_time_ = absl::ZeroDuration();
  absl::Duration load_time_ = absl::ZeroDuration();
  absl::Duration notice_of_loss_ = absl::ZeroDuration();
  absl::Duration save_time_ = absl::ZeroDuration();
  int64_t save_every_ = 20;
  int64_t saves_done_ = 0;
  absl::Time storage_away_until_ = absl::InfinitePast();
  int64_t steps_done_ = 0;
  int64_t tokens_per_report_ = 0;
  std::function<double(int workers)> use_;
  // Streams that agents have left and whose end the operator process has not noticed yet.
  struct LeftStream {
    int host;
    int64_t process;
    uint64_t attachment;
  };
  std::vector<LeftStream> left_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_FLEET_H_
