#ifndef MUSTER_OPERATOR_API_RECOVERY_RULES_H_
#define MUSTER_OPERATOR_API_RECOVERY_RULES_H_

#include <optional>
#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The rules on how a job saves its state, and on what it does after failures: predicates of
// rules.h, each for the message that declares it.

std::optional<std::string> IntervalSteps(const v1alpha1::CheckpointInterval& interval);
std::optional<std::string> IntervalTime(const v1alpha1::CheckpointInterval& interval);
std::optional<std::string> IntervalMin(const v1alpha1::CheckpointInterval& interval);
std::optional<std::string> IntervalMax(const v1alpha1::CheckpointInterval& interval);
std::optional<std::string> IntervalOrder(const v1alpha1::CheckpointInterval& interval);
std::optional<std::string> ObjectUriIsValid(const v1alpha1::CheckpointSpec& checkpoint);
std::optional<std::string> StoreOfObjectUri(const v1alpha1::CheckpointSpec& checkpoint);
std::optional<std::string> DiskBesideUri(const v1alpha1::CheckpointSpec& checkpoint);
std::optional<std::string> CopiesWithoutOffload(const v1alpha1::TrainingJobSpec& spec);
std::optional<std::string> BackoffOrder(const v1alpha1::FailurePolicySpec& policy);
std::optional<std::string> RuleHasMatcher(const v1alpha1::FailureRule& rule);
std::optional<std::string> LogPatternCompiles(const v1alpha1::FailureRule& rule);
std::optional<std::string> ExitCodesGiven(const v1alpha1::ExitCodeMatch& codes);
std::optional<std::string> RangeOrder(const v1alpha1::ExitCodeRange& range);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_RECOVERY_RULES_H_
