#include "operator/core/account/alerts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/alerts/job_alerts.h"

namespace muster::control {
namespace {

using v1alpha1::AlertRule;
using v1alpha1::AlertStatus;

Reason ReasonOf(const std::string& kind) {
  for (const Reason reason :
       {Reason::kLossNotFalling, Reason::kLossSpike, Reason::kThroughputDrop, Reason::kStalled}) {
    if (Name(reason) == kind) return reason;
  }
  return Reason::kAlertResolved;
}

const AlertRule* FindRule(const Draft& draft, const std::string& name) {
  const auto& rules = draft.spec().alerts();
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const AlertRule& rule) { return rule.name() == name; });
  return found == rules.end() ? nullptr : &*found;
}

// Returns a warning to append if the rule names a receiver that the administrator did not set up.
std::string WarnOfReceiver(const Draft& draft, const AlertRule& rule) {
  const std::vector<std::string>& known = draft.options.alert_receivers;
  const bool found = std::find(known.begin(), known.end(), rule.receiver()) != known.end();
  if (rule.receiver().empty() || found) return "";
  return absl::StrCat("; nobody is notified: no receiver is named ", rule.receiver(), ", ",
                      known.empty() ? "and the operator has none"
                                    : absl::StrCat("only ", absl::StrJoin(known, ", ")));
}

void Fire(Draft& draft, const AlertEdge& edge) {
  const AlertRule* rule = FindRule(draft, edge.name);
  if (rule == nullptr) return;
  if (IsFinished(draft.status())) {
    // The job's last reports make the rule fire, and nothing is left to be stopped.
    return draft.EmitWarning(ReasonOf(edge.kind),
                             absl::StrCat("alert ", edge.name, ": ", edge.sentence));
  }
  AlertStatus& alert = *draft.status().add_alerts();
  alert.set_name(edge.name);
  alert.set_kind(edge.kind);
  alert.set_since(FormatWall(draft.view.wall));
  alert.set_message(edge.sentence);
  draft.EmitWarning(ReasonOf(edge.kind), absl::StrCat("alert ", edge.name, ": ", edge.sentence,
                                                      WarnOfReceiver(draft, *rule)));
  if (rule->action() != "Suspend" || draft.spec().suspend()) return;
  draft.plan.suspend = true;
  draft.EmitWarning(Reason::kSuspendedByAlert,
                    absl::StrCat("alert ", edge.name, " suspends the job: ", edge.sentence));
}

void Resolve(Draft& draft, const AlertEdge& edge) {
  auto& alerts = *draft.status().mutable_alerts();
  for (int i = alerts.size() - 1; i >= 0; --i) {
    if (alerts[i].name() == edge.name) alerts.DeleteSubrange(i, 1);
  }
  draft.EmitNormal(Reason::kAlertResolved,
                   absl::StrCat("alert ", edge.name, " is over: ", edge.sentence));
}

void ShowAlerts(Draft& draft) {
  const auto& alerts = draft.status().alerts();
  if (alerts.empty()) {
    if (FindCondition(draft.status(), ConditionType::kAlertFiring) == nullptr) return;
    return draft.Condition(ConditionType::kAlertFiring, false, Reason::kNoAlert,
                           "no alert rule fires");
  }
  std::vector<std::string> sentences;
  for (const AlertStatus& alert : alerts) {
    const AlertRule* rule = FindRule(draft, alert.name());
    sentences.push_back(absl::StrCat(alert.name(), ": ", alert.message(),
                                     rule == nullptr ? "" : WarnOfReceiver(draft, *rule)));
  }
  draft.Condition(ConditionType::kAlertFiring, true, ReasonOf(alerts[0].kind()),
                  absl::StrJoin(sentences, ". "));
}

}  // namespace

void WatchAlerts(Draft& draft) {
  const JobView& job = draft.view;
  if (job.job.deleting || !job.spec_errors.empty()) return;
  if (draft.spec().alerts().empty() && draft.status().alerts().empty()) return;
  RoundMemory& memory = draft.memory();
  const bool ended = IsFinished(draft.status());
  const bool running = memory.phase == RoundPhase::kActive && !memory.stop.since;
  const AlertView view{job.now, running ? memory.phase_since : absl::InfiniteFuture(), ended,
                       job.history, ended && !IsFinished(job.status)};
  const AlertEvaluation found =
      EvaluateAlerts(draft.spec().alerts(), draft.status().alerts(), view, memory.alerts);
  // A rule that changed its kind ends before it begins again.
  for (const AlertEdge& edge : found.edges) {
    if (!edge.fires) Resolve(draft, edge);
  }
  for (const AlertEdge& edge : found.edges) {
    if (edge.fires) Fire(draft, edge);
  }
  ShowAlerts(draft);
  if (running && !ended) {
    draft.RequeueAt(std::min(found.due, job.now + draft.options.alert_interval));
  }
}

}  // namespace muster::control
