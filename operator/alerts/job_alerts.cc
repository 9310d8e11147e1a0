#include "operator/alerts/job_alerts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace muster::control {
namespace {

using google::protobuf::RepeatedPtrField;
using v1alpha1::AlertRule;
using v1alpha1::AlertStatus;

// The news since the last look.
struct News {
  size_t first_new = 0;  // in history.steps
  bool gap = false;      // steps before them are missing
  bool has_new_step = false;
};

// Finds the new steps and remembers them. A new round begins with its own first step, which may be
// an older one.
News TakeNews(const AlertView& view, AlertMemory& memory) {
  News news;
  const std::vector<TrainedStep>& steps = view.history.steps;
  const bool same_round = memory.round == view.history.round;
  const int64_t seen = same_round ? memory.step : view.history.first_step - 1;
  while (news.first_new < steps.size() && steps[news.first_new].step <= seen) ++news.first_new;
  news.has_new_step = news.first_new < steps.size();
  const bool follows = news.first_new > 0 && steps[news.first_new - 1].step == seen;
  news.gap = news.has_new_step && same_round && !follows;
  // A new leader cannot tell how long ago the newest step was.
  if (news.has_new_step || memory.stepped_at == absl::InfinitePast()) memory.stepped_at = view.now;
  if (news.has_new_step) {
    memory.round = view.history.round;
    memory.step = steps.back().step;
  }
  return news;
}

absl::Duration Hold(const std::string& text) {
  absl::Duration hold;
  return absl::ParseDuration(text, &hold) ? hold : absl::InfiniteDuration();
}

// Looks at one rule, of any kind. Moves `due` to the time at which it fires without a report.
Finding Check(const AlertRule& rule, const AlertView& view, const News& news,
              const AlertMemory& job, bool firing, AlertRuleMemory& memory, absl::Time& due) {
  if (rule.has_loss_not_falling()) {
    return CheckLossNotFalling(rule.loss_not_falling().evaluations(), view.history, firing,
                               memory.loss_not_falling);
  }
  if (rule.has_loss_spike()) {
    return CheckLossSpike(rule.loss_spike().factor(), view.history, news.first_new, firing,
                          memory.loss_spike);
  }
  if (rule.has_throughput_drop()) {
    const ThroughputDropRule drop{rule.throughput_drop().factor(),
                                  Hold(rule.throughput_drop().for_())};
    return CheckThroughputDrop(drop, view.history, news.first_new, news.gap, firing,
                               memory.throughput_drop);
  }
  if (!rule.has_stalled()) return {};
  const StalledView stalled{view.now, view.running_since, job.stepped_at, news.has_new_step};
  StalledFinding found = CheckStalled(Hold(rule.stalled().for_()), stalled, firing);
  due = std::min(due, found.due);
  return std::move(found.finding);
}

const AlertRule* FindRule(const RepeatedPtrField<AlertRule>& rules, const AlertStatus& alert) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const AlertRule& rule) {
    return rule.name() == alert.name() && rule.kind() == alert.kind();
  });
  return found == rules.end() ? nullptr : &*found;
}

// Ends the alerts that no rule speaks for any more.
void EndOrphans(const RepeatedPtrField<AlertRule>& rules,
                const RepeatedPtrField<AlertStatus>& firing, bool ended,
                AlertEvaluation& evaluation) {
  for (const AlertStatus& alert : firing) {
    if (!ended && FindRule(rules, alert) != nullptr) continue;
    evaluation.edges.push_back({alert.name(), alert.kind(), false,
                                ended ? "the job has ended" : "the rule is no longer in the spec"});
  }
}

// Looks at each rule; adds the edges.
void EvaluateRules(const RepeatedPtrField<AlertRule>& rules,
                   const RepeatedPtrField<AlertStatus>& firing, const AlertView& view,
                   AlertMemory& memory, AlertEvaluation& evaluation) {
  const News news = TakeNews(view, memory);
  std::map<std::string, AlertRuleMemory> kept;
  for (const AlertRule& rule : rules) {
    AlertRuleMemory& known = memory.rules[rule.name()];
    if (known.kind != rule.kind()) known = AlertRuleMemory{rule.kind(), {}, {}, {}};
    const bool fires = std::any_of(firing.begin(), firing.end(), [&](const AlertStatus& alert) {
      return alert.name() == rule.name() && alert.kind() == rule.kind();
    });
    Finding found = Check(rule, view, news, memory, fires, known, evaluation.due);
    const bool begins = found.change == Finding::Change::kFires;
    // A rule that fires already has ended with the job.
    if (begins || (found.change == Finding::Change::kResolves && !view.ended)) {
      evaluation.edges.push_back({rule.name(), rule.kind(), begins, std::move(found.sentence)});
    }
    kept[rule.name()] = std::move(known);
  }
  memory.rules = std::move(kept);
}

}  // namespace

AlertEvaluation EvaluateAlerts(const RepeatedPtrField<AlertRule>& rules,
                               const RepeatedPtrField<AlertStatus>& firing, const AlertView& view,
                               AlertMemory& memory) {
  AlertEvaluation evaluation;
  EndOrphans(rules, firing, view.ended, evaluation);
  if (!view.ended || view.ends) EvaluateRules(rules, firing, view, memory, evaluation);
  if (view.ended) memory = AlertMemory{};
  return evaluation;
}

}  // namespace muster::control
