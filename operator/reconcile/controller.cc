#include "operator/reconcile/controller.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/core/decide.h"
#include "operator/core/ending/sources.h"
#include "operator/core/state/checked_status.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/round_transition.h"
#include "operator/core/state/spec_values.h"
#include "operator/kube/object_meta.h"
#include "operator/reconcile/view/node_facts.h"
#include "operator/reconcile/view/read_your_writes.h"

namespace muster::control {
namespace {

// Delay of the next look when a cache lacks the last write; its arrival wakes the job earlier.
constexpr absl::Duration kOwnWritesRetry = absl::Milliseconds(500);
constexpr absl::Duration kAtOnce = absl::Milliseconds(1);
// Interval of checking whether the lease was renewed after a rival's term was seen.
// A job that waits to write asks again after this time, for the turns of others end unseen.
constexpr absl::Duration kTurnRetry = absl::Seconds(1);
constexpr absl::Duration kRivalCheck = absl::Milliseconds(500);
// Delay of the next try to store the status, when nothing else brings the job back.
constexpr absl::Duration kFaultRetry = absl::Seconds(20);
constexpr absl::Duration kRefusedRetry = absl::Hours(1);
// Observers of a job may read its last steps for this long after its end.
constexpr absl::Duration kKeptAfterEnd = absl::Minutes(1);

kube::ObjectKey ParseKey(const std::string& key) {
  const size_t slash = key.find('/');
  if (slash == std::string::npos) return {"", key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

}  // namespace

Controller::Controller(Deps deps, DecideOptions options)
    : deps_(deps), options_(options), save_turns_(options.max_savers_per_storage) {}

void Controller::Lead(Leadership leadership) {
  MutexLock lock(mu_);
  leadership_ = std::move(leadership);
  leading_since_ = deps_.clock.Monotonic();
}

absl::Time Controller::leading_since() const {
  MutexLock lock(mu_);
  return leading_since_;
}

Controller::State& Controller::StateOf(const std::string& key) {
  MutexLock lock(mu_);
  return states_[key];
}

void Controller::Forget(const std::string& key) {
  State gone;
  {
    MutexLock lock(mu_);
    const auto it = states_.find(key);
    if (it == states_.end()) return;
    gone = std::move(it->second);
    states_.erase(it);
    debug_.erase(key);
  }
  if (gone.uid.empty()) return;
  deps_.registry.Unregister(gone.uid);
  deps_.progress.Forget(gone.uid);
  deps_.events.Forget(gone.uid);
  save_turns_.Forget(gone.uid);
  if (gone.alerted) {
    const kube::ObjectKey job = ParseKey(key);
    deps_.notifier->Set({job.name_space, job.name, gone.uid}, {});
  }
  MUSTER_LOG(INFO, "job is gone", {"job", key}, {"uid", gone.uid});
}

void Controller::Adopt(State& state, const TrainingJob& job) {
  state = State{};
  state.uid = job.uid;
  {
    MutexLock lock(mu_);
    state.term = std::max(job.status.term() + 1, leadership_.lease_term);
  }
  MUSTER_LOG(INFO, "job taken over", {"job", kube::ToString({job.ns, job.name})}, {"uid", job.uid},
             {"term", state.term}, {"round", job.status.round()});
}

// Handles a term in the status that this leadership did not write: another leader's, or its own by
// a write whose outcome is unknown. Returns nullopt without such a term, or once it is overruled.
std::optional<ReconcileResult> Controller::HandleRival(State& state, const TrainingJob& job) {
  const int64_t recorded = job.status.term();
  const bool ours = state.recorded || !state.status_fault.empty();
  if (recorded < state.term || (recorded == state.term && ours)) {
    state.rival_since = absl::InfiniteFuture();
    return std::nullopt;
  }
  std::function<absl::Time()> renewed_at;
  {
    MutexLock lock(mu_);
    renewed_at = leadership_.renewed_at;
  }
  const absl::Time now = deps_.clock.Monotonic();
  if (state.rival_since == absl::InfiniteFuture()) state.rival_since = now;
  if (renewed_at != nullptr && renewed_at() <= state.rival_since) {
    return ReconcileResult{kRivalCheck, std::string(Name(Reason::kStaleLeader))};
  }
  Adopt(state, job);
  return std::nullopt;
}

// Checks, once the caches show the last write, that the status is stored. When a status that was
// not is due to be tried again, the job is taken over anew with the durable part of that status:
// the rest of the state may depend on what was not stored.
void Controller::CheckStored(State& state, const TrainingJob& job) {
  if (state.status_fault.empty()) {
    if (state.durable.term() == 0) return;
    const std::string loss = DescribeMissingFields(state.durable, job.status);
    if (!loss.empty()) NoteFault(state, job, loss, kFaultRetry);
    return;
  }
  const auto version = kube::ParseResourceVersion(job.resource_version);
  const bool changed = version.ok() && *version > state.written.job_version;
  if (!changed && deps_.clock.Monotonic() < state.fault_until) return;
  const int64_t term = state.term;
  v1alpha1::TrainingJobStatus durable = std::move(state.durable);
  Adopt(state, job);
  state.term = std::max(state.term, term + 1);
  state.durable = std::move(durable);
}

ReconcileResult Controller::NoteFault(State& state, const TrainingJob& job, const std::string& why,
                                      absl::Duration retry) {
  const bool known = !state.status_fault.empty();
  state.status_fault = why;
  state.fault_until = deps_.clock.Monotonic() + retry;
  const auto version = kube::ParseResourceVersion(job.resource_version);
  if (version.ok()) state.written.job_version = std::max(state.written.job_version, *version);
  const std::string reason(Name(Reason::kStatusNotStored));
  if (known) return ReconcileResult{retry, reason};
  const std::string key = kube::ToString({job.ns, job.name});
  MUSTER_LOG_LIMITED(ERROR, absl::StrCat(key, " ", why), "status not stored", {"job", key},
                     {"error", why});
  return ReconcileResult{kAtOnce, reason};
}

void Controller::ShowProgress(const State& state, JobView& view) const {
  const ProgressSnapshot progress = deps_.progress.Snapshot(view.job.uid);
  view.progress = ToProgressView(progress);
  view.checkpoint = ToCheckpointView(progress);
  if (view.spec.alerts().empty()) return;
  const AlertMemory& seen = state.memory.alerts;
  view.history = deps_.progress.History(view.job.uid, seen.round, seen.step);
}

JobView Controller::BuildView(const TrainingJob& job, State& state) const {
  if (!state.validated || state.validated_generation != job.generation) {
    state.validated = ValidateSpec(job.spec, job.ns);
    state.validated_generation = job.generation;
  }
  JobView view = MakeJobView(job, *state.validated);
  view.now = deps_.clock.Monotonic();
  view.wall = deps_.clock.Wall();
  std::set<std::string> still_there;
  const std::vector<PodCache::Object> pods = deps_.pods.ListByOwner(job.uid);
  view.pods.reserve(pods.size());
  const NodeSources sources{deps_.nodes, deps_.power, deps_.prices};
  for (const PodCache::Object& pod : pods) {
    if (!IsWorkerOf(*pod, {job.ns, job.name}, job.uid)) continue;
    view.pods.push_back(*pod->view);
    NoteNode(sources, *pod, view.pods.back());
    if (!pod->view->deleting) still_there.insert(pod->view->uid);
  }
  NoteNodeDomains(sources, view);
  std::erase_if(state.written.deleted_pods,
                [&](const std::string& uid) { return still_there.count(uid) == 0; });
  deps_.registry.VisitAgents(
      job.uid, [&](const AgentState& agent) { view.agents.push_back(ToAgentView(agent)); });
  ShowProgress(state, view);
  view.placement = deps_.verdicts.Of(job.uid);
  view.leader_term = state.term;
  view.leading_since = leading_since();
  view.progress_slot = state.progress_slot;
  view.may_save = options_.max_savers_per_storage == 0 || state.may_save;
  if (state.refused_generation != job.generation) state.refusal.clear();
  if (!state.refusal.empty()) view.spec_errors.push_back(state.refusal);
  view.status_fault = state.status_fault;
  // Rounds and incarnations only grow, whether or not the status was stored.
  if (!state.recorded && state.status_fault.empty() && state.durable.term() > 0) {
    view.status.set_round(state.durable.round());
    view.status.set_membership(state.durable.membership());
    *view.status.mutable_incarnations() = state.durable.incarnations();
  }
  view.heard_until = deps_.registry.heard_until();
  return view;
}

// Registers the job, so that agents may attach. The term that they are told must be in its status.
void Controller::Register(const std::string& key, const State& state, const JobView& view,
                          const Plan& plan) {
  JobRegistration registration;
  registration.key = key;
  registration.uid = state.uid;
  registration.term = state.term;
  registration.spec = state.validated->spec;
  // A new worker must open the same sources as the others.
  if (const auto refused = RejectSourceChange(view, state.memory); refused && refused->spec) {
    registration.spec = std::make_shared<const v1alpha1::TrainingJobSpec>(*refused->spec);
  }
  registration.incarnations = {plan.status.incarnations().begin(),
                               plan.status.incarnations().end()};
  registration.orphan_deadline = OrphanDeadline(*registration.spec, options_.orphan_deadline);
  registration.prepare_deadline = options_.prepare_deadline;
  deps_.registry.Register(registration);
}

void Controller::Remember(State& state, const std::string& key, Plan& plan, int64_t reconcile) {
  JobDebug& debug = state.debug;
  debug.key = key;
  debug.uid = state.uid;
  debug.term = state.term;
  RecordDecision(state.memory, plan, reconcile, deps_.clock.Monotonic(), deps_.observer, debug);
  // The memory is as large as the round, hence the move.
  state.memory = std::move(plan.memory);
  MutexLock lock(mu_);
  debug_[key] = debug;
}

absl::StatusOr<ReconcileResult> Controller::RunOnce(const std::string& key) {
  if (leading_since() == absl::InfiniteFuture()) return ReconcileResult{std::nullopt, "Standby"};
  const Written& written = StateOf(key).written;
  const auto [job, behind] =
      ReadFresh(deps_.jobs, deps_.pods, ParseKey(key), written.job_version, written.pod_version);
  if (job == nullptr) {
    Forget(key);
    return ReconcileResult{std::nullopt, "Gone"};
  }
  if (StateOf(key).uid != job->uid) {
    Forget(key);
    Adopt(StateOf(key), *job);
  } else if (behind) {
    return ReconcileResult{kOwnWritesRetry, "WaitingForCache"};
  }
  State& state = StateOf(key);
  if (auto waiting = HandleRival(state, *job)) return *waiting;
  CheckStored(state, *job);
  return CarryOut(key, *job, state);
}

// Handles content that the API server refused. Returns nullopt if none was.
std::optional<ReconcileResult> Controller::HandleRefusal(State& state, const TrainingJob& job,
                                                         const absl::Status& written) {
  if (!state.written.refused_pod.empty()) {
    // The job is decided on again at once, with the refusal among the spec's errors.
    state.refusal = state.written.refused_pod;
    state.refused_generation = job.generation;
    return ReconcileResult{kAtOnce, std::string(Name(Reason::kInvalidSpec))};
  }
  if (state.written.status_fault.empty()) return std::nullopt;
  // The fault itself cannot be reported in the status, hence the event.
  const bool refused = IsTerminal(written);
  if (!state.status_fault.empty() && refused) {
    deps_.events.Record({job.ns, job.name}, job.uid,
                        {Event::Type::kWarning, std::string(Name(Reason::kStatusNotStored)),
                         state.written.status_fault});
  }
  // A refused write would be refused again; it is tried after an hour because a definition (CRD)
  // may be corrected without a change of the job.
  return NoteFault(state, job, std::string(state.written.status_fault),
                   refused ? kRefusedRetry : kFaultRetry);
}

ReconcileResult Controller::NextLook(State& state, absl::Time now, const Plan& plan) {
  ReconcileResult result{plan.requeue_after, plan.reason, plan.requeue_when_idle};
  const auto not_after = [&](absl::Duration until) {
    result.requeue_after = std::min(result.requeue_after.value_or(until), until);
    result.when_idle = false;
  };
  if (plan.wants_progress_slot) {
    state.progress_slot = progress_budget_.Reserve(now);
    not_after(state.progress_slot - now);
  } else if (plan.writes_progress) {
    state.progress_slot = absl::InfiniteFuture();
  }
  const bool turn = save_turns_.Update(state.uid, state.validated->storage, plan.save_turn, now);
  state.may_save = turn && plan.save_turn == SaveTurn::kWanted;
  if (plan.save_turn == SaveTurn::kWanted) not_after(turn ? kAtOnce : kTurnRetry);
  if (!state.status_fault.empty()) not_after(std::max(state.fault_until - now, kAtOnce));
  return result;
}

void Controller::Settle(State& state, const JobView& view, ReconcileResult& next) {
  if (state.settled || !IsFinished(view.status)) return;
  const bool at_work = std::any_of(view.pods.begin(), view.pods.end(), [](const PodView& pod) {
    return pod.phase != PodPhase::kSucceeded && pod.phase != PodPhase::kFailed;
  });
  if (at_work) return;  // its end brings the job back
  const absl::Duration left = ParseWall(view.status.completion_time()) + kKeptAfterEnd - view.wall;
  if (left > absl::ZeroDuration()) {
    next.requeue_after = std::min(next.requeue_after.value_or(left), left);
    return;
  }
  state.settled = true;
  state.memory = RoundMemory{};
  deps_.registry.Unregister(state.uid);
  deps_.progress.Settle(state.uid);
}

Notifier::ByReceiver AlertsByReceiver(const v1alpha1::TrainingJobSpec& spec,
                                      const v1alpha1::TrainingJobStatus& status) {
  Notifier::ByReceiver alerts;
  for (const v1alpha1::AlertStatus& alert : status.alerts()) {
    for (const v1alpha1::AlertRule& rule : spec.alerts()) {
      if (rule.name() != alert.name() || rule.receiver().empty()) continue;
      alerts[rule.receiver()].push_back({alert.name(), alert.kind(), alert.message(),
                                         rule.action() == "Suspend", ParseWall(alert.since())});
    }
  }
  return alerts;
}

void Controller::Notify(State& state, const JobView& view,
                        const v1alpha1::TrainingJobStatus& status) {
  if (deps_.notifier == nullptr || (status.alerts().empty() && !state.alerted)) return;
  state.alerted = !status.alerts().empty();
  deps_.notifier->Set({view.job.ns, view.job.name, view.job.uid},
                      AlertsByReceiver(view.spec, status));
}

absl::StatusOr<ReconcileResult> Controller::CarryOut(const std::string& key, const TrainingJob& job,
                                                     State& state) {
  const int64_t reconcile = ++reconciles_;
  // These fields are added to every log line during this reconcile.
  const LogScope about({{"job", key},
                        {"uid", job.uid},
                        {"term", state.term},
                        {"round", state.memory.id.round},
                        {"reconcile", reconcile}});
  const JobView view = BuildView(job, state);
  Plan plan = Decide(view, state.memory, options_);
  const absl::Status written = deps_.executor.Write(job, plan, state.written);
  // An unanswered write may be in the store or not: neither it nor the one before has to be there.
  const bool unknown = plan.write_status && !written.ok() && state.written.status_fault.empty();
  if (unknown) state.durable.Clear();
  if (auto refused = HandleRefusal(state, job, written)) return *refused;
  MUSTER_RETURN_IF_ERROR(written);
  state.recorded = state.recorded || (plan.write_status && plan.status.term() == state.term);
  if (plan.write_status && state.status_fault.empty()) state.durable = DurablePart(plan.status);
  Remember(state, key, plan, reconcile);
  const bool known = state.recorded && plan.status.term() == state.term;
  if (known && !state.settled) Register(key, state, view, plan);
  // Failures since the last active round are kept: late reports of the round that broke still
  // count.
  deps_.registry.DropFailuresBefore(job.uid, state.memory.active_round);
  Notify(state, view, plan.status);
  MUSTER_RETURN_IF_ERROR(deps_.executor.Announce(job, plan));
  ReconcileResult next = NextLook(state, view.now, plan);
  Settle(state, view, next);
  return next;
}

std::vector<JobDebug> Controller::Debug() const {
  MutexLock lock(mu_);
  std::vector<JobDebug> all;
  for (const auto& [key, debug] : debug_) all.push_back(debug);
  return all;
}

}  // namespace muster::control
