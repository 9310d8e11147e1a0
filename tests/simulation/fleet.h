#ifndef MUSTER_TESTS_SIMULATION_FLEET_H_
#define MUSTER_TESTS_SIMULATION_FLEET_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/coordinator/agent_registry.h"
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
  absl::Status Send(EncodedMessage message) override {
    if (closed) return absl::UnavailableError("the stream is closed");
    inbox.emplace_back().ParseFromString(*message);
    return absl::OkStatus();
  }
  void Close(const absl::Status&) override { closed = true; }

  std::deque<v1alpha1::OperatorMessage> inbox;
  bool closed = false;
};

// A pod and the agent that runs in it (null once the agent was killed).
struct SimWorker {
  std::string job_uid;
  std::string pod;
  std::unique_ptr<SimAgent> agent;

  int host = -1;  // the operator process it is attached to; -1: none
  int64_t process = 0;
  uint64_t attachment = 0;
  std::shared_ptr<SimStream> stream;
  absl::Time heard;  // when the other end of the stream was last reachable
  absl::Time dial_at = absl::InfinitePast();
  absl::Time beat_at = absl::InfinitePast();
  // The newest reports sent on this stream. A stall is reported only once, over any stream.
  RoundStamp told_ready;
  RoundStamp told_joined;
  RoundStamp told_finished;
  size_t told_stalls = 0;
};

// Simulates nodes, agents and ranks on virtual time, over any Api: a kubelet that starts bound
// pods, agents that find the leader among the coordinators and obey it as the real agent does, and
// ranks that step and save while their whole round is present. Reports what happens to `promises`.
class Fleet {
 public:
  // An agent leaves a stream that was silent for this long: half a lease.
  static constexpr absl::Duration kSilence = absl::Milliseconds(7500);

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
  // Has rank 0 of each job say that it trained so many tokens since its last report, of a second
  // ago. By default it does not say, and no speed is known.
  void SetTokensPerReport(int64_t tokens) { tokens_per_report_ = tokens; }
  // Bound pods take a random time between these to start.
  void SetStartUp(absl::Duration least, absl::Duration most) { start_up_ = {least, most}; }
  // Deleted pods take a random time up to this long to go.
  void SetGrace(absl::Duration most) { grace_ = most; }

 private:
  void RunKubelet();
  void StartPod(Json pod);
  void EndPod(Json pod, const std::string& phase, int exit_code);
  void RunAgent(SimWorker& worker);
  void Dial(SimWorker& worker);
  void Leave(SimWorker& worker);
  void EndStreams();
  void Read(SimWorker& worker);
  void Report(SimWorker& worker);
  void RunTraining();
  std::vector<SimAgent*> WholeRound(const SimWorker& first, SimAgent::Phase phase);
  void Join(const std::string& job, const std::vector<SimAgent*>& members);
  void Step(SimWorker& first, const std::vector<SimAgent*>& members);
  bool HolderLives(const std::string& job, int64_t step) const;
  int Number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  absl::Time now() const { return clock_.Monotonic(); }

  kube::Api& api_;
  const Clock& clock_;
  Coordinators& coordinators_;
  Promises& promises_;
  std::mt19937_64 random_;
  std::pair<absl::Duration, absl::Duration> start_up_ = {absl::Milliseconds(50),
                                                         absl::Milliseconds(500)};
  absl::Duration grace_ = absl::Seconds(2);
  std::map<std::string, SimWorker> workers_;    // by pod UID
  std::map<std::string, absl::Time> starting_;  // pod UID -> when it starts
  std::map<std::string, absl::Time> ending_;    // pod UID -> when it is gone
  std::map<std::string, std::vector<v1alpha1::CheckpointRef>> checkpoints_;  // by job UID
  std::map<std::string, int64_t> total_steps_;
  int64_t steps_done_ = 0;
  int64_t tokens_per_report_ = 0;
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
