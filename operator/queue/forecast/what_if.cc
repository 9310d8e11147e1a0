#include "operator/queue/forecast/what_if.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/forecast/headroom.h"
#include "operator/queue/room/victim_options.h"
#include "operator/queue/schedule.h"

namespace muster::control {
namespace {

std::string MayBeAsked(const Decision& order, const QueuedJob& victim, const QueuedJob& newcomer) {
  switch (order.reason) {
    case ScheduleReason::kReclaimed:
      return absl::StrCat("queue \"", QueueBook::State::QueueOf(victim), "\" borrows");
    case ScheduleReason::kPriority:
      return absl::StrCat("priority ", victim.priority, " is below ", newcomer.priority);
    case ScheduleReason::kYielded:
      return absl::StrCat("it has ", victim.extra_workers(), " workers more than it asks for");
    case ScheduleReason::kBacklog:
      return absl::StrCat("it has more than ", victim.request.min, " workers, and ", newcomer.name,
                          " has waited for the shrinkAfter of queue \"",
                          QueueBook::State::QueueOf(victim), "\"");
    default:
      return "it has a place elsewhere";
  }
}

std::string IsNeeded(const Headroom& room, const QueuedJob& newcomer) {
  if (!room.HasNodes()) {
    return absl::StrCat("without it there are nodes for ", room.Workers(), " of ", room.need(),
                        " workers");
  }
  if (room.IsKeptOutByNamespace()) {
    return absl::StrCat("without it namespace \"", newcomer.ns, "\" is at its limit in queue \"",
                        QueueBook::State::QueueOf(newcomer), "\"");
  }
  if (!room.HasQuota()) {
    return absl::StrCat("without it queue \"", QueueBook::State::QueueOf(newcomer),
                        "\" has too little quota");
  }
  return room.is_all() ? "" : "without it the rules of its template keep it out";
}

std::vector<NeededVictim> VictimsOf(ScheduleRollout& future, const std::vector<Decision>& decisions,
                                    const QueuedJob& newcomer, const ScheduleOptions& options) {
  // No job goes for one whose queue does not exist; there is no quota to look at either.
  if (std::none_of(decisions.begin(), decisions.end(),
                   [&](const Decision& order) { return order.for_job == newcomer.uid; })) {
    return {};
  }
  const QueueBook::State& state = future.book().state();
  int size = newcomer.request.min;
  for (const Decision& decision : decisions) {
    if (decision.job == newcomer.uid) size = std::max(size, decision.workers);
  }
  Headroom room(future, *state.jobs.at(newcomer.uid), size);
  for (const auto& [uid, entry] : state.jobs) {
    const QueuedJob& job = entry->job;
    const bool for_it = job.leaves_for.empty() || job.leaves_for == newcomer.uid;
    if (job.leaving > 0 && for_it) room.Leave(job, job.workers() - job.leaving, job.workers());
  }
  const VictimOptions costs = VictimOptionsOf(options);
  std::vector<NeededVictim> victims;
  for (const Decision& order : decisions) {
    if (order.for_job != newcomer.uid) continue;
    const QueuedJob& job = state.jobs.at(order.job)->job;
    const bool stops = order.action == ScheduleAction::kStop;
    NeededVictim victim{
        job.ns,
        job.name,
        QueueBook::State::QueueOf(job),
        order.action,
        order.reason,
        job.workers(),
        order.workers,
        stops ? CostOfStopping(job, future.now(), costs) : CostOfShrinking(job, costs),
        ""};
    room.Return(job, order.workers, job.workers());
    const std::string needed = IsNeeded(room, newcomer);
    room.Leave(job, order.workers, job.workers());
    victim.why = absl::StrCat(MayBeAsked(order, job, newcomer), needed.empty() ? "" : "; ", needed);
    victims.push_back(std::move(victim));
  }
  return victims;
}

// A newcomer that the cycle did not reach gets its position in the queue.
Decision DecisionOn(const QueuedJob& newcomer, const std::vector<Decision>& decisions,
                    const QueueBook& book) {
  for (const Decision& decision : decisions) {
    if (decision.job == newcomer.uid) return decision;
  }
  Decision behind;
  behind.job = newcomer.uid;
  behind.numbers.queue = QueueBook::State::QueueOf(newcomer);
  behind.numbers.position = book.PositionOf(newcomer.uid);
  return behind;
}

}  // namespace

WhatIfAnswer AskWhatIf(DecisionInput input, const QueuedJob& newcomer, const ForecastLimits& limits,
                       GangGate* gate) {
  WhatIfAnswer answer;
  input.snapshot.jobs.push_back(newcomer);
  answer.start = ForecastStart(
      input, newcomer.uid, limits, gate,
      [&](ScheduleRollout& future, const std::vector<Decision>& decisions) {
        answer.decision = DecisionOn(newcomer, decisions, future.book());
        std::string& ahead = answer.decision.numbers.blocked_by;
        const QueuedJob* job = ahead.empty() ? nullptr : future.book().Find(ahead);
        if (job != nullptr) ahead = absl::StrCat(job->ns, "/", job->name);
        answer.victims = VictimsOf(future, decisions, newcomer, input.snapshot.options);
      });
  // The decision alone does not know when the victims will have gone.
  if (answer.start.kind == StartKind::kAt) {
    answer.decision.numbers.expected_start = answer.start.at;
  }
  return answer;
}

}  // namespace muster::control
