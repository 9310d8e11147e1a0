// Faults of workers and ranks, and what users do to their jobs meanwhile.
#include <string>

#include "absl/strings/str_cat.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/chaos/faults.h"

namespace muster::control {
namespace {

using Job = ChaosWorld::Job;

bool AgentKilled(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  chaos.world.fleet->KillAgent(job->uid, chaos.AnyWorker(*job));
  return true;
}

bool AllAgentsKilled(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  for (int i = 0; i < 8; ++i) chaos.world.fleet->KillAgent(job->uid, i);
  return true;
}

// A second one dies while the job recovers from the first.
bool AgentsKilledInARow(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  chaos.world.fleet->KillAgent(job->uid, 0);
  const std::string uid = job->uid;
  chaos.Later(chaos.Seconds(1, 4), [&chaos, uid] { chaos.world.fleet->KillAgent(uid, 1); });
  return true;
}

bool RankKilled(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  chaos.world.fleet->KillRank(job->uid, chaos.AnyWorker(*job), !chaos.OneIn(4));
  return true;
}

bool AllRanksKilled(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  for (int i = 0; i < 8; ++i) chaos.world.fleet->KillRank(job->uid, i, true);
  return true;
}

bool RankStopsShortly(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  chaos.world.fleet->StopRanks(job->uid, chaos.AnyWorker(*job), chaos.Seconds(1, 8));
  return true;
}

bool RankHangs(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  chaos.world.fleet->StopRanks(job->uid, chaos.AnyWorker(*job), absl::Hours(1));
  return true;
}

bool Straggles(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  const std::string uid = job->uid;
  chaos.world.fleet->SetPace(uid, chaos.Number(2, 20));
  chaos.Later(chaos.Seconds(5, 40), [&chaos, uid] { chaos.world.fleet->SetPace(uid, 1); });
  return true;
}

bool AgentCutOff(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr) return false;
  chaos.world.fleet->Cut(job->uid, chaos.AnyWorker(*job), chaos.Seconds(1, 40));
  return true;
}

bool PodEvicted(ChaosWorld& chaos) {
  const std::vector<Json> pods = chaos.world.Pods();
  if (pods.empty()) return false;
  Json pod = pods[chaos.Number(0, static_cast<int>(pods.size()) - 1)];
  pod["status"]["conditions"] = {
      {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "EvictionByEvictionAPI"}}};
  chaos.world.memory->UpdateStatus(kube::kPods, pod).status().IgnoreError();
  chaos.world.memory->Delete(kube::kPods, kube::KeyOf(pod), {}).IgnoreError();
  return true;
}

bool CheckpointUnreadable(ChaosWorld& chaos) {
  const Job* job = chaos.AnyTrainingJob();
  if (job == nullptr || !chaos.world.fleet->RuinCheckpoint(job->uid)) return false;
  for (int i = 0; i < 8; ++i) chaos.world.fleet->KillAgent(job->uid, i);
  return true;
}

bool Scaled(ChaosWorld& chaos) {
  Job* job = chaos.AnyJob();
  if (job == nullptr || job->grows) return false;
  job->resized = true;
  chaos.EditJob(job->name, [&](Json& object) {
    const int count = chaos.Number(1, 5);
    object["spec"]["workers"]["count"] = count;
    object["spec"]["workers"]["min"] = chaos.Number(1, count);
    if (object["spec"].contains("spot")) object["spec"]["spot"].erase("onDemandFloor");
  });
  return true;
}

bool Edited(ChaosWorld& chaos) {
  const Job* job = chaos.AnyJob();
  if (job == nullptr || job->command) return false;
  chaos.EditJob(job->name, [&](Json& object) {
    object["spec"]["trainer"]["optimizer"]["learningRate"] = 0.0001 * chaos.Number(1, 50);
  });
  return true;
}

bool Suspended(ChaosWorld& chaos) {
  Job* job = chaos.AnyJob();
  if (job == nullptr || job->suspended) return false;
  job->suspended = true;
  const std::string name = job->name;
  chaos.EditJob(name, [](Json& object) { object["spec"]["suspend"] = true; });
  chaos.Later(chaos.Seconds(1, 30), [&chaos, name] {
    chaos.EditJob(name, [](Json& object) { object["spec"]["suspend"] = false; });
    for (Job& other : chaos.jobs) {
      if (other.name == name) other.suspended = false;
    }
  });
  return true;
}

bool StorageFull(ChaosWorld& chaos) {
  chaos.world.fleet->LoseStorage(chaos.Seconds(2, 30));
  return true;
}

bool Deleted(ChaosWorld& chaos) {
  const Job* job = chaos.AnyJob();
  if (job == nullptr || chaos.jobs.size() < 2) return false;
  const std::string name = job->name;
  chaos.world.memory->Delete(kube::kTrainingJobs, {"default", name}, {}).IgnoreError();
  std::erase_if(chaos.jobs, [&](const Job& other) { return other.name == name; });
  return true;
}

bool Submitted(ChaosWorld& chaos) {
  if (chaos.jobs.size() > 5) return false;
  chaos.AddJob();
  return true;
}

bool QuotaChanged(ChaosWorld& chaos) {
  const Job* job = chaos.AnyJob();
  if (job == nullptr || job->queue.empty()) return false;
  absl::StatusOr<Json> queue = chaos.world.memory->Get(kube::kTrainingQueues, {"", job->queue});
  (*queue)["spec"]["quotas"][0]["nominal"] = absl::StrCat(chaos.Number(4, 12));
  chaos.world.memory->Update(kube::kTrainingQueues, *queue).value();
  return true;
}

}  // namespace

const std::vector<FaultKind>& WorkerFaults() {
  static const auto* faults = new std::vector<FaultKind>{
      {"agent killed", AgentKilled},
      {"all agents of a job killed", AllAgentsKilled},
      {"agent killed during a recovery", AgentsKilledInARow},
      {"rank killed", RankKilled},
      {"all ranks of a job killed", AllRanksKilled},
      {"rank stopped shortly", RankStopsShortly},
      {"rank hangs", RankHangs},
      {"straggler", Straggles},
      {"agent cut off", AgentCutOff},
      {"pod evicted", PodEvicted},
      {"checkpoint unreadable", CheckpointUnreadable},
      {"storage full", StorageFull},
      {"job scaled", Scaled},
      {"job edited", Edited},
      {"job suspended", Suspended},
      {"job deleted", Deleted},
      {"job submitted", Submitted},
      {"quota changed", QuotaChanged},
  };
  return *faults;
}

std::vector<FaultKind> AllFaults() {
  std::vector<FaultKind> all = OperatorFaults();
  all.insert(all.end(), MachineFaults().begin(), MachineFaults().end());
  all.insert(all.end(), WorkerFaults().begin(), WorkerFaults().end());
  return all;
}

}  // namespace muster::control
