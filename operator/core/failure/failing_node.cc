#include "operator/core/failure/failing_node.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/leave/move.h"
#include "operator/core/state/failure_policy.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

using Failure = FailingNodeMemory::Failure;

constexpr size_t kFailures = 2;

bool HasWorkersElsewhere(const Draft& draft, const std::string& node) {
  return std::any_of(draft.view.pods.begin(), draft.view.pods.end(),
                     [&](const PodView& pod) { return !pod.node.empty() && pod.node != node; });
}

// Returns true if the status has a counted failure on a node that was not seen before.
bool IsNew(const v1alpha1::FailureRecord& latest, const FailingNodeMemory& memory) {
  const FailureAction action = FindAction(latest.action()).value_or(FailureAction::kIgnore);
  return !latest.node().empty() && IsCounted(action) && latest.time() != memory.latest;
}

}  // namespace

void LeaveFailingNode(Draft& draft) {
  FailingNodeMemory& memory = draft.memory().failing_node;
  const v1alpha1::FailureRecord& latest = draft.status().failures().latest();
  if (draft.done || !IsNew(latest, memory)) return;
  memory.latest = latest.time();
  const absl::Time since = draft.view.now - FailureWindow(draft.spec());
  std::erase_if(memory.failures, [&](const Failure& failure) { return failure.at < since; });
  memory.failures.push_back({draft.view.now, latest.node()});
  const bool one_node =
      std::all_of(memory.failures.begin(), memory.failures.end(),
                  [&](const Failure& failure) { return failure.node == latest.node(); });
  if (!one_node || memory.failures.size() < kFailures) return;
  if (!HasWorkersElsewhere(draft, latest.node())) return;
  const Worker* worker = draft.FindWorker(latest.worker());
  if (worker == nullptr || worker->pod == nullptr || worker->pod->node != latest.node()) return;
  MoveAway(draft, *worker,
           absl::StrCat("the job has failed ", memory.failures.size(), " times on it within ",
                        absl::FormatDuration(FailureWindow(draft.spec())), ", and on no other"));
}

}  // namespace muster::control
