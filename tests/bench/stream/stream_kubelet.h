#ifndef MUSTER_TESTS_BENCH_STREAM_STREAM_KUBELET_H_
#define MUSTER_TESTS_BENCH_STREAM_STREAM_KUBELET_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/kube/api.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::control {

// Plays all kubelets of a namespace and the agents in their pods, in the operator's own process. A
// bound pod runs at once; its agent attaches directly to the registry, without a stream, obeys,
// finishes once its job's RunTime has passed, and ends when told to stop. A deleted pod goes at
// once, with its agent. Thread-safe; `api` and `registry` must outlive this object.
class StreamKubelet {
 public:
  using RunTime = std::function<absl::Duration(const std::string& job)>;

  StreamKubelet(kube::Api& api, AgentRegistry& registry, std::string name_space, RunTime run_time,
                int threads);
  ~StreamKubelet();

  int64_t started() const;
  int64_t ended() const;
  // The newest failure of an API or registry call; OK if there was none.
  absl::Status status() const;
  // Stops and joins all threads; cpu() is then their total CPU time.
  void Stop();
  absl::Duration cpu() const;

 private:
  class Stream;
  enum class Kind { kStart, kObey, kHeartbeat, kFinish, kEnd, kRemove };
  struct Agent {
    Json pod;  // as last read or written
    v1alpha1::WorkerId worker;
    std::shared_ptr<Stream> stream;
    uint64_t attachment = 0;
    v1alpha1::RoundId round;
    std::string trajectory;
    bool stopped = false;
    bool removed = false;
  };
  struct Event {
    absl::Time at;
    int64_t number = 0;  // orders events of the same time, oldest first
    Kind kind = Kind::kStart;
    std::string uid;
    v1alpha1::OperatorMessage message;

    friend bool operator<(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  void Watch();
  absl::Status WatchOnce();
  void Follow(const Json& pod) MUSTER_REQUIRES(mu_);
  void Serve();
  void Put(Kind kind, const std::string& uid, absl::Duration in = absl::ZeroDuration(),
           v1alpha1::OperatorMessage message = {});
  void Handle(const Event& event);
  void Start(Agent& agent, const std::string& uid);
  void Obey(Agent& agent, const Event& event);
  void Remove(Agent& agent);
  // Writes the pod's status, retrying on conflict with a newer version. Returns false if that
  // failed.
  bool Write(Agent& agent, const Json& status);
  void CountCpu();

  kube::Api& api_;
  AgentRegistry& registry_;
  const std::string name_space_;
  const RunTime run_time_;

  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  std::priority_queue<Event> events_ MUSTER_GUARDED_BY(mu_);
  int64_t numbers_ MUSTER_GUARDED_BY(mu_) = 0;
  std::set<std::string> seen_ MUSTER_GUARDED_BY(mu_);  // pods by uid
  std::set<std::string> removed_ MUSTER_GUARDED_BY(mu_);
  // Agents by pod UID; null while one of the agent's events is handled.
  std::unordered_map<std::string, std::unique_ptr<Agent>> agents_ MUSTER_GUARDED_BY(mu_);
  absl::Status status_ MUSTER_GUARDED_BY(mu_);
  int64_t started_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t ended_ MUSTER_GUARDED_BY(mu_) = 0;
  absl::Duration cpu_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_BENCH_STREAM_STREAM_KUBELET_H_
