#include "operator/core/growth/size_reason.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

std::string HaveWorkers(int workers, int count) {
  if (workers == count) return "it has workers.count workers";
  const char* than = workers > count ? " more than workers.count" : " fewer than workers.count";
  return absl::StrCat("it has ", std::abs(workers - count), than);
}

}  // namespace

SizeReason ExplainSize(const v1alpha1::TrainingJobSpec& spec,
                       const v1alpha1::TrainingJobStatus& status) {
  const int count = WorkerCount(spec);
  const v1alpha1::PreemptionStatus& order = status.preemption();
  SizeReason size;
  size.workers = GrowsByItself(spec) ? std::max(count, GrantedSize(spec, status)) : count;
  if (IsFinished(status) || spec.suspend()) return size;
  const int kept = status.elastic().kept();
  if (kept > 0 && order.workers() == kept) {
    size.workers = std::min(count, kept);
    size.reason = std::string(Name(Reason::kUnderused));
    size.sentence = absl::StrCat("it keeps ", size.workers, " of ", count,
                                 " workers, since more are expected to be used less than "
                                 "elastic.utilisation.below");
    return size;
  }
  if (order.has_workers()) {
    size.workers = std::min(count, order.workers());
    size.reason = order.reason();
    const bool own_wish = order.reason() == Name(Reason::kUnderused);
    size.sentence =
        absl::StrCat(own_wish ? "" : "its queue has taken workers: ", "the job ", order.message());
    return size;
  }
  const std::string have = HaveWorkers(size.workers, count);
  if (!GrowsByItself(spec)) {
    if (spec.workers().max() <= count) return size;
    size.reason = "Fixed";
    size.sentence = absl::StrCat(have, "; elastic.policy is Fixed, so it does not grow by itself");
    return size;
  }
  size.reason = status.elastic().reason();
  size.sentence = absl::StrCat(have, "; why not more: ", status.elastic().message());
  return size;
}

std::string DescribeResize(const v1alpha1::TrainingJobStatus& status) {
  const v1alpha1::ResizeStatus& resize = status.resize();
  if (!resize.has_round()) return "";
  return absl::StrFormat("from %d to %d workers in round %d, with a pause of %.3g s: %s",
                         resize.from(), resize.to(), resize.round(), resize.pause_seconds(),
                         resize.message());
}

std::string DescribeSpares(const v1alpha1::TrainingJobSpec& spec,
                           const v1alpha1::TrainingJobStatus& status) {
  if (SpareCount(spec) == 0) return "";
  std::string text = absl::StrCat(status.workers().spares(), " of ", SpareCount(spec),
                                  " can take the place of a lost worker at once");
  const v1alpha1::SwapStatus& swap = status.swap();
  if (!swap.has_round()) return text;
  absl::StrAppendFormat(&text, "; in round %d, %s took the ranks of %s, with a pause of %.3g s",
                        swap.round(), swap.spares(), swap.workers(), swap.pause_seconds());
  return text;
}

}  // namespace muster::control
