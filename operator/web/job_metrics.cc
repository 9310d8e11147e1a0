#include "operator/web/job_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/ledger_book.h"
#include "operator/metrics/metric_catalog.h"
#include "operator/metrics/series.h"
#include "operator/objects/caches.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

std::string StateOf(const v1alpha1::TrainingJobStatus& status) {
  return status.state().empty() ? absl::StrCat(Name(JobState::kPending)) : status.state();
}

// Returns when the job failed; InfinitePast for one that has not.
absl::Time FailedAt(const v1alpha1::TrainingJobStatus& status) {
  if (!IsTrue(status, ConditionType::kFailed)) return absl::InfinitePast();
  return ParseWall(status.completion_time());
}

// The families of single jobs.
class JobFamilies {
 public:
  void AddInfo(const TrainingJob& job) {
    const std::string queue = job.spec.queue().empty() ? "default" : job.spec.queue();
    info_.Add(1, {LabelOf(job), queue, StateOf(job.status)});
  }
  void AddStatus(const TrainingJob& job);
  void AddSteps(const TrainingJob& job, const ProgressSnapshot& snapshot);
  void Take(std::vector<prometheus::MetricFamily>& out);

 private:
  static std::string LabelOf(const TrainingJob& job) { return absl::StrCat(job.ns, "/", job.name); }
  void AddCheckpoint(const std::string& label, const v1alpha1::TrainingJobStatus& status);
  void AddTimes(const std::string& label, const v1alpha1::PhaseTimes& times);
  void AddGpuMemory(const std::string& label, const v1alpha1::DeviceMemory& memory);
  void AddLedger(const std::string& label, const v1alpha1::LedgerStatus& ledger);
  void AddCost(const std::string& label, const v1alpha1::CostStatus& cost);

  FamilyBuilder info_{MetricId::kJobInfo};
  FamilyBuilder rounds_{MetricId::kJobRounds};
  FamilyBuilder failures_{MetricId::kJobFailures};
  FamilyBuilder workers_{MetricId::kJobWorkers};
  FamilyBuilder steps_{MetricId::kJobSteps};
  FamilyBuilder alert_firing_{MetricId::kJobAlertFiring};
  FamilyBuilder checkpoint_step_{MetricId::kJobCheckpointStep};
  FamilyBuilder checkpoint_time_{MetricId::kJobCheckpointTime};
  FamilyBuilder checkpoint_failing_{MetricId::kJobCheckpointFailing};
  FamilyBuilder step_{MetricId::kJobStep};
  FamilyBuilder step_time_{MetricId::kJobLastStepTime};
  FamilyBuilder loss_{MetricId::kJobLoss};
  FamilyBuilder validation_loss_{MetricId::kJobValidationLoss};
  FamilyBuilder speed_{MetricId::kJobTokensPerSecond};
  FamilyBuilder skipped_{MetricId::kJobSkippedSteps};
  FamilyBuilder spikes_{MetricId::kJobSpikes};
  FamilyBuilder gpu_memory_{MetricId::kJobGpuMemory};
  FamilyBuilder gpu_retries_{MetricId::kJobGpuMemoryRetries};
  FamilyBuilder time_{MetricId::kJobTime};
  FamilyBuilder rank_time_{MetricId::kJobRankTime};
  FamilyBuilder cost_{MetricId::kJobCost};
  FamilyBuilder cost_lost_{MetricId::kJobCostLost};
  FamilyBuilder cost_saved_{MetricId::kJobCostSaved};
  FamilyBuilder energy_{MetricId::kJobEnergy};
  FamilyBuilder energy_lost_{MetricId::kJobEnergyLost};
};

void JobFamilies::AddStatus(const TrainingJob& job) {
  const std::string label = LabelOf(job);
  const v1alpha1::TrainingJobStatus& status = job.status;
  rounds_.Add(static_cast<double>(status.round()), {label});
  failures_.Add(status.failures().count(), {label, "true"});
  failures_.Add(status.failures().ignored(), {label, "false"});
  workers_.Add(status.workers().desired(), {label, "desired"});
  workers_.Add(status.workers().ready(), {label, "ready"});
  if (job.spec.workers().spares() > 0) workers_.Add(status.workers().spares(), {label, "spare"});
  if (job.spec.trainer().train().has_steps()) {
    steps_.Add(static_cast<double>(job.spec.trainer().train().steps()), {label});
  }
  AddCheckpoint(label, status);
  AddLedger(label, status.ledger());
  AddCost(label, status.cost());
  for (const v1alpha1::AlertRule& rule : job.spec.alerts()) {
    const bool fires = std::any_of(
        status.alerts().begin(), status.alerts().end(),
        [&](const v1alpha1::AlertStatus& alert) { return alert.name() == rule.name(); });
    alert_firing_.Add(fires ? 1 : 0, {label, rule.name()});
  }
}

void JobFamilies::AddCheckpoint(const std::string& label,
                                const v1alpha1::TrainingJobStatus& status) {
  const v1alpha1::Condition* saved = FindCondition(status, ConditionType::kCheckpointed);
  const bool failing = saved != nullptr && saved->status() == "False" &&
                       saved->reason() == Name(Reason::kCheckpointFailed);
  checkpoint_failing_.Add(failing ? 1 : 0, {label});
  const absl::Time time = ParseWall(status.checkpoint().time());
  if (time == absl::InfinitePast()) return;
  checkpoint_step_.Add(static_cast<double>(status.checkpoint().step()), {label});
  checkpoint_time_.Add(static_cast<double>(absl::ToUnixMillis(time)) / 1e3, {label});
}

void JobFamilies::AddTimes(const std::string& label, const v1alpha1::PhaseTimes& times) {
  const std::pair<const char*, double> phases[] = {
      {"init", times.init()},
      {"compute", times.compute()},
      {"data", times.data()},
      {"communication", times.communication()},
      {"checkpoint", times.checkpoint()},
      {"recovery", times.recovery()},
      {"other", times.other()},
  };
  for (const auto& [phase, seconds] : phases) time_.Add(seconds, {label, phase});
}

// Unreported time goes into other uses later, and a counter must not fall.
void JobFamilies::AddLedger(const std::string& label, const v1alpha1::LedgerStatus& ledger) {
  for (const TimeUse use : AllTimeUses()) {
    if (use == TimeUse::kUnreported) continue;
    rank_time_.Add(SecondsOf(ledger, use), {label, std::string(Name(use))});
  }
}

// Neither money nor energy is shown before a price or a power was known.
void JobFamilies::AddCost(const std::string& label, const v1alpha1::CostStatus& cost) {
  if (cost.priced_seconds() > 0) {
    cost_.Add(cost.spent(), {label, cost.currency()});
    cost_lost_.Add(cost.lost(), {label, cost.currency()});
    cost_saved_.Add(cost.saved_by_spot(), {label, cost.currency()});
  }
  constexpr double kJoulesPerKwh = 3.6e6;
  if (cost.metered_seconds() > 0) {
    energy_.Add(cost.energy_kwh() * kJoulesPerKwh, {label});
    energy_lost_.Add(cost.energy_lost_kwh() * kJoulesPerKwh, {label});
  }
}

void JobFamilies::AddGpuMemory(const std::string& label, const v1alpha1::DeviceMemory& memory) {
  gpu_memory_.Add(static_cast<double>(memory.total()), {label, "total"});
  gpu_memory_.Add(static_cast<double>(memory.reserved()), {label, "reserved"});
  gpu_memory_.Add(static_cast<double>(memory.allocated_peak()), {label, "peak"});
  gpu_retries_.Add(static_cast<double>(memory.retries()), {label});
}

void JobFamilies::AddSteps(const TrainingJob& job, const ProgressSnapshot& snapshot) {
  if (!snapshot.last_step) return;
  const std::string label = LabelOf(job);
  const v1alpha1::StepReport& last = *snapshot.last_step;
  step_.Add(static_cast<double>(last.version().step()), {label});
  step_time_.Add(static_cast<double>(last.finished_at_us()) / 1e6, {label});
  loss_.Add(last.loss(), {label});
  speed_.Add(snapshot.tokens_per_second, {label});
  skipped_.Add(static_cast<double>(last.skipped_total()), {label});
  spikes_.Add(static_cast<double>(last.spikes_total()), {label});
  if (snapshot.validation_loss) validation_loss_.Add(*snapshot.validation_loss, {label});
  AddTimes(label, snapshot.times);
  if (last.has_device_memory()) AddGpuMemory(label, last.device_memory());
}

void JobFamilies::Take(std::vector<prometheus::MetricFamily>& out) {
  for (FamilyBuilder* family : {&info_,
                                &rounds_,
                                &failures_,
                                &workers_,
                                &steps_,
                                &alert_firing_,
                                &checkpoint_step_,
                                &checkpoint_time_,
                                &checkpoint_failing_,
                                &step_,
                                &step_time_,
                                &loss_,
                                &validation_loss_,
                                &speed_,
                                &skipped_,
                                &spikes_,
                                &gpu_memory_,
                                &gpu_retries_,
                                &time_,
                                &rank_time_,
                                &cost_,
                                &cost_lost_,
                                &cost_saved_,
                                &energy_,
                                &energy_lost_}) {
    out.push_back(family->Take());
  }
}

}  // namespace

void AddJobMetrics(const WebDeps& deps, std::vector<prometheus::MetricFamily>& out) {
  std::map<std::string, int> states;
  for (const JobState state : AllJobStates()) states[absl::StrCat(Name(state))] = 0;
  JobFamilies families;
  std::vector<std::pair<absl::Time, JobCache::Object>> others;  // with the time of the failure
  size_t shown = 0;
  size_t left_out = 0;
  for (const JobCache::Object& job : deps.jobs.List()) {
    ++states[StateOf(job->status)];
    const bool finished = IsFinished(job->status);
    const ProgressSnapshot snapshot =
        finished ? ProgressSnapshot() : deps.progress.Snapshot(job->uid);
    if (finished || (job->status.round() == 0 && !snapshot.last_step)) {
      others.emplace_back(FailedAt(job->status), job);
    } else if (shown == kMaxJobSeries) {
      ++left_out;
    } else {
      ++shown;
      families.AddInfo(*job);
      families.AddStatus(*job);
      families.AddSteps(*job, snapshot);
    }
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (others.size() > kMaxOtherJobs) others.resize(kMaxOtherJobs);
  for (const auto& [failed_at, job] : others) families.AddInfo(*job);
  FamilyBuilder jobs(MetricId::kJobs);
  for (const auto& [state, count] : states) jobs.Add(count, {state});
  out.push_back(jobs.Take());
  families.Take(out);
  out.push_back(
      FamilyBuilder(MetricId::kJobsWithoutSeries).Add(static_cast<double>(left_out)).Take());
}

}  // namespace muster::control
