#ifndef MUSTER_OPERATOR_CORE_TESTING_SIM_WORLD_H_
#define MUSTER_OPERATOR_CORE_TESTING_SIM_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/decide.h"
#include "operator/core/state/conditions.h"
#include "operator/core/testing/sim_agent.h"

// A whole job on virtual time: an API with one job and its pods, nodes that start them, agents, and
// an operator that runs Decide() and carries out its plans. Tests inject the faults. Every violated
// invariant is collected in `violations`.
namespace muster::control {

struct SimPod {
  PodView view;
  absl::Time next;  // the time at which it starts to run, its agent attaches, or it is gone
  std::unique_ptr<SimAgent> agent;
};

class SimWorld {
 public:
  // RunOnce() advances time by this; it is also the time of a step.
  static constexpr absl::Duration kTick = absl::Milliseconds(50);

  explicit SimWorld(uint64_t seed);

  // Advances virtual time by one tick: the world, then the operator if something may have changed.
  void RunOnce();
  // Runs until the job has ended, or `limit` has passed.
  void RunUntilEnded(absl::Duration limit);

  // The faults. With `lag`, the reports of the rank's agent arrive only that much later, after
  // those of the survivors.
  void KillRank(absl::Duration lag = absl::ZeroDuration());
  void KillAgent();
  void KillEveryAgent();
  void DeleteSomePod();
  // The rank ends with `exit_code` and its agent lives on. Does nothing if the rank does not run.
  void EndRank(int index, int exit_code, const std::string& log = "",
               absl::Duration lag = absl::ZeroDuration());
  // The pod ends as kubelet reports it: container `worker` with this code and reason. Exit code 0
  // means that kubelet refused the pod for this reason.
  void EndWorker(int index, int exit_code, const std::string& reason);
  // The node of this worker is lost: the pod is marked, ends, and is removed.
  void LoseNode(int index);
  // The same, before Kubernetes has evicted its pods.
  void DarkenNode(int index);
  void CutStream(absl::Duration length);
  // A new leader takes over without memory. With `zombie`, the old one decides once more on its old
  // view.
  void ChangeLeader(bool zombie);
  void FailNextWrite() { ++failing_writes_; }
  void RuinNewestCheckpoint();
  // Loses all that was saved; later saves are kept.
  void LoseCheckpoints() { checkpoints_.clear(); }
  // The newest report of a save; Hear() delivers one once more.
  v1alpha1::CheckpointReport written() const {
    return written_.value_or(v1alpha1::CheckpointReport());
  }
  void Hear(const v1alpha1::CheckpointReport& report) { written_ = report; }
  void SetDiskFull(bool full) { disk_full_ = full; }
  // Makes ranks unable to list the checkpoints; empty: they can again.
  void SetListingError(const std::string& error) { listing_error_ = error; }

  std::string ConditionReason(ConditionType type) const;
  // Calls `visit` for each pod in the API, as decisions see it.
  void VisitPods(const std::function<void(const PodView&)>& visit) const;
  int PodsInApi() const { return static_cast<int>(pods_.size()); }
  SimAgent* FindAgent(int index);
  bool Pick(int one_in) { return Number(0, one_in - 1) == 0; }
  int Number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  JobView job;  // spec, status, identity; what the API holds
  bool job_deleted = false;
  DecideOptions options;
  // The price and power of each pod on a node; null: not known for any pod.
  std::function<WorkerRates(const PodView&)> rates;
  int64_t committed = 0;  // the newest step that every rank of its round applied
  int64_t redone = 0;     // committed steps trained again, because no live rank held them
  std::vector<v1alpha1::Tuning> in_force;  // the job's tunings, in the state of the ranks
  int rounds_opened = 0;
  int writes = 0;
  std::vector<std::string> violations;
  std::vector<std::string> event_reasons;  // of all events, in order

 private:
  using Version = std::pair<int64_t, int64_t>;  // attempt, step

  JobView Observe() const;
  void Reconcile();
  bool CarryOut(const Plan& plan, const JobView& view, int64_t version);
  void CheckPlan(const Plan& plan, const JobView& view);
  void CheckOrders(const Plan& plan, const JobView& view);
  void CheckOpening(const Plan& plan, const JobView& view, int members);
  void CheckGo(const GoOrder& order, const JobView& view);
  void Create(const CreatePod& create);
  void AdvancePods();
  void EndPod(SimPod& pod, PodPhase phase, int exit_code);
  void AdvanceRounds();
  std::vector<SimAgent*> WholeRound(const SimAgent& first, SimAgent::Phase phase);
  void Join(const std::vector<SimAgent*>& members);
  void Step(const std::vector<SimAgent*>& members);
  void Tune(const std::vector<SimAgent*>& members, int64_t step);
  void InterruptStep(const SimAgent& agent);
  void ShowCheckpoints(SimAgent& agent);
  void Save(const v1alpha1::Version& version, const std::string& history);
  void Violate(const std::string& what);

  std::mt19937_64 random_;
  std::map<std::string, SimPod> pods_;  // by name
  std::set<std::string> created_;       // the names of all pods ever made
  int next_uid_ = 1;
  int64_t resource_version_ = 1;
  RoundMemory memory_;
  int64_t term_ = 1;
  absl::Time leading_since_;
  absl::Time next_decision_ = absl::InfinitePast();
  std::string last_seen_;  // fingerprint of the view, to decide only when it changed
  int failing_writes_ = 0;
  ProgressView progress_;
  std::vector<v1alpha1::CheckpointRef> checkpoints_;
  std::optional<v1alpha1::CheckpointReport> written_;
  bool disk_full_ = false;
  std::string listing_error_;
  v1alpha1::TrainingJobStatus before_;  // the status on which the plan under way was made
  bool warned_ = false;                 // the plan gives up the floor, with a warning
  std::set<std::string> ruined_;
  std::map<int64_t, std::string> membership_of_round_;
  std::map<int64_t, std::string> go_of_round_;
  Version committed_version_{0, 0};
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_SIM_WORLD_H_
