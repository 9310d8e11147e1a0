#include "operator/core/failure/failure_evidence.h"

#include "absl/strings/str_cat.h"
#include "operator/core/failure/failure_text.h"

namespace muster::control {
namespace {

using v1alpha1::FailureRecord;
using Program = FailureFacts::Program;

constexpr size_t kMaxReason = 128;

const PodView* FindPod(const JobView& view, const std::string& uid) {
  for (const PodView& pod : view.pods) {
    if (pod.uid == uid) return &pod;
  }
  return nullptr;
}

void NotePod(const PodView& pod, Failure& failure) {
  failure.facts.pod_conditions = pod.conditions;
  failure.facts.node_conditions = pod.node_conditions;
  failure.record.set_pod(pod.name);
  if (!pod.node.empty()) failure.record.set_node(pod.node);
}

void NoteEnd(const ContainerEnd& end, Failure& failure) {
  failure.record.set_exit_code(end.exit_code);
  if (end.signal != 0) failure.record.set_signal(end.signal);
  if (!end.reason.empty()) failure.record.set_reason(end.reason.substr(0, kMaxReason));
}

Failure FailureOfAgent(const Draft& draft, const AgentView& agent, int64_t round) {
  Failure failure;
  failure.facts.program = draft.spec().has_trainer() ? Program::kTrainer : Program::kCommand;
  failure.record.set_worker(agent.index);
  failure.record.set_round(round);
  if (const PodView* pod = FindPod(draft.view, agent.pod_uid)) {
    failure.facts.reason = pod->reason;
    NotePod(*pod, failure);
  }
  return failure;
}

// Returns the container that the evidence names: `worker` if it failed, else the first one that
// did.
const ContainerEnd* FindEnd(const PodView& pod) {
  const ContainerEnd* found = nullptr;
  for (const ContainerEnd& end : pod.ended) {
    if (end.exit_code == 0 && end.signal == 0) continue;
    if (end.container == kWorkerContainer) return &end;
    if (found == nullptr) found = &end;
  }
  return found;
}

}  // namespace

Failure FailureOfRank(const Draft& draft, const AgentView& agent, const ExitReport& exit) {
  Failure failure = FailureOfAgent(draft, agent, exit.round.round);
  failure.facts.ends = {{kWorkerContainer, exit.exit_code, exit.signal, exit.reason}};
  failure.facts.log = exit.log_tail;
  failure.record.set_rank(exit.rank);
  NoteEnd(failure.facts.ends.front(), failure);
  failure.sentence = DescribeRankExit(agent.index, exit);
  return failure;
}

Failure FailureOfWorker(const Draft& draft, const AgentView& agent,
                        const FinishedReport& finished) {
  Failure failure = FailureOfAgent(draft, agent, finished.round.round);
  failure.facts.ends = {{kWorkerContainer, finished.exit_code, 0, "Exited"}};
  failure.facts.log = finished.message;
  NoteEnd(failure.facts.ends.front(), failure);
  // The message is the log, and stands once where both are shown.
  failure.sentence =
      absl::StrCat("worker ", agent.index, " ended with exit code ", finished.exit_code);
  return failure;
}

Failure FailureOfPod(const Draft& draft, const PodView& pod) {
  Failure failure;
  failure.facts.program = draft.spec().has_trainer() ? Program::kTrainer : Program::kAgent;
  failure.facts.of_pod = true;
  failure.facts.probed = draft.view.probed;
  failure.facts.ends = pod.ended;
  failure.facts.reason = pod.reason;
  failure.facts.log = pod.message;
  failure.record.set_worker(pod.index);
  if (draft.view.status.round() > 0) failure.record.set_round(draft.view.status.round());
  NotePod(pod, failure);
  failure.sentence = absl::StrCat("pod ", pod.name);
  if (const ContainerEnd* end = FindEnd(pod)) {
    NoteEnd(*end, failure);
    absl::StrAppend(&failure.sentence, " ended with exit code ", end->exit_code);
    if (end->container != kWorkerContainer) {
      absl::StrAppend(&failure.sentence, " of container ", end->container);
    }
  } else {
    absl::StrAppend(&failure.sentence, pod.deleting ? " is being taken away" : " failed");
  }
  if (!pod.reason.empty()) {
    failure.record.set_reason(pod.reason.substr(0, kMaxReason));
    absl::StrAppend(&failure.sentence, " (", pod.reason, ")");
  }
  return failure;
}

Failure FailureOfRecord(const Draft& draft, const FailureRecord& record, const PodView& pod) {
  Failure failure;
  failure.facts.program = draft.spec().has_trainer() ? Program::kTrainer : Program::kCommand;
  failure.facts.ends = {{kWorkerContainer, record.exit_code(), record.signal(), record.reason()}};
  failure.facts.reason = pod.reason;
  failure.facts.log = record.log();
  NotePod(pod, failure);
  failure.verdict = EvaluateFailure(draft.spec().failure_policy(), failure.facts);
  return failure;
}

}  // namespace muster::control
