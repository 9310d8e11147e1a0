#ifndef MUSTER_OPERATOR_ALERTS_JOB_ALERTS_H_
#define MUSTER_OPERATOR_ALERTS_JOB_ALERTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/alerts/alert_rules.h"
#include "operator/alerts/training_history.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The alert rules of one job: what changed since the last look. Pure.
namespace muster::control {

struct AlertRuleMemory {
  std::string kind;
  LossNotFallingMemory loss_not_falling;
  LossSpikeMemory loss_spike;
  ThroughputDropMemory throughput_drop;
};

// The memory of one leadership between two looks. Which rules fire is in the job's status, so that
// a new leader, which begins with AlertMemory{}, neither forgets nor repeats an alert.
struct AlertMemory {
  // The newest step that was looked at.
  int64_t round = 0;
  int64_t step = 0;
  absl::Time stepped_at = absl::InfinitePast();  // monotonic: when it was first seen
  std::map<std::string, AlertRuleMemory> rules;  // by name
};

struct AlertView {
  absl::Time now;                                     // monotonic
  absl::Time running_since = absl::InfiniteFuture();  // InfiniteFuture: the job is not running
  bool ended = false;                                 // the job has succeeded or failed
  const TrainingHistory& history;
  bool ends = false;  // `ended` now: its last reports have not been looked at
};

// A rule that begins or ceases to fire.
struct AlertEdge {
  std::string name;
  std::string kind;
  bool fires = false;
  std::string sentence;
};

struct AlertEvaluation {
  std::vector<AlertEdge> edges;
  absl::Time due = absl::InfiniteFuture();  // when a rule would fire without any report
};

// Evaluates the job's rules. `firing` are the rules that fire so far. A rule that is no longer in
// the spec, or has another kind now, ceases to fire, as do all rules when the job has ended. A rule
// that only the last reports of a job that ends make fire has an edge that begins and none that
// ceases. While the job does not run, rules that fire keep doing so.
AlertEvaluation EvaluateAlerts(
    const google::protobuf::RepeatedPtrField<v1alpha1::AlertRule>& rules,
    const google::protobuf::RepeatedPtrField<v1alpha1::AlertStatus>& firing, const AlertView& view,
    AlertMemory& memory);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_JOB_ALERTS_H_
