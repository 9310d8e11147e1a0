#include "operator/queue/book/queue_from_spec.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/quantity.h"
#include "base/status_macros.h"

namespace muster::control {
namespace {

PreemptWithinQueue WithinQueue(const std::string& value) {
  return value == "Never" ? PreemptWithinQueue::kNever : PreemptWithinQueue::kLowerPriority;
}

ReclaimFrom Reclaim(const std::string& value) {
  if (value == "Never") return ReclaimFrom::kNever;
  return value == "LowerPriority" ? ReclaimFrom::kLowerPriority : ReclaimFrom::kAny;
}

absl::StatusOr<absl::Duration> DurationOf(absl::string_view field, const std::string& value) {
  absl::Duration duration;
  if (absl::ParseDuration(value, &duration)) return duration;
  return absl::InvalidArgumentError(
      absl::StrCat(field, " \"", value, "\" is no duration such as 10m"));
}

absl::StatusOr<Quota> QuotaOf(const v1alpha1::QueueQuota& spec) {
  Quota quota;
  quota.resource = spec.resource();
  if (spec.has_nominal()) {
    MUSTER_ASSIGN_OR_RETURN(quota.nominal, AmountOf(quota.resource, spec.nominal()));
  }
  if (spec.has_borrow_limit()) {
    MUSTER_ASSIGN_OR_RETURN(quota.borrow_limit, AmountOf(quota.resource, spec.borrow_limit()));
  }
  if (spec.has_lend_limit()) {
    MUSTER_ASSIGN_OR_RETURN(quota.lend_limit, AmountOf(quota.resource, spec.lend_limit()));
  }
  return quota;
}

}  // namespace

absl::StatusOr<int64_t> AmountOf(const std::string& resource, const std::string& quantity) {
  const absl::StatusOr<Quantity> parsed = Quantity::Parse(quantity);
  if (!parsed.ok() || parsed->IsNegative() || parsed->IsAbsurd()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", quantity, "\" of ", resource, " is no amount"));
  }
  return resource == "cpu" ? parsed->MilliValue() : parsed->Value();
}

namespace {

absl::Status ReadPreemption(const v1alpha1::QueuePreemption& spec, QueueSpec& queue) {
  queue.preempt_within_queue = WithinQueue(spec.within_queue());
  queue.reclaim = Reclaim(spec.reclaim());
  if (!spec.min_runtime().empty()) {
    MUSTER_ASSIGN_OR_RETURN(queue.min_runtime,
                            DurationOf("preemption.minRuntime", spec.min_runtime()));
  }
  if (spec.has_shrink_after()) {
    MUSTER_ASSIGN_OR_RETURN(queue.shrink_after,
                            DurationOf("preemption.shrinkAfter", spec.shrink_after()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<QueueSpec> QueueFromSpec(const std::string& name,
                                        const v1alpha1::TrainingQueueSpec& spec) {
  QueueSpec queue;
  queue.name = name;
  queue.parent = spec.parent();
  queue.weight = spec.has_weight() ? spec.weight() : 1;
  queue.stopped = spec.stopped();
  MUSTER_RETURN_IF_ERROR(ReadPreemption(spec.preemption(), queue));
  for (const v1alpha1::QueueQuota& quota : spec.quotas()) {
    MUSTER_ASSIGN_OR_RETURN(Quota parsed, QuotaOf(quota));
    queue.quotas.push_back(std::move(parsed));
  }
  for (const v1alpha1::QueueNamespaceLimit& limit : spec.namespace_limits()) {
    NamespaceLimit parsed;
    parsed.ns = limit.namespace_();
    for (const v1alpha1::QueueAmount& amount : limit.limits()) {
      MUSTER_ASSIGN_OR_RETURN(parsed.limits[amount.resource()],
                              AmountOf(amount.resource(), amount.amount()));
    }
    queue.namespace_limits.push_back(std::move(parsed));
  }
  queue.namespaces.assign(spec.namespaces().begin(), spec.namespaces().end());
  if (!queue.namespaces.empty()) return queue;
  for (const NamespaceLimit& limit : queue.namespace_limits) queue.namespaces.push_back(limit.ns);
  return queue;
}

}  // namespace muster::control
