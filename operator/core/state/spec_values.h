#ifndef MUSTER_OPERATOR_CORE_STATE_SPEC_VALUES_H_
#define MUSTER_OPERATOR_CORE_STATE_SPEC_VALUES_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/backoff.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The values that Decide() reads from a spec, as C++ types. Specs arrive defaulted and validated; a
// field that is absent nevertheless gets the value that does least.
namespace muster::control {

// The value of managedBy that names this operator, as does leaving the field out.
inline constexpr char kManagedByMuster[] = "muster.dev/operator";

int WorkerCount(const v1alpha1::TrainingJobSpec& spec);
// Returns the smallest number of workers, from workers.min on, that can form a round.
int MinWorkers(const v1alpha1::TrainingJobSpec& spec);  // 1..WorkerCount
// Returns how many of `workers` workers form a round (planner/layout.h). The others wait as spares.
int WorkersThatForm(const v1alpha1::TrainingJobSpec& spec, int workers);
// Returns true if the number of ranks of a round has to suit parallelism.shard,
// pipeline or context.
bool FormsByMultiples(const v1alpha1::TrainingJobSpec& spec);
// Names the multiple, e.g. "parallelism.shard, 4".
std::string MultipleText(const v1alpha1::TrainingJobSpec& spec);
// Returns workers.spares; 0 for a job that grows by itself, whose further workers train.
int SpareCount(const v1alpha1::TrainingJobSpec& spec);
// Returns the most workers that the job may grow to by itself: WorkerCount unless elastic.policy is
// Grow.
int MaxWorkers(const v1alpha1::TrainingJobSpec& spec);
bool GrowsByItself(const v1alpha1::TrainingJobSpec& spec);  // elastic.policy Grow
// Returns true if the job's queue may give it workers beyond workers.count, to train or as spares.
bool MayHaveMore(const v1alpha1::TrainingJobSpec& spec);
absl::Duration GrowthSnooze(const v1alpha1::TrainingJobSpec& spec);
int MaxFailures(const v1alpha1::TrainingJobSpec& spec);
int MaxIdenticalFailures(const v1alpha1::TrainingJobSpec& spec);  // 0: any number
absl::Duration FailureWindow(const v1alpha1::TrainingJobSpec& spec);
// Returns the spec's back-off between retries. A bound that the spec does not set is taken from
// `otherwise`; one that it sets is at least kShortestRetry.
BackoffBounds RetryBackoff(const v1alpha1::TrainingJobSpec& spec, const BackoffBounds& otherwise);
bool ShrinksOnFailure(const v1alpha1::TrainingJobSpec& spec);
bool LeaderDecidesSuccess(const v1alpha1::TrainingJobSpec& spec);  // successPolicy Leader
bool IsManagedByAnother(const v1alpha1::TrainingJobSpec& spec);
int64_t TotalSteps(const v1alpha1::TrainingJobSpec& spec);  // 0: no built-in trainer
// Returns InfiniteDuration if the spec sets no deadline.
absl::Duration ActiveDeadline(const v1alpha1::TrainingJobSpec& spec);
// Returns how long agents go on without an operator. If the spec does not set it, that is
// `otherwise`, or else 6 hours for a trainer and forever for a command.
absl::Duration OrphanDeadline(const v1alpha1::TrainingJobSpec& spec,
                              std::optional<absl::Duration> otherwise);
absl::Duration ParseDurationOr(absl::string_view text, absl::Duration otherwise);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_SPEC_VALUES_H_
