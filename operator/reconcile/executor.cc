#include "operator/reconcile/executor.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/secrets.h"
#include "base/status_macros.h"
#include "operator/api/codec.h"
#include "operator/core/state/checked_status.h"
#include "operator/core/state/round_stamp.h"
#include "operator/kube/api_error.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/fenced_api.h"
#include "operator/reconcile/pod/job_network_policy.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

constexpr int kBatchGrowth = 4;
// Smaller batches are done before helper threads would wake.
constexpr int kWorthThreads = 4;

// The caller needs only the new resourceVersion back.
kube::CallOptions VersionOnly() {
  kube::CallOptions call;
  call.fields = &kube::IdentityFields();
  return call;
}

// Besides the version, asks for the fields that orders and the next leader rest on: an older CRD
// may drop them.
kube::CallOptions DurableOnly() {
  static const auto& fields = *new kube::FieldMask(
      {"status.term", "status.round", "status.membership", "status.incarnations",
       "status.workers.ended", "status.workers.toldToStop", "status.checkpoint"});
  kube::CallOptions call;
  call.fields = &fields;
  return call;
}

void Raise(uint64_t& version, const Json& object) {
  const auto parsed = kube::ParseResourceVersion(kube::ResourceVersionOf(object));
  if (parsed.ok()) version = std::max(version, *parsed);
}

v1alpha1::ReplicaPeer ToPeer(const ReplicaSite& site) {
  v1alpha1::ReplicaPeer peer;
  peer.set_worker(site.index);
  peer.set_endpoint(site.endpoint);
  return peer;
}

v1alpha1::OperatorMessage ToMessage(const PrepareOrder& order) {
  v1alpha1::OperatorMessage message;
  v1alpha1::PrepareRound& prepare = *message.mutable_prepare();
  *prepare.mutable_round() = ToProto(order.round);
  prepare.set_membership(order.membership);
  if (order.fresh) prepare.set_fresh(true);
  *prepare.mutable_member() = order.place.member;
  prepare.set_world_size(order.place.world_size);
  prepare.set_group_rank(order.place.group_rank);
  prepare.set_group_world_size(order.place.group_world_size);
  if (order.spec != nullptr) *prepare.mutable_spec() = *order.spec;
  prepare.set_trajectory(order.trajectory);
  for (const ReplicaSite& site : order.replicas_at) *prepare.add_replicas_at() = ToPeer(site);
  if (order.copies_of) prepare.set_copies_of(*order.copies_of);
  return message;
}
v1alpha1::OperatorMessage ToMessage(const GoOrder& order) {
  v1alpha1::OperatorMessage message;
  *message.mutable_go() = *order.go;
  return message;
}
v1alpha1::OperatorMessage ToMessage(const StopOrder& order) {
  v1alpha1::OperatorMessage message;
  *message.mutable_stop()->mutable_round() = ToProto(order.round);
  message.mutable_stop()->set_save(order.save);
  message.mutable_stop()->set_reason(order.reason);
  return message;
}
v1alpha1::OperatorMessage ToMessage(const SaveOrder& order) {
  v1alpha1::OperatorMessage message;
  *message.mutable_save()->mutable_round() = ToProto(order.round);
  return message;
}

v1alpha1::OperatorMessage ToMessage(const ReplicateOrder& order) {
  v1alpha1::OperatorMessage message;
  *message.mutable_replicate()->mutable_round() = ToProto(order.round);
  if (order.to) *message.mutable_replicate()->mutable_peer() = ToPeer(*order.to);
  return message;
}

v1alpha1::OperatorMessage ToMessage(const DiskOrder& order) {
  v1alpha1::OperatorMessage message;
  *message.mutable_to_disk()->mutable_round() = ToProto(order.round);
  message.mutable_to_disk()->set_from_step(order.from_step);
  return message;
}

v1alpha1::OperatorMessage ToMessage(const TuneOrder& order) {
  v1alpha1::OperatorMessage message;
  *message.mutable_tune()->mutable_round() = ToProto(order.round);
  for (const v1alpha1::Tuning& tuning : *order.tunings) {
    *message.mutable_tune()->add_tunings() = tuning;
  }
  return message;
}

// Returns true if pods are made now, or as soon as their incarnations are in the status.
bool MakesPods(const TrainingJob& job, const Plan& plan) {
  const auto& before = job.status.incarnations();
  const auto& after = plan.status.incarnations();
  return !plan.creates.empty() ||
         !std::equal(before.begin(), before.end(), after.begin(), after.end());
}

// Serialises orders. A Go is the same for all members of a round and is serialised once.
class OrderEncoder {
 public:
  using SecretOf = std::function<std::string(const RoundStamp&)>;
  explicit OrderEncoder(SecretOf secret_of) : secret_of_(std::move(secret_of)) {}

  EncodedMessage operator()(const Order& order) {
    const auto* go = std::get_if<GoOrder>(&order.what);
    if (go != nullptr && go->go == go_) return encoded_go_;
    v1alpha1::OperatorMessage message =
        std::visit([](const auto& what) { return ToMessage(what); }, order.what);
    if (message.has_prepare()) {
      message.mutable_prepare()->set_secret(secret_of_(ToStamp(message.prepare().round())));
    }
    if (go == nullptr) return Encode(message);
    go_ = go->go;
    return encoded_go_ = Encode(message);
  }

 private:
  const SecretOf secret_of_;
  std::shared_ptr<const v1alpha1::GoRound> go_;
  EncodedMessage encoded_go_;
};

}  // namespace

bool IsTerminal(const absl::Status& status) {
  const kube::Reason reason = kube::ReasonOf(status);
  return reason == kube::Reason::kBadRequest || reason == kube::Reason::kInvalid ||
         reason == kube::Reason::kTooLarge;
}

absl::Status Executor::DeletePods(const TrainingJob& job, const Plan& plan, Written& written) {
  for (const DeletePod& pod : plan.deletes) {
    if (written.deleted_pods.count(pod.uid) > 0) continue;
    kube::DeleteOptions options;
    options.preconditions.uid = pod.uid;
    options.grace_period_seconds = absl::ToInt64Seconds(pod.grace);
    const absl::Status status = api_.Delete(kube::kPods, {job.ns, pod.name}, options);
    // The pod is gone already, or another pod has its name now.
    const bool gone = absl::IsNotFound(status) || absl::IsAborted(status);
    if (!status.ok() && !gone) return kube::Annotate(status, absl::StrCat("delete pod ", pod.name));
    written.deleted_pods.insert(pod.uid);
    if (!gone) MUSTER_LOG(INFO, "pod deleted", {"pod", pod.name}, {"reason", pod.reason});
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> Executor::MakePod(const TrainingJob& job, const Json& pod) {
  absl::StatusOr<Json> stored = api_.Create(kube::kPods, pod, VersionOnly());
  if (!absl::IsAlreadyExists(stored.status())) return stored;
  stored = api_.Get(kube::kPods, kube::KeyOf(pod));
  const auto owner = stored.ok() ? kube::ControllerOf(*stored) : std::nullopt;
  if (stored.ok() && (!owner || owner->uid != job.uid)) {
    return absl::AlreadyExistsError("it exists and belongs to another owner");
  }
  return stored;
}

void Executor::ReportRefusal(const TrainingJob& job, const CreatePod& create,
                             const absl::Status& refusal, Written& written) {
  if (IsTerminal(refusal)) {
    written.refused_pod = absl::StrCat("spec.template: the API server refuses its pod: ",
                                       std::string(refusal.message()));
  } else if (!kube::IsFenced(refusal)) {
    // The write is retried for ever; the template's author must be able to see why.
    events_.Record({job.ns, job.name}, job.uid,
                   {Event::Type::kWarning, "FailedCreate",
                    absl::StrCat("pod ", create.name, ": ", std::string(refusal.message()))});
  }
}

absl::Status Executor::CreateBatch(const TrainingJob& job, const PodBuilder& builder,
                                   const CreatePod* creates, int count, Written& written) {
  std::vector<absl::StatusOr<Json>> pods(static_cast<size_t>(count));
  FanOut& how = count < kWorthThreads ? FanOut::InOrder() : fan_out_;
  how.Run(count, [&](int i) { pods[i] = MakePod(job, builder.Build(creates[i])); });
  absl::Status failed;
  for (int i = 0; i < count; ++i) {
    if (pods[i].ok()) {
      Raise(written.pod_version, *pods[i]);
      MUSTER_LOG(INFO, "pod created", {"pod", creates[i].name});
    } else if (failed.ok()) {
      ReportRefusal(job, creates[i], pods[i].status(), written);
      failed = kube::Annotate(pods[i].status(), absl::StrCat("create pod ", creates[i].name));
    }
  }
  return failed;
}

// Pods without a policy would be open to all, so a job whose policy cannot be written gets none.
absl::Status Executor::WriteNetworkPolicy(const TrainingJob& job) {
  if (policy_namespace_.empty()) return absl::OkStatus();
  const absl::Status written = EnsureNetworkPolicy(api_, job, policy_namespace_);
  if (!written.ok() && !kube::IsFenced(written)) {
    events_.Record({job.ns, job.name}, job.uid,
                   {Event::Type::kWarning, "FailedCreate", std::string(written.message())});
  }
  return written;
}

// Creates pods in growing batches: a fault of one pod, or a prohibition, often holds for hundreds.
absl::Status Executor::CreatePods(const TrainingJob& job, const Plan& plan, Written& written) {
  written.refused_pod.clear();
  if (plan.creates.empty()) return absl::OkStatus();
  const absl::StatusOr<PodBuilder> builder = PodBuilder::Make(job, pod_options_);
  if (!builder.ok()) {
    written.refused_pod = std::string(builder.status().message());
    return builder.status();
  }
  MUSTER_RETURN_IF_ERROR(WriteNetworkPolicy(job));
  const int count = static_cast<int>(plan.creates.size());
  int size = 1;
  for (int begin = 0; begin < count; begin += size, size *= kBatchGrowth) {
    size = std::min(size, count - begin);
    MUSTER_RETURN_IF_ERROR(CreateBatch(job, *builder, &plan.creates[begin], size, written));
  }
  return absl::OkStatus();
}

// Returns the job's version after the write. The status is written against it, so that both writes
// together rest on the version that was decided on.
absl::StatusOr<std::string> Executor::WriteFinalizers(const TrainingJob& job, const Plan& plan,
                                                      Written& written, bool& gone) {
  std::vector<std::string> finalizers = job.finalizers;
  for (const std::string& name : plan.remove_finalizers) std::erase(finalizers, name);
  for (const std::string& name : plan.add_finalizers) {
    if (std::find(finalizers.begin(), finalizers.end(), name) == finalizers.end()) {
      finalizers.push_back(name);
    }
  }
  if (finalizers == job.finalizers) return job.resource_version;
  Json patch = Json::object();
  patch["finalizers"] = finalizers.empty() ? Json() : Json(finalizers);
  absl::StatusOr<Json> stored = api_.PatchMetadata(kube::kTrainingJobs, {job.ns, job.name}, patch,
                                                   {job.uid, job.resource_version}, VersionOnly());
  if (!stored.ok()) return kube::Annotate(stored.status(), "write the job's finalizers");
  Raise(written.job_version, *stored);
  gone = job.deleting() && finalizers.empty();
  return kube::ResourceVersionOf(*stored);
}

// Sets spec.suspend of the job as it is at `version`, and returns its version after that. A patch
// needs no right but the one that finalizers are written with.
absl::StatusOr<std::string> Executor::WriteSuspend(const TrainingJob& job,
                                                   const std::string& version, Written& written) {
  absl::StatusOr<Json> stored =
      api_.Patch(kube::kTrainingJobs, {job.ns, job.name}, {{"spec", {{"suspend", true}}}},
                 {job.uid, version}, VersionOnly());
  if (!stored.ok()) return kube::Annotate(stored.status(), "suspend the job");
  Raise(written.job_version, *stored);
  return kube::ResourceVersionOf(*stored);
}

absl::Status Executor::WriteStatus(const TrainingJob& job, const Plan& plan,
                                   const std::string& version, Written& written) {
  const bool check = !DescribeMissingFields(plan.status, job.status).empty();
  absl::StatusOr<Json> stored =
      api_.UpdateStatus(kube::kTrainingJobs, StatusToJson(job, plan.status, version),
                        check ? DurableOnly() : VersionOnly());
  if (!stored.ok()) {
    const absl::Status refused = kube::Annotate(stored.status(), "write the job's status");
    if (IsTerminal(refused)) written.status_fault = std::string(refused.message());
    return refused;
  }
  Raise(written.job_version, *stored);
  if (!check) return absl::OkStatus();
  v1alpha1::TrainingJobStatus kept;
  const Json* json = kube::Find(*stored, {"status"});
  if (json != nullptr) DecodeMessage(*json, "status", UnknownFields::kIgnore, kept);
  written.status_fault = DescribeMissingFields(plan.status, kept);
  return written.status_fault.empty() ? absl::OkStatus()
                                      : absl::FailedPreconditionError(written.status_fault);
}

absl::Status Executor::Write(const TrainingJob& job, const Plan& plan, Written& written) {
  const Urgency::Scope urgent(MakesPods(job, plan) ? urgency_ : nullptr);
  written.status_fault.clear();
  MUSTER_RETURN_IF_ERROR(DeletePods(job, plan, written));
  MUSTER_RETURN_IF_ERROR(CreatePods(job, plan, written));
  bool gone = false;
  MUSTER_ASSIGN_OR_RETURN(std::string version, WriteFinalizers(job, plan, written, gone));
  if (!plan.write_status || gone) return absl::OkStatus();
  if (plan.suspend) {
    MUSTER_ASSIGN_OR_RETURN(version, WriteSuspend(job, version, written));
  }
  return WriteStatus(job, plan, version, written);
}

std::string Executor::SecretOf(const TrainingJob& job, const RoundStamp& round) const {
  return HmacSha256(secrets_key_, absl::StrCat(job.uid, "/", round.term, ".", round.round));
}

absl::Status Executor::SendOrders(const TrainingJob& job, const Plan& plan) {
  OrderEncoder encode([&](const RoundStamp& round) { return SecretOf(job, round); });
  for (const Order& order : plan.orders) {
    if (may_order_ != nullptr) {
      if (const absl::Status may = may_order_(); !may.ok()) return kube::FencedError(may);
    }
    const absl::Status status = registry_.SendOrder(
        {job.uid, order.index, order.incarnation, order.pod_uid}, encode(order));
    if (!status.ok()) {
      MUSTER_LOG(INFO, "order dropped", {"worker", order.index}, {"error", status});
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::Announce(const TrainingJob& job, const Plan& plan) {
  MUSTER_RETURN_IF_ERROR(SendOrders(job, plan));
  for (const Event& event : plan.events) {
    MUSTER_LOG(INFO, "event", {"reason", event.reason}, {"sentence", event.message});
    events_.Record({job.ns, job.name}, job.uid, event);
  }
  if (!plan.delete_job) return absl::OkStatus();
  kube::DeleteOptions options;
  options.preconditions.uid = job.uid;
  const absl::Status status = api_.Delete(kube::kTrainingJobs, {job.ns, job.name}, options);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace muster::control
