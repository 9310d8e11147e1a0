#ifndef MUSTER_TESTS_BENCH_AGENT_SWARM_H_
#define MUSTER_TESTS_BENCH_AGENT_SWARM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::agent {

// Thousands of worker agents in one thread: the real client of the coordinator (dials, back-off,
// certificates and streams) with a script in place of ranks. A worker answers Prepare after
// `ready_after` and Go after `joined_after`; every second it sends a heartbeat, and the leader of
// an active round a step report. Times are monotonic. Not thread-safe.
class AgentSwarm {
 public:
  struct Options {
    absl::Duration heartbeat = absl::Seconds(1);
    absl::Duration ready_after;
    absl::Duration joined_after;
  };

  // Progress of a job's newest round: how many agents have got or sent each message, and when.
  struct Round {
    v1alpha1::RoundId id;
    int members = 0;
    int prepared = 0, told_go = 0, joined = 0;
    absl::Time first_prepare, last_prepare, last_go, last_joined;
  };

  // `files` holds the agents' tokens and must outlive this object.
  AgentSwarm(Options options, Files& files);
  ~AgentSwarm();

  // Queues an agent to be started. Only a few dial at a time: more would delay the heartbeats of
  // attached agents, which the operator would then take for lost.
  void Add(v1alpha1::WorkerId worker, int ranks, CoordinatorClientOptions coordinator);
  // Handles what has arrived, waiting up to `wait` for the first event, and runs what is due.
  void RunOnce(absl::Duration wait);
  // Reports that a rank of the job's newest worker exited and was restarted, which makes the
  // operator open another round. Returns the time of the report.
  absl::Time FailRank(const std::string& job_uid);

  int size() const { return static_cast<int>(agents_.size()); }
  // The number of agents that have been welcomed on their present stream.
  int welcomed() const { return welcomed_; }
  int64_t streams_lost() const { return streams_lost_; }
  int64_t certificates() const;
  const std::map<std::string, Round>& rounds() const { return rounds_; }

 private:
  struct Agent {
    v1alpha1::WorkerId worker;
    int ranks = 0;
    std::unique_ptr<CoordinatorClient> client;
    bool welcomed = false;
    bool dialing = true;  // its client is polled often until it is welcomed
    bool leads = false;
    v1alpha1::RoundId seen, active;
    std::string trajectory;  // of round `seen`
    int64_t step = 0;
  };
  struct Due {
    absl::Time when;
    size_t agent;
    std::function<void(Agent&)> what;
    bool operator>(const Due& other) const { return when > other.when; }
  };

  struct Joining {
    v1alpha1::WorkerId worker;
    int ranks = 0;
    CoordinatorClientOptions coordinator;
  };

  void Start(Joining joining);
  void Later(absl::Duration delay, size_t agent, std::function<void(Agent&)> what);
  void Collect(size_t index);
  void PollWhileDialing(size_t index);
  void Beat(size_t index);
  void On(const Event& event, size_t index);
  void Obey(const v1alpha1::OperatorMessage& message, size_t index);
  void Prepare(const v1alpha1::PrepareRound& prepare, size_t index);
  void Go(const v1alpha1::GoRound& go, size_t index);
  void SayHello(Agent& agent);

  const Options options_;
  Files& files_;
  const int epoll_;
  std::vector<Agent> agents_;
  std::deque<Joining> joining_;
  std::deque<size_t> dialing_;  // agents whose client is to be polled
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::map<std::string, Round> rounds_;  // by job uid
  int welcomed_ = 0;
  int64_t streams_lost_ = 0;
};

}  // namespace muster::agent

#endif  // MUSTER_TESTS_BENCH_AGENT_SWARM_H_
