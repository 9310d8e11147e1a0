#ifndef MUSTER_TESTS_SIMULATION_REPLICA_WORLD_H_
#define MUSTER_TESTS_SIMULATION_REPLICA_WORLD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/testing/manual_clock.h"
#include "operator/api/training_job.h"
#include "operator/app/replica.h"
#include "operator/cost/price_table.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/wrap/faulty_api.h"
#include "tests/simulation/fleet.h"
#include "tests/simulation/hooked_api.h"
#include "tests/simulation/promises.h"

namespace muster::control {

// A clock whose monotonic time runs at its own pace relative to the world's.
class DriftingClock final : public Clock {
 public:
  explicit DriftingClock(const Clock& world) : world_(world), start_(world.Monotonic()) {}
  absl::Time Monotonic() const override { return start_ + (world_.Monotonic() - start_) * pace_; }
  absl::Time Wall() const override { return world_.Wall(); }
  // The pace applies from construction on: set it before anything reads the clock.
  void SetPace(double pace) { pace_ = pace; }

 private:
  const Clock& world_;
  const absl::Time start_;
  double pace_ = 1;
};

// The operator as one to three real replicas without threads, on virtual time, over one embedded
// API server with simulated nodes, agents and ranks. A process may be killed, or stopped and
// thawed, at any of its API calls; the world goes on inside that call. Equal seeds give equal
// histories.
class ReplicaWorld final : public Coordinators {
 public:
  static constexpr absl::Duration kTick = absl::Milliseconds(100);

  struct Options {
    uint64_t seed = 1;
    int replicas = 1;
    bool election = true;
    absl::Duration resync = absl::Minutes(10);
    PriceTable prices;
    int max_savers_per_storage = 0;
  };
  // A place that runs one operator process at a time.
  struct Host {
    int number = 0;
    int64_t process = 0;  // changes with every start and kill
    bool alive = false;
    bool frozen = false;
    bool running = false;                        // a call of its process is on the stack
    absl::Time start_at = absl::InfinitePast();  // when it is started (again)
    double pace = 1;
    std::unique_ptr<DriftingClock> clock;
    std::unique_ptr<HookedApi> api;
    std::unique_ptr<Replica> replica;
    absl::Time elect_at = absl::InfinitePast();  // by its clock
    // The reflectors (jobs, pods, nodes) that are paused.
    std::array<bool, 3> held = {false, false, false};
    // Writes of the current reconcile.
    int status_writes = 0;
    int event_writes = 0;
  };
  // A fault at an API call of a process: returns the status that the caller gets instead, or OK to
  // leave the call alone. It may also kill or freeze the process.
  using CallFault = std::function<absl::Status(Host& host, const kube::ApiCall& call)>;

  explicit ReplicaWorld(Options options);

  void AddNode(const std::string& name, int pods);
  // Writes to the node the notice that the operator would write if the node agent reported that the
  // machine goes in `left`; removes it if `left` is nullopt. Does nothing if the node is gone.
  void SetNotice(const std::string& node, std::optional<absl::Duration> left);
  // `spec` is merged over a small valid one.
  TrainingJob CreateJob(const std::string& name, const Json& spec = Json::object());
  // Like CreateJob, with workers that request one CPU each.
  TrainingJob CreateJobOfCpus(const std::string& name, const Json& spec);

  void Tick();
  void RunFor(absl::Duration length);
  // Returns false if `limit` passed before `done` was true.
  bool RunUntil(const std::function<bool()>& done, absl::Duration limit);

  // Ends the process at once; a new one starts after `downtime`.
  void Kill(Host& host, absl::Duration downtime = absl::Seconds(5));
  // Ends the process cleanly, releasing its lease.
  void Stop(Host& host, absl::Duration downtime = absl::Seconds(5));
  // Freezes the process for `length`; when called from a hook, inside that very API call.
  void Freeze(Host& host, absl::Duration length);
  // `before` runs before each API call of every process is sent, `after` once it has succeeded.
  void SetCallFaults(CallFault before, CallFault after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }

  // Returns the only leader; null without one, or if several processes lead.
  Host* Leader();
  std::vector<Host*> Leaders();
  TrainingJob Job(const std::string& name) const;
  std::vector<Json> Pods() const;
  std::vector<Json> Events() const;
  bool Succeeded(const std::string& name) const;
  // The number of accepted writes of all processes, by verb and plural, e.g. "update leases".
  int Writes(const std::string& what) const;
  int Writes() const;
  const std::map<std::string, int>& all_writes() const { return writes_; }
  void ForgetWrites() { writes_.clear(); }

  int count() const override { return static_cast<int>(hosts.size()); }
  AgentRegistry* RegistryOf(int number) override;
  int64_t process(int number) const override { return hosts[number].process; }
  int Number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  ManualClock clock;
  std::unique_ptr<kube::MemoryApi> memory;
  std::unique_ptr<kube::FaultyApi> faulty;  // the processes' way to `memory`
  Promises promises;
  std::vector<Host> hosts;
  std::unique_ptr<Fleet> fleet;

 private:
  void StartHost(Host& host);
  void RunHost(Host& host);
  void SetHooks(Host& host);
  void Note(Host& host, const kube::ApiCall& call);

  const Options options_;
  std::mt19937_64 random_;
  CallFault before_;
  CallFault after_;
  Json job_before_;  // the job before the current status write
  std::map<std::string, int> writes_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_REPLICA_WORLD_H_
