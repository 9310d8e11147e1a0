#include "operator/reconcile/view/view_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "operator/api/checkpoint_storage.h"
#include "operator/api/defaults.h"
#include "operator/api/pod_template.h"
#include "operator/api/validation.h"
#include "operator/core/saves/save_request.h"
#include "operator/core/state/round_stamp.h"

namespace muster::control {
namespace {

ExitReport ToExit(const v1alpha1::RankExited& report) {
  ExitReport exit;
  exit.round = ToStamp(report.round());
  exit.local_rank = report.local_rank();
  exit.rank = report.rank();
  exit.exit_code = report.exit_code();
  exit.signal = report.signal();
  exit.restarted = report.restarted();
  exit.reason = report.reason();
  exit.log_tail = report.log_tail();
  return exit;
}

FinishedReport ToFinished(const v1alpha1::WorkerFinished& report) {
  return {ToStamp(report.round()), report.succeeded(),
          report.exit_code(),      report.message(),
          report.version(),        report.has_durable() ? report.durable().step() : -1};
}

// A readiness probe ends nothing.
bool HasProbe(const v1alpha1::TrainingJobSpec& spec) {
  const Json pod_template = PodTemplateOf(spec);
  for (const auto& [index, worker] : WorkerContainers(pod_template)) {
    if (worker->contains("livenessProbe") || worker->contains("startupProbe")) return true;
  }
  return false;
}

}  // namespace

AgentView ToAgentView(const AgentState& state) {
  AgentView view;
  view.index = state.worker.index();
  view.incarnation = state.worker.incarnation();
  view.pod_uid = state.worker.pod_uid();
  view.attached = state.attached;
  view.session = state.session;
  view.attached_at = state.attached_at;
  view.loading = state.loading;
  view.detached_at = state.detached_at;
  view.last_heard = state.last_heard;
  view.ranks = state.ranks;
  view.host = state.host;
  view.seen = ToStamp(state.seen);
  view.active = ToStamp(state.active);
  view.first_rank = state.first_rank;
  if (state.replicas) {
    view.replica_endpoint = state.replicas->endpoint();
    view.replicas_of.assign(state.replicas->workers().begin(), state.replicas->workers().end());
  }
  if (state.ready) {
    view.ready = ReadyReport{ToStamp(state.ready->round()),
                             {state.ready->ranks().begin(), state.ready->ranks().end()}};
  }
  if (state.joined) {
    view.joined = JoinedReport{ToStamp(state.joined->round()),  state.joined->error(),
                               state.joined->bad_checkpoint(),  state.joined->version(),
                               state.joined->trajectory(),      state.joined->restored_bytes(),
                               state.joined->restore_seconds(), state.joined->undecided()};
    for (const v1alpha1::LinkSpeed& link : state.joined->links()) {
      view.joined->links.push_back({link.rank(), link.peer(), link.bytes_per_second()});
    }
  }
  if (state.finished) view.finished = ToFinished(*state.finished);
  for (const auto& report : state.exits) view.exits.push_back(ToExit(report));
  for (const auto& report : state.stalls) {
    view.stalls.push_back(
        {ToStamp(report.round()), report.local_rank(), report.version(), report.error()});
  }
  return view;
}

std::optional<BusyView> ToBusyView(const std::optional<SlowestRank>& slowest) {
  if (!slowest) return std::nullopt;
  return BusyView{.round = slowest->round,
                  .rank = slowest->rank,
                  .steps = slowest->steps,
                  .share = slowest->share,
                  .factor = slowest->factor,
                  .busy = slowest->busy};
}

std::optional<SpikeView> ToSpikeView(const std::optional<v1alpha1::StepReport>& spike) {
  if (!spike) return std::nullopt;
  return SpikeView{spike->version().step(), spike->spike()};
}

ProgressView ToProgressView(const ProgressSnapshot& snapshot) {
  return {.latest = snapshot.last_step,
          .validation_loss = snapshot.validation_loss,
          .tokens_per_second = snapshot.tokens_per_second,
          .steps_per_second = snapshot.steps_per_second,
          .steps_seen = snapshot.steps_seen,
          .times = {.phases = snapshot.times,
                    .mean_busy = snapshot.mean_busy_seconds,
                    .longest_busy = snapshot.longest_busy_seconds},
          .busy = ToBusyView(snapshot.slowest),
          .tunings = snapshot.tunings,
          .spike = ToSpikeView(snapshot.last_spike)};
}

CheckpointView ToCheckpointView(const ProgressSnapshot& snapshot) {
  return {snapshot.last_written, snapshot.last_failed, snapshot.save_begun};
}

ValidatedSpec ValidateSpec(const v1alpha1::TrainingJobSpec& spec, const std::string& ns) {
  auto defaulted = std::make_shared<v1alpha1::TrainingJobSpec>(spec);
  Default(*defaulted);
  ValidatedSpec validated;
  for (const FieldError& error : Validate(*defaulted)) {
    validated.errors.push_back(absl::StrCat(error.path, ": ", error.message));
  }
  validated.probed = HasProbe(*defaulted);
  validated.storage = CheckpointStorage(*defaulted, ns);
  validated.spec = std::move(defaulted);
  return validated;
}

JobView MakeJobView(const TrainingJob& job, const ValidatedSpec& validated) {
  JobView view;
  view.job.ns = job.ns;
  view.job.name = job.name;
  view.job.uid = job.uid;
  view.job.generation = job.generation;
  view.job.created = job.creation_time.value_or(absl::InfinitePast());
  view.job.deleting = job.deleting();
  view.job.finalizers = job.finalizers;
  const auto save = job.annotations.find(kSaveRequest);
  if (save != job.annotations.end()) view.job.save_request = save->second;
  view.spec = *validated.spec;
  view.probed = validated.probed;
  view.spec_errors = validated.errors;
  view.status = job.status;
  return view;
}

}  // namespace muster::control
