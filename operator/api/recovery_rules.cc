#include "operator/api/recovery_rules.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/object_store/object_uri.h"
#include "operator/api/unless.h"
#include "re2/re2.h"

namespace muster::control {

using v1alpha1::CheckpointInterval;
using v1alpha1::CheckpointSpec;
using v1alpha1::ExitCodeMatch;
using v1alpha1::ExitCodeRange;
using v1alpha1::FailurePolicySpec;
using v1alpha1::FailureRule;
using v1alpha1::TrainingJobSpec;

namespace {

// Leaves room in the keys of a store for the names of the files.
constexpr size_t kMostObjectUri = 1000;

// A duration that is malformed is another rule's business.
bool AreInOrder(const std::string& shorter, const std::string& longer) {
  absl::Duration first, second;
  const bool known = absl::ParseDuration(shorter, &first) && absl::ParseDuration(longer, &second);
  return !known || first <= second;
}

}  // namespace

std::optional<std::string> IntervalSteps(const CheckpointInterval& interval) {
  return Unless((interval.mode() == "Steps") == interval.has_steps());
}

std::optional<std::string> IntervalTime(const CheckpointInterval& interval) {
  return Unless((interval.mode() == "Time") == interval.has_time());
}

std::optional<std::string> IntervalMin(const CheckpointInterval& interval) {
  return Unless(interval.mode() == "Auto" || !interval.has_min());
}

std::optional<std::string> IntervalMax(const CheckpointInterval& interval) {
  return Unless(interval.mode() == "Auto" || !interval.has_max());
}

std::optional<std::string> IntervalOrder(const CheckpointInterval& interval) {
  return Unless(!interval.has_min() || !interval.has_max() ||
                AreInOrder(interval.min(), interval.max()));
}

std::optional<std::string> ObjectUriIsValid(const CheckpointSpec& checkpoint) {
  if (!IsObjectUri(checkpoint.uri())) return {};
  const absl::StatusOr<ObjectUri> uri = ParseObjectUri(checkpoint.uri());
  return Unless(uri.ok() && checkpoint.uri().size() <= kMostObjectUri,
                std::string(uri.status().message()));
}

std::optional<std::string> StoreOfObjectUri(const CheckpointSpec& checkpoint) {
  return Unless(!checkpoint.has_s3() || IsObjectUri(checkpoint.uri()));
}

std::optional<std::string> DiskBesideUri(const CheckpointSpec& checkpoint) {
  const std::string& path = checkpoint.memory().disk().path();
  return Unless(!checkpoint.memory().has_disk() ||
                (checkpoint.uri() != path && checkpoint.uri() != absl::StrCat(path, "/")));
}

std::optional<std::string> CopiesWithoutOffload(const TrainingJobSpec& spec) {
  const v1alpha1::OffloadSpec& offload = spec.trainer().parallelism().offload();
  return Unless(!spec.checkpoint().has_memory() ||
                (offload.optimizer() != "Disk" && offload.weights() != "Disk"));
}

std::optional<std::string> BackoffOrder(const FailurePolicySpec& policy) {
  return Unless(AreInOrder(policy.initial_backoff(), policy.max_backoff()),
                absl::StrCat("here ", policy.initial_backoff(), " and ", policy.max_backoff()));
}

std::optional<std::string> RuleHasMatcher(const FailureRule& rule) {
  return Unless(rule.has_exit_codes() || rule.has_log_pattern() || rule.signals_size() > 0 ||
                rule.reasons_size() > 0 || rule.containers_size() > 0 ||
                rule.node_conditions_size() > 0 || rule.pod_conditions_size() > 0);
}

std::optional<std::string> LogPatternCompiles(const FailureRule& rule) {
  if (!rule.has_log_pattern()) return {};
  const RE2 pattern(rule.log_pattern(), RE2::Quiet);
  return Unless(pattern.ok(), pattern.error());
}

std::optional<std::string> ExitCodesGiven(const ExitCodeMatch& codes) {
  return Unless(codes.values_size() > 0 || codes.ranges_size() > 0);
}

std::optional<std::string> RangeOrder(const ExitCodeRange& range) {
  if (!range.has_first() || !range.has_last()) return {};
  return Unless(range.first() <= range.last(),
                absl::StrCat("here ", range.first(), " and ", range.last()));
}

}  // namespace muster::control
