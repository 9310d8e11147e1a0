#include "operator/core/summary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "operator/core/ending/ended.h"
#include "operator/core/failure/fence.h"
#include "operator/core/growth/keep_spares.h"
#include "operator/core/leave/spares.h"
#include "operator/core/resume/floor.h"
#include "operator/core/round/next_members.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

constexpr size_t kMaxMessage = 512;

// Every container waits with one of these while nothing is wrong.
bool IsUsual(absl::string_view reason) {
  constexpr std::array<absl::string_view, 3> kUsual = {"", "ContainerCreating", "PodInitializing"};
  return std::find(kUsual.begin(), kUsual.end(), reason) != kUsual.end();
}

const ContainerWait* FindBlocked(const PodView& pod) {
  if (pod.deleting || pod.phase != PodPhase::kPending) return nullptr;
  const auto found = std::find_if(pod.waiting.begin(), pod.waiting.end(),
                                  [](const ContainerWait& wait) { return !IsUsual(wait.reason); });
  return found == pod.waiting.end() ? nullptr : &*found;
}

// The reason why the job had no place stays until it has one, or another reason. "No pod is bound
// yet", which is true in between, would cost a write for each waiting job.
bool KeepsItsReason(const Draft& draft, int bound) {
  if (!draft.view.placement.reason.empty() || bound > 0 || draft.view.pods.empty()) return false;
  const v1alpha1::Condition* shown = FindCondition(draft.view.status, ConditionType::kScheduled);
  return shown != nullptr && (shown->reason() == Name(Reason::kUnschedulable) ||
                              shown->reason() == Name(Reason::kQueued));
}

// The findings of an earlier leader stay as long as the pods do.
void ShowPlacement(Draft& draft, int bound) {
  const PlacementView& seen = draft.view.placement;
  if (seen.reason.empty() && bound == 0) return draft.status().clear_placement();
  if (seen.reason.empty() && seen.score == 0) return;
  v1alpha1::PlacementStatus& shown = *draft.status().mutable_placement();
  shown.set_reason(seen.reason.empty() ? "Placed" : seen.reason);
  shown.clear_score();
  shown.clear_level();
  shown.clear_domain();
  if (seen.score == 0 || bound == 0) return;
  shown.set_score(seen.score);
  if (seen.level.empty()) return;
  shown.set_level(seen.level);
  shown.set_domain(seen.domain);
}

void ShowScheduled(Draft& draft) {
  // The job is not to wait for workers beyond workers.count.
  const int count = std::min(draft.WorkersWanted(), WorkerCount(draft.spec()));
  const int bound = std::min(count, draft.WorkersBound(count + draft.SparesWanted()));
  if (KeepsItsReason(draft, bound)) return;
  ShowPlacement(draft, bound);
  const std::string sentence = absl::StrCat(bound, " of ", count, " pods are bound to nodes");
  if (bound >= count) {
    draft.Condition(ConditionType::kScheduled, true, Reason::kPodsBound, sentence);
  } else if (!draft.view.placement.reason.empty()) {
    const bool queued = draft.view.placement.queued;
    draft.Condition(ConditionType::kScheduled, false,
                    queued ? Reason::kQueued : Reason::kUnschedulable,
                    draft.view.placement.sentence);
  } else {
    draft.Condition(ConditionType::kScheduled, false, Reason::kWaitingForPods, sentence);
  }
}

struct Shown {
  Reason reason;
  std::string sentence;
  bool running = false;
};

// Returns what to show if the job has no round because it is not to have one.
std::optional<Shown> ShowStopped(const Draft& draft) {
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  if (IsTrue(status, ConditionType::kSucceeded)) {
    return Shown{Reason::kTrainingFinished, "the job has ended"};
  }
  if (IsTrue(status, ConditionType::kFailed)) return Shown{Reason::kStopping, "the job has ended"};
  if (IsTrue(status, ConditionType::kSuspended)) {
    return Shown{Reason::kWorkersStopped, "the job is suspended"};
  }
  if (draft.plan.memory.stop.since || draft.spec().suspend()) {
    const bool preempted = !draft.spec().suspend() && status.preemption().has_workers();
    return Shown{Reason::kStopping,
                 preempted ? "the job makes room for another" : "the job is being suspended"};
  }
  return std::nullopt;
}

// The reason why a round broke stays until the next one is Active, because it explains the outage.
std::optional<Shown> ShowRound(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase == RoundPhase::kActive) {
    return Shown{memory.go ? Reason::kRoundActive : Reason::kRoundAdopted,
                 absl::StrCat("round ", memory.id.round, " is active with ", memory.members.size(),
                              " workers"),
                 true};
  }
  // Pods usually end soon after they were lost; only a longer wait is worth reporting.
  if (draft.view.now >= memory.phase_since + draft.options.stop_deadline) {
    if (const PodView* pod = FindPossiblyRunning(draft)) {
      return Shown{Reason::kEndUnconfirmed, DescribeUnconfirmed(*pod)};
    }
  }
  if (const auto blocked = DescribeBlockedPod(draft)) {
    return Shown{Reason::kPodNotStarting, *blocked};
  }
  if (memory.broken_reason) return Shown{*memory.broken_reason, memory.broken_sentence};
  // A new leader keeps what the last one wrote until it has better information.
  if (draft.TakingOver()) return std::nullopt;
  if (memory.phase == RoundPhase::kIdle) {
    return Shown{Reason::kWaitingForWorkers, "waiting for workers to be bound and attached"};
  }
  return Shown{Reason::kPreparingRound,
               absl::StrCat("round ", memory.id.round, " is being formed")};
}

// Warns once, though kubelet's words change as it tries again.
void WarnOfBlockedPod(Draft& draft, const Shown& shown) {
  if (shown.reason != Reason::kPodNotStarting) return;
  const v1alpha1::Condition* before = FindCondition(draft.view.status, ConditionType::kRunning);
  if (before != nullptr && before->reason() == Name(Reason::kPodNotStarting)) return;
  draft.EmitWarning(shown.reason, shown.sentence);
}

void ShowRunning(Draft& draft) {
  std::optional<Shown> shown = ShowStopped(draft);
  const bool stopped = shown.has_value();
  if (!stopped) shown = ShowRound(draft);
  if (!shown) return;
  WarnOfBlockedPod(draft, *shown);
  draft.Condition(ConditionType::kRunning, shown->running, shown->reason, shown->sentence);
  if (!stopped && IsHeld(draft.plan.memory)) {
    draft.Condition(ConditionType::kCheckpointed, false, shown->reason, shown->sentence);
  }
}

// Returns how many members of the round still run: a command's workers end one by one.
int LivingMembers(const Draft& draft) {
  int living = 0;
  for (const v1alpha1::Member& member : draft.plan.memory.members) {
    const Worker* worker = draft.FindWorker(member.worker().index());
    living += worker == nullptr || !worker->ended;
  }
  return living;
}

// Returns how many workers wait although they could train; empty if none do.
std::string DescribeLeftOver(const Draft& draft) {
  if (!FormsByMultiples(draft.spec()) || SpareCount(draft.spec()) > 0) return "";
  const int left = ReadySpares(draft);
  if (left == 0) return "";
  return absl::StrCat("; ", left, left == 1 ? " waits as a spare" : " wait as spares",
                      " until the ranks are a larger multiple of ", MultipleText(draft.spec()));
}

void ShowDegraded(Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive) return;
  const int members = LivingMembers(draft);
  const int count = WorkerCount(draft.spec()) - EndedWorkers(draft);
  const std::string sentence =
      members > count ? absl::StrCat(members, " workers are training, ", members - count,
                                     " more than workers.count")
                      : absl::StrCat(members, " of ", count,
                                     count == 1 ? " worker is training" : " workers are training");
  if (members < count && draft.WorkersWanted() < count) {
    draft.Condition(ConditionType::kDegraded, true, Reason::kGaveUpWorkers,
                    absl::StrCat(sentence, ": the job ", draft.plan.status.preemption().message()));
    return;
  }
  if (members >= count) {
    return draft.Condition(ConditionType::kDegraded, false, Reason::kAllWorkers, sentence);
  }
  const std::optional<std::string> blocked = DescribeBlockedPod(draft);
  draft.Condition(
      ConditionType::kDegraded, true, Reason::kFewerWorkers,
      absl::StrCat(sentence, DescribeLeftOver(draft), blocked ? ": " : "", blocked.value_or("")));
}

// A job that made room for another waits for its turn even before the queue has said so.
bool IsQueued(const Draft& draft) {
  if (draft.WorkersBound() > 0) return false;
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  const v1alpha1::Condition* scheduled = FindCondition(status, ConditionType::kScheduled);
  return IsTrue(status, ConditionType::kPreempted) ||
         (scheduled != nullptr && scheduled->reason() == Name(Reason::kQueued));
}

JobState StateOf(const Draft& draft) {
  const v1alpha1::TrainingJobStatus& status = draft.plan.status;
  if (IsTrue(status, ConditionType::kSucceeded)) return JobState::kSucceeded;
  if (IsTrue(status, ConditionType::kFailed)) return JobState::kFailed;
  if (IsTrue(status, ConditionType::kSuspended)) return JobState::kSuspended;
  if (draft.plan.memory.phase == RoundPhase::kActive) return JobState::kTraining;
  if (IsQueued(draft)) return JobState::kQueued;
  if (draft.TakingOver() && IsTrue(status, ConditionType::kRunning)) return JobState::kTraining;
  if (HasStarted(draft)) return JobState::kRecovering;
  return draft.view.pods.empty() ? JobState::kPending : JobState::kStarting;
}

}  // namespace

std::optional<std::string> DescribeBlockedPod(const Draft& draft) {
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr || worker.ended || worker.index >= draft.WorkersWanted()) continue;
    const ContainerWait* wait = FindBlocked(*worker.pod);
    if (wait == nullptr) continue;
    std::string text =
        absl::StrCat("pod ", worker.pod->name, " does not start on node ", worker.pod->node,
                     ": container ", wait->container, ": ", wait->reason);
    if (!wait->message.empty()) {
      absl::StrAppend(&text, ": ", absl::string_view(wait->message).substr(0, kMaxMessage));
    }
    return text;
  }
  return std::nullopt;
}

void Summarize(Draft& draft) {
  if (draft.view.job.deleting) return;
  if (draft.view.spec_errors.empty()) {
    if (!IsFinished(draft.view.status)) {
      ShowScheduled(draft);
      ShowRunning(draft);
      ShowDegraded(draft);
    }
    int ready = 0;
    for (const Worker& worker : draft.workers) {
      if (worker.presence == Presence::kPresent) ++ready;
    }
    draft.status().mutable_workers()->set_ready(ready);
    ShowSpares(draft);
  }
  draft.status().set_state(std::string(Name(StateOf(draft))));
}

}  // namespace muster::control
