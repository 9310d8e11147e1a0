#include "operator/nodes/authority_config.h"

#include "base/json.h"
#include "base/logging.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr char kKey[] = "ca.crt";

absl::Status Write(kube::Api& api, const kube::ObjectKey& key, const std::string& authority_pem) {
  absl::StatusOr<Json> present = api.Get(kube::kConfigMaps, key);
  if (absl::IsNotFound(present.status())) {
    Json config = kube::NewObject(kube::kConfigMaps, key);
    kube::SetLabel(config, "app.kubernetes.io/part-of", "muster");
    config["data"][kKey] = authority_pem;
    return api.Create(kube::kConfigMaps, config).status();
  }
  if (!present.ok()) return present.status();
  if (kube::StringAt(*present, {"data", kKey}) == authority_pem) return absl::OkStatus();
  (*present)["data"][kKey] = authority_pem;
  return api.Update(kube::kConfigMaps, *present).status();
}

}  // namespace

absl::Status PublishAuthority(kube::Api& api, const std::string& name_space,
                              const std::string& authority_pem) {
  const kube::ObjectKey key{name_space, kAuthorityConfigMap};
  const absl::Status status = Write(api, key, authority_pem);
  // Another replica writes the same.
  if (status.ok() || absl::IsAlreadyExists(status) || absl::IsAborted(status)) {
    return absl::OkStatus();
  }
  MUSTER_LOG(WARN, "node agents cannot learn whom to trust", {"configmap", kube::ToString(key)},
             {"error", status});
  return status;
}

}  // namespace muster::control
