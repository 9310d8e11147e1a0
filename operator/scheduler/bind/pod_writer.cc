#include "operator/scheduler/bind/pod_writer.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/storage_types.h"
#include "operator/kube/wrap/fenced_api.h"

namespace muster::control {
namespace {

using Outcome = PodWritten::Outcome;

// Returns true if a call that failed so may have reached the store, or may still do so.
bool MayHaveHappened(const absl::Status& status) {
  if (kube::IsFenced(status)) return false;
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kCancelled:
      return true;
    default:
      return false;
  }
}

Outcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return Outcome::kDone;
  return MayHaveHappened(status) ? Outcome::kUnknown : Outcome::kNotDone;
}

constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";
constexpr char kBoundByController[] = "pv.kubernetes.io/bound-by-controller";

std::string SelectedNode(const Json& claim) { return kube::AnnotationOf(claim, kSelectedNode); }

bool HasVolume(const Json& claim) { return !kube::StringAt(claim, {"spec", "volumeName"}).empty(); }

// Has the claim's volume made for the node.
//
// This write to a claim and the two below may be repeated; kFailedPrecondition means that it comes
// too late.
absl::Status SelectNode(kube::Api& api, const kube::ObjectKey& claim, const std::string& node) {
  MUSTER_ASSIGN_OR_RETURN(Json json, api.Get(kube::kVolumeClaims, claim));
  const std::string selected = SelectedNode(json);
  if (HasVolume(json) || selected == node) return absl::OkStatus();
  if (!selected.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("claim ", claim.name, " is for ", selected));
  }
  json["metadata"]["annotations"][kSelectedNode] = node;
  return api.Update(kube::kVolumeClaims, json).status();
}

// Undoes SelectNode, unless the claim is bound by now.
absl::Status ForgetNode(kube::Api& api, const kube::ObjectKey& claim, const std::string& node) {
  MUSTER_ASSIGN_OR_RETURN(Json json, api.Get(kube::kVolumeClaims, claim));
  if (HasVolume(json) || SelectedNode(json) != node) return absl::OkStatus();
  json["metadata"]["annotations"].erase(kSelectedNode);
  return api.Update(kube::kVolumeClaims, json).status();
}

// Gives the claim this volume, which must exist and belong to no other claim.
absl::Status GiveVolume(kube::Api& api, const kube::ObjectKey& claim, const std::string& volume) {
  MUSTER_ASSIGN_OR_RETURN(const Json owner, api.Get(kube::kVolumeClaims, claim));
  const std::string has = kube::StringAt(owner, {"spec", "volumeName"});
  if (has == volume) return absl::OkStatus();
  if (!has.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("claim ", claim.name, " has volume ", has));
  }
  MUSTER_ASSIGN_OR_RETURN(Json json, api.Get(kube::kVolumes, {"", volume}));
  const std::string held = kube::StringAt(json, {"spec", "claimRef", "name"});
  if (!held.empty()) {
    const bool ours = held == claim.name &&
                      kube::StringAt(json, {"spec", "claimRef", "namespace"}) == claim.name_space &&
                      kube::StringAt(json, {"spec", "claimRef", "uid"}) == kube::UidOf(owner);
    if (ours) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("volume ", volume, " is claim ", held, "'s"));
  }
  json["spec"]["claimRef"] = {{"apiVersion", "v1"},
                              {"kind", kube::kVolumeClaims.kind},
                              {"namespace", claim.name_space},
                              {"name", claim.name},
                              {"uid", kube::UidOf(owner)},
                              {"resourceVersion", kube::ResourceVersionOf(owner)}};
  json["metadata"]["annotations"][kBoundByController] = "yes";
  return api.Update(kube::kVolumes, json).status();
}

}  // namespace

const char* NameOf(PodWrite::Kind kind) {
  switch (kind) {
    case PodWrite::Kind::kBind:
      return "bind";
    case PodWrite::Kind::kRefuse:
      return "refuse";
    case PodWrite::Kind::kDelete:
      return "delete";
    case PodWrite::Kind::kSelectNode:
      return "select the node of a claim";
    case PodWrite::Kind::kForgetNode:
      return "forget the node of a claim";
    case PodWrite::Kind::kGiveVolume:
      return "give a volume to a claim";
  }
  return "";
}

PodWriter::PodWriter(kube::Api& api, int threads, std::function<void()> on_written)
    : api_(api), most_others_(std::max(1, threads - 1)), on_written_(std::move(on_written)) {}

void PodWriter::Add(PodWrite write) {
  MutexLock lock(mu_);
  auto& lane = write.kind == PodWrite::Kind::kRefuse ? refusals_
               : write.again                         ? again_
                                                     : first_attempts_;
  lane.push_back(std::move(write));
  added_.NotifyOne();
}

bool PodWriter::RunNext() {
  PodWrite next;
  bool first_try = false;
  {
    MutexLock lock(mu_);
    if (!CanBegin()) return false;
    first_try = !first_attempts_.empty();
    auto& lane = first_try ? first_attempts_ : again_.empty() ? refusals_ : again_;
    next = std::move(lane.front());
    lane.pop_front();
    ++running_;
    if (!first_try) ++others_running_;
  }
  Run(std::move(next), first_try);
  return true;
}

bool PodWriter::WaitAndRun() {
  {
    MutexLock lock(mu_);
    while ((!CanBegin() || held_) && !stopped_) added_.Wait(mu_);
    if (stopped_) return false;
  }
  RunNext();
  return true;
}

void PodWriter::Hold(bool held) {
  MutexLock lock(mu_);
  held_ = held;
  if (!held) added_.NotifyAll();
}

void PodWriter::Shutdown() {
  MutexLock lock(mu_);
  stopped_ = true;
  added_.NotifyAll();
}

std::vector<PodWritten> PodWriter::Take() {
  MutexLock lock(mu_);
  return std::exchange(written_, {});
}

int64_t PodWriter::pending() const {
  MutexLock lock(mu_);
  return static_cast<int64_t>(first_attempts_.size() + again_.size() + refusals_.size()) + running_;
}

void PodWriter::Run(PodWrite write, bool first_try) {
  PodWritten written;
  if (write.kind == PodWrite::Kind::kBind) {
    written = Bind(write);
  } else if (write.is_of_claim()) {
    written.status = WriteClaim(write);
    // Each call finds out by itself what was done already, so a conflict is tried again, too.
    written.outcome =
        absl::IsAborted(written.status) ? Outcome::kUnknown : OutcomeOf(written.status);
  } else {
    written.status = write.kind == PodWrite::Kind::kDelete ? Delete(write) : Refuse(write);
    written.outcome = OutcomeOf(written.status);
  }
  written.write = std::move(write);
  {
    MutexLock lock(mu_);
    --running_;
    if (!first_try) --others_running_;
    written_.push_back(std::move(written));
  }
  on_written_();
}

PodWritten PodWriter::Bind(const PodWrite& write) {
  kube::Binding binding;
  binding.pod = write.pod->key;
  binding.node = write.text;
  binding.preconditions.uid = write.pod->view->uid;
  PodWritten written;
  written.status = api_.Bind(binding);
  if (absl::IsAborted(written.status)) return LookUp(write, std::move(written.status));
  written.outcome = OutcomeOf(written.status);
  written.node = write.text;
  return written;
}

// A conflict means that the pod is bound already, is being deleted, or was replaced by another.
PodWritten PodWriter::LookUp(const PodWrite& write, absl::Status conflict) {
  PodWritten written;
  written.outcome = Outcome::kNotDone;
  const absl::StatusOr<Json> json = api_.Get(kube::kPods, write.pod->key);
  if (!json.ok()) {
    written.status = json.status();
    if (!absl::IsNotFound(json.status())) written.outcome = Outcome::kUnknown;
    return written;
  }
  written.node = kube::StringAt(*json, {"spec", "nodeName"});
  if (kube::UidOf(*json) == write.pod->view->uid && !written.node.empty()) {
    written.outcome = Outcome::kDone;
    return written;
  }
  written.status = std::move(conflict);
  return written;
}

absl::Status PodWriter::Refuse(const PodWrite& write) {
  absl::StatusOr<Json> json = api_.Get(kube::kPods, write.pod->key);
  if (!json.ok()) return json.status();
  if (kube::UidOf(*json) != write.pod->view->uid)
    return absl::NotFoundError("the name belongs to another pod by now");
  if (!kube::StringAt(*json, {"spec", "nodeName"}).empty()) return absl::OkStatus();  // too late
  Json& conditions = (*json)["status"]["conditions"];
  Json kept = Json::array();
  if (conditions.is_array()) {
    for (const Json& condition : conditions) {
      if (kube::StringAt(condition, {"type"}) != "PodScheduled") kept.push_back(condition);
    }
  }
  kept.push_back({{"type", "PodScheduled"},
                  {"status", "False"},
                  {"reason", "Unschedulable"},
                  {"message", write.text}});
  conditions = std::move(kept);
  return api_.UpdateStatus(kube::kPods, *json).status();
}

absl::Status PodWriter::WriteClaim(const PodWrite& write) {
  const kube::ObjectKey claim{write.pod->key.name_space, write.claim};
  if (write.kind == PodWrite::Kind::kSelectNode) return SelectNode(api_, claim, write.text);
  if (write.kind == PodWrite::Kind::kForgetNode) return ForgetNode(api_, claim, write.text);
  return GiveVolume(api_, claim, write.text);
}

absl::Status PodWriter::Delete(const PodWrite& write) {
  kube::DeleteOptions options;
  options.preconditions.uid = write.pod->view->uid;
  return api_.Delete(kube::kPods, write.pod->key, options);
}

}  // namespace muster::control
