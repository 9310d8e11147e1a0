#ifndef MUSTER_OPERATOR_METRICS_METRIC_CATALOG_H_
#define MUSTER_OPERATOR_METRICS_METRIC_CATALOG_H_

#include <string>
#include <vector>

#include "prometheus/metric_type.h"

// Every metric that the operator exports. /metrics, docs/metrics.md and the tests share this list.
// Names and labels are an interface on which dashboards and alerts depend. Names contain the unit,
// base units only; counters end in _total. Label values are from closed lists, or bounded by the
// series that hold them.
namespace muster::control {

enum class MetricId {
  kWorkQueueDepth,
  kQueueAdds,
  kQueueRetries,
  kQueueDuration,
  kQueueWorkDuration,
  kQueueLongestRunning,
  kReconciles,
  kReconcileDuration,
  kReconcilesActive,
  kApiRequests,
  kApiRequestDuration,
  kApiThrottleDuration,
  kWatchLists,
  kWatchesOpened,
  kWatchesEnded,
  kCacheObjects,
  kCacheParseErrors,
  kLeader,
  kLeaderTransitions,
  kAgentsAttached,
  kAgentsRefused,
  kCertificateExpiration,
  kRoundsOpened,
  kRecoveries,
  kRecoveryDuration,
  kFailures,
  kStatusWrites,
  kSavesWaiting,
  kAlertNotifications,
  kPodsBound,
  kGangsUndone,
  kTopologyFindings,
  kNodesFaulty,
  kNodes,
  kGpus,
  kQueueDecisions,
  kTrainingQueueJobs,
  kQueueShare,
  kQueueUsed,
  kJobs,
  kJobStep,
  kJobLoss,
  kJobTokensPerSecond,
  kJobSkippedSteps,
  kJobSpikes,
  kJobGpuMemory,
  kJobGpuMemoryRetries,
  kJobInfo,
  kJobSteps,
  kJobValidationLoss,
  kJobTime,
  kJobRankTime,
  kJobCost,
  kJobCostLost,
  kJobCostSaved,
  kJobEnergy,
  kJobEnergyLost,
  kJobLastStepTime,
  kJobCheckpointStep,
  kJobCheckpointTime,
  kJobCheckpointFailing,
  kJobRounds,
  kJobFailures,
  kJobWorkers,
  kJobAlertFiring,
  kJobsUnplaced,
  kPlacementScore,
  kJobsWithoutSeries,
  kBuildInfo,
  kProcessCpu,
  kProcessResident,
  kProcessVirtual,
  kProcessOpenFds,
  kProcessMaxFds,
  kProcessStartTime,
  kProcessThreads,
  kCount,
};

struct MetricSpec {
  std::string name;
  prometheus::MetricType type;
  std::vector<std::string> labels;
  std::string help;
  // Ascending upper bounds of a histogram's buckets, without the infinite one.
  std::vector<double> buckets = {};
};

const MetricSpec& SpecOf(MetricId id);
std::string TypeName(prometheus::MetricType type);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_METRICS_METRIC_CATALOG_H_
