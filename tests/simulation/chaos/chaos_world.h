#ifndef MUSTER_TESTS_SIMULATION_CHAOS_CHAOS_WORLD_H_
#define MUSTER_TESTS_SIMULATION_CHAOS_CHAOS_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/api/training_job.h"
#include "tests/simulation/replica_world.h"

namespace muster::control {

// A random cluster with random jobs, drawn from one seed, that faults strike. Time passes in Run();
// Later() schedules what happens in it. Equal seeds give equal histories.
class ChaosWorld {
 public:
  struct Node {
    std::string name;
    int cpus = 1;
    bool spot = false;
    bool there = true;  // no fault has taken it away
  };
  // A job as the users of the cluster want it.
  struct Job {
    std::string name;
    std::string uid;
    std::string queue;
    bool command = false;
    bool grows = false;
    bool spot_bounds = false;
    bool suspended = false;
    bool resized = false;  // workers.count was edited
    int number = 0;        // its place among all jobs made, as in its name
    // The number of workers wanted at the last check, the worker-seconds wanted until then in wall
    // time, and a bound of their error: a change is noticed only at the next check.
    int wanted = 0;
    absl::Time looked_at = absl::InfinitePast();
    double worker_seconds = 0;
    double worker_seconds_error = 0;
  };

  explicit ChaosWorld(uint64_t seed);

  void Run(absl::Duration length);
  // Ends all faults: machines return, notices are withdrawn, and all processes answer.
  void Calm();

  void Later(absl::Duration wait, std::function<void()> what);
  int Number(int low, int high) { return world.Number(low, high); }
  absl::Duration Seconds(int low, int high) { return absl::Milliseconds(Number(low, high) * 1000); }
  bool OneIn(int n) { return Number(1, n) == 1; }
  void Note(absl::string_view what);
  std::string Log() const;

  // Return a random one, or null if there is no such one. AnyWorker returns an index.
  Node* AnyNode(bool spot_only = false);
  Job* AnyJob();
  Job* AnyTrainingJob();
  int AnyWorker(const Job& job);
  ReplicaWorld::Host* AnyHost();

  void AddNode(bool spot, int cpus);
  void AddJob();
  // Changes an object of the API server, as a user or a controller would.
  void EditNode(const std::string& name, const std::function<void(Json&)>& edit);
  void EditNodeStatus(const std::string& name, const std::function<void(Json&)>& edit);
  void EditJob(const std::string& name, const std::function<void(Json&)>& edit);
  // Removes the node's pods as the node controllers do; `force` stands for a kubelet out of reach.
  void EvictPods(const std::string& node, bool force);
  void SetReady(const std::string& node, const std::string& status);

  // Calls `what` once with the process of the `nth` write from now on, before or after that write.
  void StrikeNextWrite(int nth, bool before, std::function<void(ReplicaWorld::Host&)> what);

  const uint64_t seed;
  ReplicaWorld world;
  std::vector<Node> nodes;
  std::vector<Job> jobs;
  bool clocks_differ = false;  // a clock stepped, or ran too slow
  // This host can neither read nor write the lease before `lease_cut_until`.
  int lease_cut_host = -1;
  absl::Time lease_cut_until = absl::InfinitePast();

 private:
  void AddQueues();
  Json SpecOf(Job& job);
  absl::Status AtCall(ReplicaWorld::Host& host, const kube::ApiCall& call, bool before);

  std::multimap<absl::Time, std::function<void()>> later_;
  std::vector<std::string> log_;
  struct Strike {
    int left;
    bool before;
    std::function<void(ReplicaWorld::Host&)> what;
  };
  std::optional<Strike> strike_;
  bool queues_ = false;
  int jobs_made_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_CHAOS_CHAOS_WORLD_H_
