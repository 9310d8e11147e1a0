#include "operator/coordinator/stream/agent_registry.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/coordinator/identity/agreed_protocol.h"
#include "operator/coordinator/identity/refusals.h"
#include "proto/muster/v1alpha1/protocol.h"

namespace muster::control {
namespace {

using v1alpha1::AgentHello;
using v1alpha1::AgentMessage;
using v1alpha1::RankExited;
using v1alpha1::RankStalled;

std::string Describe(const v1alpha1::WorkerId& worker) {
  return absl::StrCat(worker.namespace_(), "/", worker.job(), " worker ", worker.index(),
                      " incarnation ", worker.incarnation());
}

auto KeyOf(const RankExited& e) {
  return std::tuple(e.round().term(), e.round().round(), e.local_rank(), e.exit_code(), e.signal(),
                    e.restarted(), e.reason());
}
auto KeyOf(const RankStalled& s) {
  return std::tuple(s.round().term(), s.round().round(), s.local_rank());
}

template <typename Report>
bool AddFailure(const Report& report, std::vector<Report>& failures) {
  for (const Report& known : failures) {
    if (KeyOf(known) == KeyOf(report)) return false;
  }
  failures.push_back(report);
  if (failures.size() > AgentState::kMaxFailures) failures.erase(failures.begin());
  return true;
}

void AddExit(const RankExited& report, std::vector<RankExited>& exits) {
  if (!AddFailure(report, exits)) return;
  size_t bytes = 0;
  for (const RankExited& exit : exits) bytes += exit.log_tail().size();
  if (bytes > AgentState::kMaxLogTails) exits.back().clear_log_tail();
}

// Records the message in `state`. Returns true if the controller must look at the job.
bool Apply(const AgentMessage& message, AgentState& state) {
  switch (message.kind_case()) {
    case AgentMessage::kReady:
      state.ready = message.ready();
      return true;
    case AgentMessage::kJoined:
      state.joined = message.joined();
      if (message.joined().error().empty()) state.active = message.joined().round();
      return true;
    case AgentMessage::kRankExited:
      AddExit(message.rank_exited(), state.exits);
      return true;
    case AgentMessage::kStalled:
      AddFailure(message.stalled(), state.stalls);
      return true;
    case AgentMessage::kFinished:
      state.finished = message.finished();
      return true;
    case AgentMessage::kRefused:
      state.refused = message.refused();
      return true;
    case AgentMessage::kReplicas:
      state.replicas = message.replicas();
      return true;
    case AgentMessage::kCheckpoint:
      return true;
    case AgentMessage::kHello:
    case AgentMessage::kHeartbeat:
    case AgentMessage::kSteps:
    case AgentMessage::kNodeHello:
    case AgentMessage::kNodeReport:
    case AgentMessage::kNodePower:
    case AgentMessage::KIND_NOT_SET:
      return false;
  }
  return false;
}

// Returns the welcome in each protocol of this operator, the oldest first.
std::vector<EncodedMessage> MakeWelcomes(const JobRegistration& job) {
  v1alpha1::OperatorMessage message;
  v1alpha1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_term(job.term);
  if (job.spec != nullptr) *welcome.mutable_spec() = *job.spec;
  welcome.set_heartbeat_seconds(absl::ToDoubleSeconds(AgentRegistry::kHeartbeat));
  welcome.set_orphan_deadline_seconds(absl::ToDoubleSeconds(job.orphan_deadline));
  welcome.set_prepare_deadline_seconds(absl::ToDoubleSeconds(job.prepare_deadline));
  std::vector<EncodedMessage> welcomes;
  for (int protocol = v1alpha1::kOldestProtocol; protocol <= v1alpha1::kNewestProtocol;
       ++protocol) {
    welcome.set_protocol(protocol);
    welcomes.push_back(Encode(message));
  }
  return welcomes;
}

}  // namespace

EncodedMessage Encode(const v1alpha1::OperatorMessage& message) {
  return std::make_shared<const std::string>(message.SerializeAsString());
}

EncodedMessage EncodeNotLeader(const std::string& leader_address) {
  v1alpha1::OperatorMessage message;
  message.mutable_not_leader()->set_address(leader_address);
  return Encode(message);
}

AgentRegistry::AgentRegistry(const Clock& clock, ProgressBoard* progress, OnChange on_change)
    : clock_(clock), progress_(progress), on_change_(std::move(on_change)) {}

void AgentRegistry::SetLeader() {
  MutexLock lock(mu_);
  leader_ = true;
}

void AgentRegistry::SetStandby(const std::string& leader_address) {
  MutexLock lock(mu_);
  leader_address_ = leader_address;
  if (!std::exchange(leader_, false)) return;
  const EncodedMessage goodbye = EncodeNotLeader(leader_address);
  for (auto& [uid, job] : jobs_) {
    for (auto& [index, worker] : job.workers) {
      if (worker.stream == nullptr) continue;
      worker.stream->Send(goodbye).IgnoreError();
      worker.stream->Close(absl::UnavailableError("no longer the leader"));
    }
  }
  // The next leadership builds everything anew.
  attachments_.clear();
  jobs_.clear();
}

void AgentRegistry::Register(const JobRegistration& job) {
  {
    MutexLock lock(mu_);
    const auto known = jobs_.find(job.uid);
    if (known != jobs_.end() && known->second.registration == job) return;
  }
  std::vector<EncodedMessage> welcomes = MakeWelcomes(job);
  MutexLock lock(mu_);
  Job& known = jobs_[job.uid];
  known.registration = job;
  known.welcomes = std::move(welcomes);
  if (job.spec == nullptr) return;
  const bool first = known.bounds == JobBounds();
  const JobBounds now = BoundsOf(*job.spec, static_cast<int>(job.incarnations.size()));
  known.bounds = {first ? now.workers : std::max(now.workers, known.bounds.workers), now.ranks};
}

void AgentRegistry::Unregister(const std::string& job_uid) {
  MutexLock lock(mu_);
  const auto it = jobs_.find(job_uid);
  if (it == jobs_.end()) return;
  for (auto& [index, worker] : it->second.workers) {
    if (worker.stream == nullptr) continue;
    worker.stream->Close(absl::NotFoundError("the job is gone"));
    attachments_.erase(worker.attachment);
  }
  jobs_.erase(it);
}

bool AgentRegistry::IsRegistered(const std::string& job_uid) const {
  MutexLock lock(mu_);
  return jobs_.count(job_uid) > 0;
}

absl::Status AgentRegistry::CheckHello(const AgentHello& hello) const {
  const v1alpha1::WorkerId& id = hello.worker();
  if (id.job_uid().empty() || id.job().empty() || id.index() < 0 || id.incarnation() < 1) {
    return absl::InvalidArgumentError(
        "the hello must name its job, the job's uid, a worker index >= 0 and an incarnation >= 1");
  }
  const auto job = jobs_.find(id.job_uid());
  if (job == jobs_.end()) {
    return absl::UnavailableError(absl::StrCat("job ", id.namespace_(), "/", id.job(), " (uid ",
                                               id.job_uid(), ") is not known here yet"));
  }
  int32_t newest = 0;
  const auto& incarnations = job->second.registration.incarnations;
  if (id.index() < static_cast<int32_t>(incarnations.size())) newest = incarnations[id.index()];
  const auto worker = job->second.workers.find(id.index());
  if (worker != job->second.workers.end()) {
    newest = std::max(newest, worker->second.state.worker.incarnation());
  }
  if (id.incarnation() < newest) {
    return Refused(Refusal::kReplaced, absl::StatusCode::kFailedPrecondition,
                   absl::StrCat(Describe(id), " was replaced by incarnation ", newest));
  }
  return absl::OkStatus();
}

void AgentRegistry::Supersede(Worker& worker, const AgentHello& hello) {
  if (worker.stream != nullptr) {
    worker.stream->Close(absl::AbortedError("another stream of this worker has attached"));
    attachments_.erase(worker.attachment);
    worker.stream = nullptr;
  }
  const bool same_pod = worker.state.worker.incarnation() == hello.worker().incarnation() &&
                        worker.state.worker.pod_uid() == hello.worker().pod_uid();
  if (!same_pod) worker.state = AgentState{};
}

absl::StatusOr<uint64_t> AgentRegistry::Attach(const AgentHello& hello,
                                               std::shared_ptr<AgentStream> stream) {
  uint64_t id = 0;
  std::string job_key;
  {
    MutexLock lock(mu_);
    if (!leader_) {
      stream->Send(EncodeNotLeader(leader_address_)).IgnoreError();
      return 0;
    }
    MUSTER_ASSIGN_OR_RETURN(const int protocol, AgreedProtocol(hello));
    MUSTER_RETURN_IF_ERROR(CheckHello(hello));
    MUSTER_RETURN_IF_ERROR(CheckBounds(hello));
    Job& job = jobs_.at(hello.worker().job_uid());
    Worker& worker = job.workers[hello.worker().index()];
    // The quota is taken first, so that an agent that reconnects in a loop causes no reconciles.
    MUSTER_RETURN_IF_ERROR(worker.quota.Take(hello.ByteSizeLong(), clock_.Monotonic()));
    MUSTER_RETURN_IF_ERROR(stream->Send(job.welcomes[protocol - v1alpha1::kOldestProtocol]));
    Supersede(worker, hello);
    id = next_attachment_++;
    AgentState& state = worker.state;
    state.worker = hello.worker();
    state.attached = true;
    state.session = static_cast<int64_t>(id);
    state.attached_at = state.last_heard = clock_.Monotonic();
    state.ranks = hello.ranks();
    state.host = hello.host();
    state.version = hello.version();
    state.seen = hello.seen();
    state.active = hello.active();
    state.first_rank = hello.first_rank();
    state.loading = hello.loading();
    worker.attachment = id;
    attachments_[id] = {&job, &worker};
    worker.stream = std::move(stream);
    job_key = job.registration.key;
  }
  MUSTER_LOG(INFO, "agent attached", {"job", job_key}, {"worker", hello.worker().index()},
             {"incarnation", hello.worker().incarnation()}, {"active", hello.active().round()});
  on_change_(job_key);
  return id;
}

// Says whether `message` counts: it is of the worker's present stream, and within its limits.
absl::Status AgentRegistry::Take(uint64_t attachment, AgentMessage& message, bool& superseded) {
  JobBounds bounds;
  {
    MutexLock lock(mu_);
    const auto place = attachments_.find(attachment);
    superseded = place == attachments_.end();
    if (superseded) return absl::OkStatus();
    Worker& worker = *place->second.worker;
    worker.state.last_heard = clock_.Monotonic();
    MUSTER_RETURN_IF_ERROR(worker.quota.Take(message.ByteSizeLong(), worker.state.last_heard));
    bounds = place->second.job->bounds;
  }
  const absl::Status bounded = Bound(bounds, message);
  if (bounded.ok()) return bounded;
  return Refused(Refusal::kBadRequest, bounded.code(), std::string(bounded.message()));
}

bool AgentRegistry::WakesForSteps(const Job& job, const AgentMessage& message, Worker& worker) {
  if (!message.has_steps() || job.registration.spec == nullptr) return false;
  if (job.registration.spec->alerts().empty()) return false;
  worker.unseen_steps += message.steps().steps_size();
  const absl::Time now = clock_.Monotonic();
  if (now - worker.woken_at < kBetweenLooks && worker.unseen_steps < kStepsBetweenLooks) {
    return false;
  }
  worker.unseen_steps = 0;
  worker.woken_at = now;
  return true;
}

absl::Status AgentRegistry::Receive(uint64_t attachment, AgentMessage message) {
  bool superseded = false;
  if (absl::Status taken = Take(attachment, message, superseded); !taken.ok()) {
    MUSTER_LOG_LIMITED(WARN, "agents", "an agent's stream is ended", {"session", attachment},
                       {"error", taken});
    return taken;
  }
  if (superseded) return absl::OkStatus();
  std::string job_key;
  std::string job_uid;
  bool changed = false;
  {
    MutexLock lock(mu_);
    const auto place = attachments_.find(attachment);
    if (place == attachments_.end()) return absl::OkStatus();
    AgentState& state = place->second.worker->state;
    if (message.has_heartbeat()) {
      const bool loading = message.heartbeat().loading();
      if (std::exchange(state.loading, loading) == loading) return absl::OkStatus();
      changed = true;
    } else {
      changed = Apply(message, state);
      if (WakesForSteps(*place->second.job, message, *place->second.worker)) changed = true;
    }
    job_uid = place->second.job->registration.uid;
    job_key = place->second.job->registration.key;
  }
  if (progress_ != nullptr) {
    if (message.has_steps()) changed |= progress_->RecordSteps(job_uid, message.steps());
    if (message.has_checkpoint()) progress_->RecordCheckpoint(job_uid, message.checkpoint());
  }
  if (changed) on_change_(job_key);
  return absl::OkStatus();
}

void AgentRegistry::Detach(uint64_t attachment) {
  std::string job_key;
  {
    MutexLock lock(mu_);
    const auto place = attachments_.find(attachment);
    if (place == attachments_.end()) return;
    Worker& worker = *place->second.worker;
    worker.stream = nullptr;
    worker.state.attached = false;
    worker.state.detached_at = clock_.Monotonic();
    job_key = place->second.job->registration.key;
    attachments_.erase(place);
  }
  MUSTER_LOG(INFO, "agent detached", {"job", job_key}, {"session", attachment});
  on_change_(job_key);
}

absl::Status AgentRegistry::SendOrder(const OrderTarget& target, EncodedMessage order) {
  MutexLock lock(mu_);
  const auto job = jobs_.find(target.job_uid);
  if (job != jobs_.end()) {
    const auto worker = job->second.workers.find(target.index);
    if (worker != job->second.workers.end() && worker->second.stream != nullptr &&
        worker->second.state.worker.incarnation() == target.incarnation &&
        worker->second.state.worker.pod_uid() == target.pod_uid) {
      return worker->second.stream->Send(std::move(order));
    }
  }
  return absl::UnavailableError(absl::StrCat("worker ", target.index, " incarnation ",
                                             target.incarnation, " of job ", target.job_uid,
                                             " is not attached"));
}

std::vector<AgentState> AgentRegistry::Agents(const std::string& job_uid) const {
  std::vector<AgentState> states;
  VisitAgents(job_uid, [&](const AgentState& state) { states.push_back(state); });
  return states;
}

void AgentRegistry::VisitAgents(const std::string& job_uid,
                                absl::FunctionRef<void(const AgentState&)> visit) const {
  MutexLock lock(mu_);
  const auto job = jobs_.find(job_uid);
  if (job == jobs_.end()) return;
  for (const auto& [index, worker] : job->second.workers) visit(worker.state);
}

void AgentRegistry::DropFailuresBefore(const std::string& job_uid, int64_t round) {
  MutexLock lock(mu_);
  const auto job = jobs_.find(job_uid);
  if (job == jobs_.end()) return;
  for (auto& [index, worker] : job->second.workers) {
    std::erase_if(worker.state.exits,
                  [&](const RankExited& e) { return e.round().round() < round; });
    std::erase_if(worker.state.stalls,
                  [&](const RankStalled& s) { return s.round().round() < round; });
  }
}

void AgentRegistry::HeardUntil(absl::Time when) {
  MutexLock lock(mu_);
  const bool first = heard_until_ == absl::InfiniteFuture();
  heard_until_ = first ? when : std::max(heard_until_, when);
}

absl::Time AgentRegistry::heard_until() const {
  MutexLock lock(mu_);
  return heard_until_;
}

int AgentRegistry::attached() const {
  MutexLock lock(mu_);
  return static_cast<int>(attachments_.size());
}

void AgentRegistry::CloseAll(const absl::Status& reason) {
  MutexLock lock(mu_);
  for (auto& [uid, job] : jobs_) {
    for (auto& [index, worker] : job.workers) {
      if (worker.stream == nullptr) continue;
      worker.stream->Close(reason);
      worker.stream = nullptr;
      worker.state.attached = false;
      worker.state.detached_at = clock_.Monotonic();
    }
  }
  attachments_.clear();
}

}  // namespace muster::control
