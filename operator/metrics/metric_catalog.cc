#include "operator/metrics/metric_catalog.h"

#include <array>
#include <cstddef>

namespace muster::control {
namespace {

using prometheus::MetricType;

constexpr size_t kMetrics = static_cast<size_t>(MetricId::kCount);

std::vector<double> Quick() {
  return {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30};
}
std::vector<double> Recovery() { return {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}; }

using Catalog = std::array<MetricSpec, kMetrics>;

void AddQueue(Catalog& all) {
  const auto set = [&](MetricId id, MetricSpec spec) { all[static_cast<size_t>(id)] = spec; };
  set(MetricId::kWorkQueueDepth, {"muster_workqueue_depth",
                                  MetricType::Gauge,
                                  {"state"},
                                  "Jobs in the work queue: waiting, delayed or in_progress."});
  set(MetricId::kQueueAdds,
      {"muster_workqueue_adds_total", MetricType::Counter, {}, "Jobs added."});
  set(MetricId::kQueueRetries, {"muster_workqueue_retries_total",
                                MetricType::Counter,
                                {},
                                "Jobs added again after a failed reconcile."});
  set(MetricId::kQueueDuration, {"muster_workqueue_queue_duration_seconds",
                                 MetricType::Histogram,
                                 {},
                                 "How long a ready job waited for a worker.",
                                 Quick()});
  set(MetricId::kQueueWorkDuration, {"muster_workqueue_work_duration_seconds",
                                     MetricType::Histogram,
                                     {},
                                     "How long a worker held a job.",
                                     Quick()});
  set(MetricId::kQueueLongestRunning, {"muster_workqueue_longest_running_seconds",
                                       MetricType::Gauge,
                                       {},
                                       "How long the oldest job in progress has been worked on."});
  set(MetricId::kReconciles, {"muster_reconcile_total",
                              MetricType::Counter,
                              {"result"},
                              "Reconciles: success, conflict, error (retried) or terminal (not "
                              "retried before the job changes)."});
  set(MetricId::kReconcileDuration, {"muster_reconcile_duration_seconds",
                                     MetricType::Histogram,
                                     {},
                                     "Wall time of a reconcile, its API writes included.",
                                     Quick()});
  set(MetricId::kReconcilesActive,
      {"muster_reconcile_active", MetricType::Gauge, {}, "Reconciles under way."});
}

void AddApi(Catalog& all) {
  const auto set = [&](MetricId id, MetricSpec spec) { all[static_cast<size_t>(id)] = spec; };
  set(MetricId::kApiRequests, {"muster_api_requests_total",
                               MetricType::Counter,
                               {"verb", "resource", "code"},
                               "Requests to the API server by HTTP status; 0: no answer."});
  set(MetricId::kApiRequestDuration, {"muster_api_request_duration_seconds",
                                      MetricType::Histogram,
                                      {"verb"},
                                      "Latency of requests to the API server.",
                                      Quick()});
  set(MetricId::kApiThrottleDuration, {"muster_api_throttle_duration_seconds",
                                       MetricType::Histogram,
                                       {},
                                       "How long requests waited for the client's own rate limit.",
                                       Quick()});
  set(MetricId::kWatchLists, {"muster_watch_lists_total",
                              MetricType::Counter,
                              {"resource"},
                              "Complete lists; all but the first per resource are relists."});
  set(MetricId::kWatchesOpened,
      {"muster_watch_opened_total", MetricType::Counter, {"resource"}, "Watches opened."});
  set(MetricId::kWatchesEnded, {"muster_watch_ended_total",
                                MetricType::Counter,
                                {"resource", "reason"},
                                "Watches that ended or could not be opened; Expired is a 410."});
  set(MetricId::kCacheObjects, {"muster_cache_objects",
                                MetricType::Gauge,
                                {"resource"},
                                "Objects in the operator's caches."});
  set(MetricId::kCacheParseErrors, {"muster_cache_parse_errors_total",
                                    MetricType::Counter,
                                    {"resource"},
                                    "Objects seen that could not be read and were left out."});
}

void AddControl(Catalog& all) {
  const auto set = [&](MetricId id, MetricSpec spec) { all[static_cast<size_t>(id)] = spec; };
  set(MetricId::kLeader,
      {"muster_leader", MetricType::Gauge, {}, "1 while this operator leads, else 0."});
  set(MetricId::kLeaderTransitions, {"muster_leader_transitions_total",
                                     MetricType::Counter,
                                     {},
                                     "Times this operator became the leader or lost it."});
  set(MetricId::kAgentsAttached,
      {"muster_agents_attached", MetricType::Gauge, {}, "Agent streams open."});
  set(MetricId::kAgentsRefused, {"muster_agents_refused_total",
                                 MetricType::Counter,
                                 {"reason"},
                                 "Agents refused by the coordinator."});
  set(MetricId::kCertificateExpiration, {"muster_certificate_expiration_timestamp_seconds",
                                         MetricType::Gauge,
                                         {"certificate"},
                                         "When a certificate of the coordinator expires, since the "
                                         "Unix epoch: authority or serving."});
  set(MetricId::kRoundsOpened, {"muster_rounds_opened_total",
                                MetricType::Counter,
                                {"reason"},
                                "Rounds opened; FirstRound, or why the one before ended."});
  set(MetricId::kRecoveries, {"muster_recoveries_total",
                              MetricType::Counter,
                              {"class"},
                              "Active rounds that broke without being asked to."});
  set(MetricId::kRecoveryDuration, {"muster_recovery_duration_seconds",
                                    MetricType::Histogram,
                                    {"class"},
                                    "From an active round's break to the next active round.",
                                    Recovery()});
  set(MetricId::kFailures, {"muster_failures_total",
                            MetricType::Counter,
                            {"class", "action"},
                            "Failures of jobs by what was judged and done, counted or not."});
  set(MetricId::kStatusWrites, {"muster_status_writes_total",
                                MetricType::Counter,
                                {"kind"},
                                "Status writes of jobs: decision, or progress alone."});
  set(MetricId::kSavesWaiting,
      {"muster_saves_waiting",
       MetricType::Gauge,
       {},
       "Jobs whose checkpoint is due and waits, for others write to their storage."});
  set(MetricId::kAlertNotifications,
      {"muster_alert_notifications_total",
       MetricType::Counter,
       {"receiver", "result"},
       "Requests to receivers of jobs' alerts: success, or error (tried again)."});
  set(MetricId::kPodsBound,
      {"muster_pods_bound_total", MetricType::Counter, {}, "Pods bound to nodes."});
  set(MetricId::kGangsUndone,
      {"muster_gangs_undone_total",
       MetricType::Counter,
       {},
       "Gangs that were bound in part, too small to run, and whose pods were replaced."});
}

// Nodes, and the queues that share them.
void AddCluster(Catalog& all) {
  const auto set = [&](MetricId id, MetricSpec spec) { all[static_cast<size_t>(id)] = spec; };
  set(MetricId::kTopologyFindings,
      {"muster_topology_findings",
       MetricType::Gauge,
       {},
       "Topology labels of nodes that contradict others; the log names the nodes."});
  set(MetricId::kNodesFaulty,
      {"muster_nodes_faulty",
       MetricType::Gauge,
       {"fault"},
       "Nodes that are not used, because their status is impossible; the log names them."});
  set(MetricId::kNodes, {"muster_nodes",
                         MetricType::Gauge,
                         {"state"},
                         "Nodes: Usable, or the first reason that keeps every worker off them."});
  set(MetricId::kGpus,
      {"muster_gpus",
       MetricType::Gauge,
       {"state"},
       "GPUs of all nodes but faulty ones: Used; Free on nodes without a used one, Fragmented on "
       "nodes with some, or Closed on nodes that no worker may use."});
  set(MetricId::kQueueDecisions, {"muster_queue_decisions_total",
                                  MetricType::Counter,
                                  {"action"},
                                  "What queues decided about jobs: Start, Shrink, Stop or Grow."});
  set(MetricId::kTrainingQueueJobs, {"muster_queue_jobs",
                                     MetricType::Gauge,
                                     {"queue", "state"},
                                     "Jobs of at most 100 queues: waiting or running."});
  set(MetricId::kQueueShare,
      {"muster_queue_share",
       MetricType::Gauge,
       {"queue"},
       "Decayed weighted dominant share of the same queues; the lowest comes first."});
  set(MetricId::kQueueUsed, {"muster_queue_gpus",
                             MetricType::Gauge,
                             {"queue"},
                             "GPUs that the jobs of the same queues use."});
}

// Adds the metrics of the same jobs that come from their status and from the steps they reported.
void AddJobState(Catalog& all) {
  const auto set = [&](MetricId id, MetricSpec spec) { all[static_cast<size_t>(id)] = spec; };
  const std::vector<std::string> job = {"training_job"};
  set(MetricId::kJobInfo, {"muster_job_info",
                           MetricType::Gauge,
                           {"training_job", "queue", "state"},
                           "1; queue and state of the same jobs, and of at most 100 others: the "
                           "newest failures first."});
  set(MetricId::kJobSteps, {"muster_job_steps", MetricType::Gauge, job,
                            "Steps of the whole job, of jobs with a built-in trainer."});
  set(MetricId::kJobValidationLoss,
      {"muster_job_validation_loss", MetricType::Gauge, job, "Loss of the newest validation."});
  set(MetricId::kJobTime,
      {"muster_job_time_seconds_total",
       MetricType::Counter,
       {"training_job", "phase"},
       "Wall time of the steps reported since the operator started, by what it went into."});
  set(MetricId::kJobRankTime,
      {"muster_job_rank_seconds_total",
       MetricType::Counter,
       {"training_job", "use"},
       "Seconds of the job's ranks since it was made, by what they went into: status.ledger."});
  const std::vector<std::string> money = {"training_job", "currency"};
  set(MetricId::kJobCost, {"muster_job_cost_total", MetricType::Counter, money,
                           "Money that the time of the job's workers on nodes has cost, where "
                           "their prices are known: status.cost."});
  set(MetricId::kJobCostLost,
      {"muster_job_cost_lost_total", MetricType::Counter, money,
       "The part of it for time in which steps were done again or a round was recovered."});
  set(MetricId::kJobCostSaved, {"muster_job_cost_saved_by_spot_total", MetricType::Counter, money,
                                "Money that the same time would have cost more without spot "
                                "nodes."});
  set(MetricId::kJobEnergy, {"muster_job_energy_joules_total", MetricType::Counter, job,
                             "Energy that the job's share of its nodes, or of their GPUs, has "
                             "taken, where their power is known: status.cost."});
  set(MetricId::kJobEnergyLost,
      {"muster_job_energy_lost_joules_total", MetricType::Counter, job,
       "The part of it for time in which steps were done again or a round was recovered."});
  set(MetricId::kJobLastStepTime, {"muster_job_last_step_timestamp_seconds", MetricType::Gauge, job,
                                   "When the newest step ended, since the Unix epoch."});
  set(MetricId::kJobCheckpointStep,
      {"muster_job_checkpoint_step", MetricType::Gauge, job, "Step of the newest checkpoint."});
  set(MetricId::kJobCheckpointTime,
      {"muster_job_checkpoint_timestamp_seconds", MetricType::Gauge, job,
       "When the newest checkpoint was recorded, since the Unix epoch."});
  set(MetricId::kJobCheckpointFailing, {"muster_job_checkpoint_failing", MetricType::Gauge, job,
                                        "1 while the newest save has failed, else 0."});
  set(MetricId::kJobRounds, {"muster_job_rounds_total", MetricType::Counter, job,
                             "Rounds of the job since it was made."});
  set(MetricId::kJobFailures,
      {"muster_job_failures_total",
       MetricType::Counter,
       {"training_job", "counted"},
       "Failures since the job was made, by whether its failure policy counts them."});
  set(MetricId::kJobWorkers, {"muster_job_workers",
                              MetricType::Gauge,
                              {"training_job", "state"},
                              "Workers that the job should have: desired; that it has: ready; and, "
                              "if it wants any, that could take over at once: spare."});
  set(MetricId::kJobAlertFiring,
      {"muster_job_alert_firing",
       MetricType::Gauge,
       {"training_job", "alert"},
       "1 while an alert rule of the job's spec fires, else 0, of the same jobs."});
}

void AddJobs(Catalog& all) {
  const auto set = [&](MetricId id, MetricSpec spec) { all[static_cast<size_t>(id)] = spec; };
  set(MetricId::kJobs, {"muster_jobs", MetricType::Gauge, {"state"}, "Jobs by state."});
  set(MetricId::kJobsUnplaced, {"muster_jobs_unplaced",
                                MetricType::Gauge,
                                {"reason"},
                                "Jobs with workers that have no node, by reason of "
                                "docs/placement.md."});
  set(MetricId::kPlacementScore,
      {"muster_placement_score",
       MetricType::Gauge,
       {"training_job"},
       "Score of the nodes of at most 100 jobs that have some, 0 to 1."});
  set(MetricId::kJobStep, {"muster_job_step",
                           MetricType::Gauge,
                           {"training_job"},
                           "Newest committed step, of at most 100 jobs that run."});
  set(MetricId::kJobLoss, {"muster_job_loss",
                           MetricType::Gauge,
                           {"training_job"},
                           "Loss of the newest step, of the same jobs."});
  set(MetricId::kJobTokensPerSecond, {"muster_job_tokens_per_second",
                                      MetricType::Gauge,
                                      {"training_job"},
                                      "Tokens per second of late, of the same jobs."});
  set(MetricId::kJobSkippedSteps,
      {"muster_job_skipped_steps",
       MetricType::Gauge,
       {"training_job"},
       "Steps skipped because loss or gradient was not finite, of the same jobs."});
  set(MetricId::kJobSpikes, {"muster_job_spikes",
                             MetricType::Gauge,
                             {"training_job"},
                             "Steps that trainer.watch judged to be spikes, of the same jobs."});
  set(MetricId::kJobGpuMemory,
      {"muster_job_gpu_memory_bytes",
       MetricType::Gauge,
       {"training_job", "state"},
       "Memory of the rank whose GPU is the fullest: of the GPU, total; held by the allocator of "
       "tensors, reserved; the most in tensors at one time, peak."});
  set(MetricId::kJobGpuMemoryRetries,
      {"muster_job_gpu_memory_retries_total",
       MetricType::Counter,
       {"training_job"},
       "How often ranks had to give memory back to their GPU to get any, since they started."});
  AddJobState(all);
  set(MetricId::kJobsWithoutSeries, {"muster_jobs_without_series",
                                     MetricType::Gauge,
                                     {},
                                     "Jobs that run and have no muster_job_* series."});
}

void AddProcess(Catalog& all) {
  const auto set = [&](MetricId id, MetricSpec spec) { all[static_cast<size_t>(id)] = spec; };
  set(MetricId::kBuildInfo,
      {"muster_build_info", MetricType::Gauge, {"version"}, "1; the version is the label."});
  set(MetricId::kProcessCpu, {"process_cpu_seconds_total",
                              MetricType::Counter,
                              {},
                              "User and system CPU time of the operator."});
  set(MetricId::kProcessResident,
      {"process_resident_memory_bytes", MetricType::Gauge, {}, "Resident memory."});
  set(MetricId::kProcessVirtual,
      {"process_virtual_memory_bytes", MetricType::Gauge, {}, "Virtual memory."});
  set(MetricId::kProcessOpenFds,
      {"process_open_fds", MetricType::Gauge, {}, "Open file descriptors."});
  set(MetricId::kProcessMaxFds,
      {"process_max_fds", MetricType::Gauge, {}, "Limit of open file descriptors."});
  set(MetricId::kProcessStartTime, {"process_start_time_seconds",
                                    MetricType::Gauge,
                                    {},
                                    "Start of the process since the Unix epoch."});
  set(MetricId::kProcessThreads, {"process_threads", MetricType::Gauge, {}, "Threads."});
}

Catalog MakeCatalog() {
  Catalog all;
  AddQueue(all);
  AddApi(all);
  AddControl(all);
  AddCluster(all);
  AddJobs(all);
  AddProcess(all);
  return all;
}

}  // namespace

const MetricSpec& SpecOf(MetricId id) {
  static const Catalog& catalog = *new Catalog(MakeCatalog());
  return catalog[static_cast<size_t>(id)];
}

std::string TypeName(prometheus::MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    case MetricType::Summary:
      return "summary";
    case MetricType::Untyped:
      return "unknown";
  }
  return "unknown";
}

}  // namespace muster::control
