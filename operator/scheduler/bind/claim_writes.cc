#include "operator/scheduler/bind/claim_writes.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "operator/kube/storage_types.h"

namespace muster::control {
namespace {

constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";
constexpr char kBoundByController[] = "pv.kubernetes.io/bound-by-controller";

std::string SelectedNode(const Json& claim) { return kube::AnnotationOf(claim, kSelectedNode); }

bool HasVolume(const Json& claim) { return !kube::StringAt(claim, {"spec", "volumeName"}).empty(); }

}  // namespace

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

absl::Status ForgetNode(kube::Api& api, const kube::ObjectKey& claim, const std::string& node) {
  MUSTER_ASSIGN_OR_RETURN(Json json, api.Get(kube::kVolumeClaims, claim));
  if (HasVolume(json) || SelectedNode(json) != node) return absl::OkStatus();
  json["metadata"]["annotations"].erase(kSelectedNode);
  return api.Update(kube::kVolumeClaims, json).status();
}

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

}  // namespace muster::control
