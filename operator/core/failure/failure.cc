#include "operator/core/failure/failure.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "operator/core/ending/finish.h"
#include "operator/core/failure/failure_evidence.h"
#include "operator/core/failure/failure_text.h"
#include "operator/core/failure/repeat.h"
#include "operator/core/leave/spares.h"
#include "operator/core/state/failure_policy.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

using v1alpha1::FailureRecord;

constexpr size_t kMaxEvidence = 8 << 10;
constexpr size_t kMaxLog = 2 << 10;
constexpr int kMaxTimes = 101;
constexpr int kMaxPods = 32;
// The loss of a node or pod explains a rank's failure that is at most this old. A node whose
// kubelet is gone is marked after 40 to 50 seconds.
constexpr absl::Duration kReconsiderFor = absl::Seconds(60);

std::string Tail(const std::string& text, size_t most) {
  return text.size() > most ? text.substr(text.size() - most) : text;
}

void RecordFailure(Draft& draft, const Failure& failure) {
  v1alpha1::FailureStatus& status = *draft.status().mutable_failures();
  FailureRecord record = failure.record;
  record.set_time(FormatWall(draft.view.wall));
  record.set_class_(std::string(Name(failure.verdict.kind)));
  record.set_rule(failure.verdict.rule);
  record.set_action(std::string(Name(failure.verdict.action)));
  const bool counted = failure.verdict.counted();
  if (counted && !status.has_first()) *status.mutable_first() = record;
  if (!failure.facts.log.empty()) record.set_log(Tail(failure.facts.log, kMaxLog));
  *status.mutable_latest() = std::move(record);
  draft.plan.failures.push_back({failure.verdict.kind, failure.verdict.action});
  if (!counted) return status.set_ignored(status.ignored() + 1);
  status.set_count(status.count() + 1);
  if (!status.has_evidence()) {
    std::string text = failure.sentence;
    if (!failure.facts.log.empty()) absl::StrAppend(&text, "\n", failure.facts.log);
    // The end of a log is more useful than its beginning.
    status.set_evidence(Tail(text, kMaxEvidence));
  }
  const absl::Time oldest = draft.view.wall - FailureWindow(draft.spec());
  std::vector<std::string> times(status.times().begin(), status.times().end());
  times.push_back(FormatWall(draft.view.wall));
  times.erase(std::remove_if(times.begin(), times.end(),
                             [&](const std::string& time) { return ParseWall(time) < oldest; }),
              times.end());
  if (times.size() > kMaxTimes) times.erase(times.begin(), times.end() - kMaxTimes);
  status.mutable_times()->Assign(times.begin(), times.end());
}

// The evidence is a sentence and, on lines of its own, the log.
absl::string_view LogOf(const v1alpha1::FailureStatus& status) {
  const absl::string_view evidence = status.evidence();
  const size_t newline = evidence.find('\n');
  return newline == absl::string_view::npos ? "" : evidence.substr(newline + 1);
}

// Takes the count of the latest failure back, and replaces its verdict.
void Withdraw(Draft& draft, const FailureVerdict& verdict) {
  v1alpha1::FailureStatus& status = *draft.status().mutable_failures();
  FailureRecord& latest = *status.mutable_latest();
  status.set_count(std::max(status.count() - 1, 0));
  status.set_ignored(status.ignored() + 1);
  std::vector<std::string> times(status.times().begin(), status.times().end());
  const auto time = std::find(times.rbegin(), times.rend(), latest.time());
  if (time != times.rend()) times.erase(std::next(time).base());
  status.mutable_times()->Assign(times.begin(), times.end());
  WithdrawRepeat(draft, latest);
  if (status.count() == 0) {
    status.clear_first();
    status.clear_evidence();
  }
  latest.set_class_(std::string(Name(verdict.kind)));
  latest.set_rule(verdict.rule);
  latest.set_action(std::string(Name(verdict.action)));
}

void FailNow(Draft& draft, const Failure& failure) {
  if (failure.verdict.rule == "default" && failure.verdict.kind == FailureClass::kDiverged) {
    const std::string said = LastLine(failure.facts.log);
    Fail(draft, Reason::kTooManySkippedSteps, said.empty() ? failure.sentence : said);
  } else if (failure.verdict.rule == "default") {
    std::string sentence = absl::StrCat(failure.sentence, "; trying again cannot help");
    const std::string said = LastLine(failure.facts.log);
    if (!said.empty()) absl::StrAppend(&sentence, "; it said: ", said);
    Fail(draft, Reason::kBadInput, sentence);
  } else {
    Fail(draft, Reason::kFailedByRule,
         absl::StrCat(failure.sentence, "; it matches failurePolicy rule ", failure.verdict.rule,
                      " with action FailJob"));
  }
}

void FailForRepeats(Draft& draft) {
  const FailureRecord& latest = draft.status().failures().latest();
  Fail(draft, Reason::kIdenticalFailures,
       absl::StrCat(draft.status().failures().repeat().count(),
                    " rounds in a row broke in the same way, without a step in between "
                    "(failurePolicy.maxIdenticalFailures): ",
                    DescribeFailure(latest, latest.log())));
}

void RestartAll(Draft& draft, const Failure& failure) {
  draft.memory().failure.restart_job = true;
  draft.memory().failure.restart_sentence =
      absl::StrCat(failure.sentence, "; it matches failurePolicy rule ", failure.verdict.rule,
                   " with action RestartJob");
}

void Act(Draft& draft, const Failure& failure) {
  RecordFailure(draft, failure);
  // No default: a new action must not become RestartWorker unnoticed.
  switch (failure.verdict.action) {
    case FailureAction::kFailJob:
      return FailNow(draft, failure);
    case FailureAction::kRestartJob:
      RestartAll(draft, failure);
      break;
    case FailureAction::kRestartWorker:
    case FailureAction::kIgnore:
      break;  // DriveRounds() starts what failed again
  }
  if (MayRepeat(failure.verdict, failure.record)) {
    CountRepeat(draft, failure.record, failure.facts.log);
    if (RepeatsTooOften(draft)) return FailForRepeats(draft);
  }
  const v1alpha1::FailureStatus& kept = draft.status().failures();
  const int recent = kept.times_size();
  const int most = std::min(MaxFailures(draft.spec()), kMaxTimes - 1);
  if (failure.verdict.counted() && recent > most) {
    const absl::Duration window = FailureWindow(draft.spec());
    Fail(draft, Reason::kTooManyFailures,
         absl::StrCat(recent, " failures within ", absl::FormatDuration(window), "; ", most,
                      " are allowed; the first: ", DescribeFailure(kept.first(), LogOf(kept))));
  }
}

// Finds the failure to act on. In a round that was evaluated already, only a failure that ends the
// job still matters.
class RoundFinder {
 public:
  explicit RoundFinder(const Draft& draft)
      : draft_(draft), evaluated_round_(draft.plan.memory.failure.evaluated_round) {}

  void Offer(Failure failure) {
    const bool is_new = failure.record.round() > evaluated_round_;
    failure.verdict = EvaluateFailure(draft_.spec().failure_policy(), failure.facts);
    const bool ends = EndsJob(failure.verdict.action);
    if ((!is_new && !ends) || (found_ && !ends)) return;
    if (found_ && EndsJob(found_->verdict.action)) return;
    found_ = std::move(failure);
  }
  const std::optional<Failure>& found() const { return found_; }

 private:
  const Draft& draft_;
  const int64_t evaluated_round_;
  std::optional<Failure> found_;
};

// The end of a worker that was told to stop is no failure, nor is exit code 0.
bool WasStopped(const Draft& draft, const AgentView& agent) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.stop.since || agent.finished->exit_code == 0) return true;
  return WasToldToStop(memory, agent.index, agent.incarnation);
}

void EvaluateRoundFailures(Draft& draft) {
  RoundFinder finder(draft);
  const bool built_in = draft.spec().has_trainer();
  for (const AgentView& agent : draft.view.agents) {
    if (IsNewSpare(draft, agent)) continue;
    for (const ExitReport& exit : agent.exits) {
      if (exit.round.round < draft.memory().failure.evaluated_round) continue;
      if (!built_in && exit.exit_code == 0 && exit.signal == 0) continue;
      finder.Offer(FailureOfRank(draft, agent, exit));
    }
    const auto& finished = agent.finished;
    if (!finished || finished->succeeded || WasStopped(draft, agent)) continue;
    if (finished->round.round < draft.memory().failure.evaluated_round) continue;
    finder.Offer(FailureOfWorker(draft, agent, *finished));
  }
  if (!finder.found()) return;
  int64_t& evaluated_round = draft.memory().failure.evaluated_round;
  evaluated_round = std::max(evaluated_round, finder.found()->record.round());
  Act(draft, *finder.found());
}

// Pods that the operator deletes are no failures.
bool HasFailed(const PodView& pod) {
  if (!pod.deleting) return WorkerHasFailed(pod);
  return std::any_of(pod.conditions.begin(), pod.conditions.end(), [](const ConditionView& c) {
    return c.type == "DisruptionTarget" && c.status == "True";
  });
}

bool IsMember(const RoundMemory& memory, const Worker& worker) {
  return std::any_of(memory.members.begin(), memory.members.end(),
                     [&](const v1alpha1::Member& member) {
                       return member.worker().index() == worker.index &&
                              member.worker().incarnation() == worker.incarnation;
                     });
}

void RememberPod(Draft& draft, const std::string& name) {
  auto& pods = *draft.status().mutable_failures()->mutable_pods();
  *pods.Add() = name;
  if (pods.size() > kMaxPods) pods.DeleteSubrange(0, pods.size() - kMaxPods);
}

// The failure of the worker's ranks, a stop, or another worker's failure in the same round has
// already explained the end of this pod.
bool IsExplained(const Draft& draft, const Worker& worker, bool member) {
  const RoundMemory& memory = draft.plan.memory;
  const AgentView* agent = worker.agent;
  if (agent != nullptr && (agent->finished || !agent->exits.empty())) return true;
  return member && memory.failure.evaluated_round >= memory.id.round;
}

void EvaluatePodFailures(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.stop.since) return;
  for (const Worker& worker : draft.workers) {
    if (draft.done) return;
    if (worker.pod == nullptr || worker.ended || !HasFailed(*worker.pod)) continue;
    if (IsWaitingSpare(draft, worker)) continue;
    WorkerMemory& known = memory.workers[worker.index];
    if (known.counted_pod == worker.pod->uid) continue;
    known.counted_pod = worker.pod->uid;
    Failure failure = FailureOfPod(draft, *worker.pod);
    failure.verdict = EvaluateFailure(draft.spec().failure_policy(), failure.facts);
    const bool member = IsMember(memory, worker);
    const bool ends = EndsJob(failure.verdict.action);
    if (IsExplained(draft, worker, member) && !ends) continue;
    if (member && failure.verdict.counted()) memory.failure.evaluated_round = memory.id.round;
    Act(draft, failure);
    RememberPod(draft, worker.pod->name);
  }
}

// The end of a rank is often reported before the loss of its node or pod. While the newest failure
// is young, it is evaluated again by what is now known of its pod.
void Reconsider(Draft& draft) {
  const FailureRecord& latest = draft.status().failures().latest();
  const FailureAction action = FindAction(latest.action()).value_or(FailureAction::kRestartWorker);
  if (!latest.has_rank() || !IsCounted(action)) return;
  const absl::Time until = ParseWall(latest.time()) + kReconsiderFor;
  if (draft.view.wall > until) return;
  draft.RequeueAt(draft.view.now + (until - draft.view.wall));
  for (const PodView& pod : draft.view.pods) {
    if (pod.name != latest.pod()) continue;
    const FailureVerdict verdict = FailureOfRecord(draft, latest, pod).verdict;
    const bool lost =
        verdict.kind == FailureClass::kDisruption || verdict.kind == FailureClass::kNodeLost;
    if (!lost || verdict.counted()) return;
    Withdraw(draft, verdict);
    draft.memory().workers[pod.index].counted_pod = pod.uid;
    return RememberPod(draft, pod.name);
  }
}

}  // namespace

void CountFailures(Draft& draft) {
  Reconsider(draft);
  ForgetRepeats(draft);
  EvaluateRoundFailures(draft);
  if (!draft.done) EvaluatePodFailures(draft);
  AddNodesOfRepeat(draft);
  if (!draft.done && RepeatsTooOften(draft)) FailForRepeats(draft);
}

}  // namespace muster::control
