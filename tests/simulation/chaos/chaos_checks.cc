#include "tests/simulation/chaos/chaos_checks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "operator/core/round/gang.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/ledger_book.h"
#include "operator/core/state/spec_values.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "operator/placement/spot_bounds.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

using Job = ChaosWorld::Job;

// A job's longest wait between tries, its snooze after a growth, the times that the operator gives
// an agent whose stream is gone, and the replacement of a worker follow each other at worst.
constexpr absl::Duration kSettles = absl::Minutes(6);
// A status may be out of date for as long as a leader takes to hear of all agents, and an event.
constexpr absl::Duration kSettled = absl::Seconds(15);
constexpr absl::Duration kQuiet = absl::Seconds(20);
// The seconds in which workers that a job was just given come, or are given up.
constexpr int kGrows = 60;
constexpr double kLedgerError = 0.001;
// The seconds by which a status may show a change of the workers after it was decided.
constexpr double kChangeIsSeenLate = 2;

// If some of a job's workers are bound, only its condition shows that others are queued.
bool IsQueued(const v1alpha1::TrainingJobStatus& status) {
  const v1alpha1::Condition* scheduled = FindCondition(status, ConditionType::kScheduled);
  return status.state() == Name(JobState::kQueued) ||
         (scheduled != nullptr && scheduled->reason() == Name(Reason::kQueued));
}

bool IsLive(const Json& pod) {
  const std::string phase = kube::StringAt(pod, {"status", "phase"});
  return !kube::IsTerminating(pod) && phase != "Succeeded" && phase != "Failed";
}

}  // namespace

void ChaosChecks::Look() {
  LookAtPods(chaos_.world.Pods());
  LookAtQuotas();
  for (Job& job : chaos_.jobs) LookAtJob(job, chaos_.world.Job(job.name));
}

void ChaosChecks::LookAtPods(const std::vector<Json>& pods) {
  bound_.clear();
  on_spot_.clear();
  std::map<std::string, int> used;                          // CPUs, by node
  std::map<std::pair<std::string, std::string>, int> live;  // by job and index
  for (const Json& pod : pods) {
    const std::string node = kube::StringAt(pod, {"spec", "nodeName"});
    const std::string phase = kube::StringAt(pod, {"status", "phase"});
    if (!node.empty() && phase != "Succeeded" && phase != "Failed") ++used[node];
    if (!IsLive(pod)) continue;
    const std::string job = kube::LabelOf(pod, "muster.dev/job");
    const auto owner = kube::ControllerOf(pod);
    const std::string uid = owner ? owner->uid : "";
    if (++live[{uid, kube::LabelOf(pod, kIndexLabel)}] > 1) {
      Wrong(absl::StrCat("worker ", kube::LabelOf(pod, kIndexLabel), " of ", job,
                         " has two live pods"));
    }
    if (node.empty()) continue;
    ++bound_[job];
    on_spot_[job] += node.rfind("spot-", 0) == 0;
  }
  for (const ChaosWorld::Node& node : chaos_.nodes) {
    const auto found = used.find(node.name);
    if (found != used.end() && found->second > node.cpus) {
      Wrong(absl::StrCat("a CPU of ", node.name, " is given twice"));
    }
  }
}

void ChaosChecks::LookAtQuotas() {
  const auto queues = chaos_.world.memory->List(kube::kTrainingQueues, {});
  int quota = 0;
  for (const Json& queue : queues->items) {
    int cpus = 0;
    if (absl::SimpleAtoi(queue["spec"]["quotas"][0]["nominal"].get<std::string>(), &cpus)) {
      quota += cpus;
    }
  }
  // A quota that is made smaller takes nothing from those who have it.
  most_quota_ = std::max(most_quota_, quota);
  free_quota_ = quota;
  for (const auto& [job, bound] : bound_) free_quota_ -= bound;
  if (quota > 0 && quota - free_quota_ > most_quota_) {
    Wrong(absl::StrCat(quota - free_quota_, " CPUs are bound, the quotas are ", quota));
  }
}

void ChaosChecks::CountWanted(Job& job, const TrainingJob& now, int desired) {
  const absl::Time wall = chaos_.world.clock.Wall();
  // Its ledger begins when it was made, before anybody could look.
  const bool first = job.looked_at == absl::InfinitePast();
  const absl::Time last = first ? ParseWall(now.status.ledger().since()) : job.looked_at;
  if (last == absl::InfinitePast()) return;
  if (first) job.wanted = desired;
  const double seconds = absl::ToDoubleSeconds(wall - last);
  job.worker_seconds += job.wanted * seconds;
  job.worker_seconds_error += std::abs(desired - job.wanted) * (seconds + kChangeIsSeenLate);
  job.wanted = desired;
  job.looked_at = wall;
}

void ChaosChecks::LookAtJob(Job& job, const TrainingJob& now) {
  const int desired = now.status.workers().desired();
  CountWanted(job, now, desired);
  const bool all = now.status.state() == "Training" && bound_[job.name] == desired;
  if (!all || !job.spot_bounds || job.resized) return;
  const auto& spot = now.spec.spot();
  SpotBounds bounds{true, !spot.has_allow() || spot.allow(), 1, spot.on_demand_floor()};
  if (spot.has_max_fraction()) bounds.max_fraction = spot.max_fraction();
  if (on_spot_[job.name] > bounds.MostOf(desired)) {
    Wrong(absl::StrCat(job.name, " has ", on_spot_[job.name], " of ", desired,
                       " workers on spot nodes, against its bounds"));
  }
}

std::string ChaosChecks::Unsettled(const Job& job) const {
  const TrainingJob now = chaos_.world.Job(job.name);
  const v1alpha1::TrainingJobStatus& status = now.status;
  if (IsTrue(status, ConditionType::kSucceeded)) return "";
  // Its quota may be taken by others.
  const bool waits = !job.queue.empty() && IsQueued(status);
  if (waits && bound_.count(job.name) == 0) return "";
  const std::string state = absl::StrCat(job.name, " is ", status.state(), " with ");
  if (status.state() != "Training") return absl::StrCat(state, status.ShortDebugString());
  const int desired = status.workers().desired();
  const int trains = chaos_.world.fleet->Training(job.uid);
  const int count = WorkerCount(now.spec);
  // It may have fewer only because others of its cohort have the quota.
  const bool full = !job.queue.empty() && free_quota_ < count - trains;
  const int least = full ? MinWorkers(now.spec) : count;
  if (trains < least || trains > MaxWorkers(now.spec) || (trains != desired && !full)) {
    return absl::StrCat(state, trains, " workers of ", desired, ": ", status.ShortDebugString());
  }
  if (status.workers().leaving_size() > 0) return absl::StrCat(state, "a worker that leaves");
  return "";
}

std::string ChaosChecks::Unsettled() const {
  if (chaos_.world.Leader() == nullptr) return "nobody leads";
  for (const Job& job : chaos_.jobs) {
    if (std::string why = Unsettled(job); !why.empty()) return why;
  }
  return "";
}

void ChaosChecks::CheckEnd() {
  const absl::Time limit = chaos_.world.clock.Monotonic() + kSettles;
  std::string why;
  for (absl::Time since = chaos_.world.clock.Monotonic();
       chaos_.world.clock.Monotonic() < std::min(limit, since + kSettled);) {
    chaos_.Run(absl::Seconds(1));
    Look();
    why = Unsettled();
    if (!why.empty()) since = chaos_.world.clock.Monotonic();
  }
  if (!why.empty()) return Wrong(why);
  CheckQuiet();
  CheckLeftovers();
  for (const Job& job : chaos_.jobs) CheckLedger(job);
}

// A job that ends or grows changes others, so the writes are counted only where none does.
void ChaosChecks::CheckQuiet() {
  const auto rounds = [this] {
    std::map<std::string, std::pair<int64_t, std::string>> all;
    for (const Job& job : chaos_.jobs) {
      const auto status = chaos_.world.Job(job.name).status;
      all[job.name] = {status.round(), status.state()};
    }
    return all;
  };
  const bool grows =
      std::any_of(chaos_.jobs.begin(), chaos_.jobs.end(), [](const Job& job) { return job.grows; });
  const auto before = rounds();
  const int64_t saves_before = chaos_.world.fleet->saves_done();
  chaos_.world.ForgetWrites();
  chaos_.Run(kQuiet);
  Look();
  // One that grows, or makes room for it, may be about to.
  for (int second = 0; grows && second < kGrows && !Unsettled().empty(); ++second) {
    chaos_.Run(absl::Seconds(1));
    Look();
  }
  if (std::string why = Unsettled(); !why.empty()) Wrong(absl::StrCat("not at rest: ", why));
  const auto after = rounds();
  const bool ended = std::any_of(chaos_.jobs.begin(), chaos_.jobs.end(), [&](const Job& job) {
    return after.at(job.name).second != before.at(job.name).second;
  });
  if (grows || ended) return;
  if (after != before) Wrong("a job that nothing disturbs began another round");
  const int64_t saves = chaos_.world.fleet->saves_done() - saves_before;
  const int64_t most = saves + 3 * static_cast<int64_t>(chaos_.jobs.size());
  for (const auto& [what, count] : chaos_.world.all_writes()) {
    if (what == "update leases") continue;
    // The progress of jobs that train is written every 10 seconds, and each save with an event.
    if (what == "update_status trainingjobs" && count <= most) continue;
    if (what == "create events" && count <= saves) continue;
    Wrong(absl::StrCat(count, " times ", what, " at rest, with ", saves, " saves"));
  }
}

void ChaosChecks::CheckLeftovers() {
  std::map<std::string, const Job*> by_uid;
  for (const Job& job : chaos_.jobs) by_uid[job.uid] = &job;
  const auto jobs = chaos_.world.memory->List(kube::kTrainingJobs, {});
  for (const Json& job : jobs->items) {
    if (by_uid.count(kube::UidOf(job)) == 0) {
      Wrong(absl::StrCat(kube::NameOf(job), " is still there after it was deleted"));
    }
  }
  for (const Json& pod : chaos_.world.Pods()) {
    const auto owner = kube::ControllerOf(pod);
    const auto job = by_uid.find(owner ? owner->uid : "");
    if (job == by_uid.end()) {
      Wrong(absl::StrCat("pod ", kube::NameOf(pod), " is left over"));
      continue;
    }
    const int desired = chaos_.world.Job(job->second->name).status.workers().desired();
    int index = -1;
    if (!absl::SimpleAtoi(kube::LabelOf(pod, kIndexLabel), &index)) index = -1;
    if (IsLive(pod) && index >= desired) {
      Wrong(absl::StrCat("pod ", kube::NameOf(pod), " is beyond ", desired, " workers"));
    }
  }
}

// Sums up the ledger against the ranks that the job wanted over the time since it was made.
void ChaosChecks::CheckLedger(const Job& job) {
  const TrainingJob now = chaos_.world.Job(job.name);
  const v1alpha1::LedgerStatus& ledger = now.status.ledger();
  for (const TimeUse use : AllTimeUses()) {
    if (!(SecondsOf(ledger, use) >= 0)) Wrong(absl::StrCat(job.name, ": ", Name(use), " < 0"));
  }
  // The ledger is kept by the operator's wall clock, and ends with the first worker of a command.
  const bool ended = IsTrue(now.status, ConditionType::kSucceeded);
  if (chaos_.clocks_differ || (ended && job.command)) return;
  const double sum = TotalSeconds(ledger);
  const int ranks = planner::RanksOf(now.spec.workers());
  const double since = absl::ToDoubleSeconds(job.looked_at - ParseWall(ledger.until()));
  const double expected = ranks * (job.worker_seconds - job.wanted * since);
  const double error = ranks * job.worker_seconds_error + kLedgerError * expected + 0.1;
  if (!(std::abs(sum - expected) <= error)) {
    Wrong(absl::StrCat("the ledger of ", job.name, " has ", sum, " rank-seconds, not ", expected,
                       " with an error of ", error));
  }
}

std::vector<std::string> ChaosChecks::wrong() const {
  std::vector<std::string> all(wrong_.begin(), wrong_.end());
  const std::vector<std::string>& broken = chaos_.world.promises.broken();
  all.insert(all.end(), broken.begin(), broken.end());
  return all;
}

}  // namespace muster::control
