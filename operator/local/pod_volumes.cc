#include "operator/local/pod_volumes.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json_fields.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

using kube::Find;
using kube::StringAt;

// A kubelet replaces a token after this share of its lifetime.
constexpr double kRefreshAt = 0.8;
constexpr int64_t kDefaultTokenSeconds = 3600;

struct Context {
  const Json& pod;
  kube::Api& api;
  Files& files;
  absl::Time wall;
  std::string folder;  // of this volume
  absl::Duration fresh_for = absl::InfiniteDuration();
};

absl::Status Put(Context& context, const std::string& path, std::string_view contents) {
  if (path.empty() || path[0] == '/' || path.find("..") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("volume path \"", path, "\" leaves its volume"));
  }
  const std::string full = JoinPath(context.folder, path);
  MUSTER_RETURN_IF_ERROR(context.files.MakeDirectories(ParentPath(full)));
  const absl::StatusOr<std::string> before = ReadFile(context.files, full);
  if (before.ok() && *before == contents) return absl::OkStatus();
  return WriteFileAtomically(context.files, full, contents);
}

absl::Status PutToken(Context& context, const Json& source) {
  const int64_t seconds = IntegerField(source, "expirationSeconds").value_or(kDefaultTokenSeconds);
  Json spec = {{"expirationSeconds", seconds},
               {"boundObjectRef",
                {{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"name", kube::NameOf(context.pod)},
                 {"uid", kube::UidOf(context.pod)}}}};
  const std::string audience = StringAt(source, {"audience"});
  if (!audience.empty()) spec["audiences"] = Json::array({audience});
  const std::string account = StringAt(context.pod, {"spec", "serviceAccountName"});
  const Json request = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"spec", std::move(spec)}};
  MUSTER_ASSIGN_OR_RETURN(const Json answer,
                          context.api.CreateSubresource(kube::kServiceAccounts,
                                                        {kube::NamespaceOf(context.pod),
                                                         account.empty() ? "default" : account},
                                                        "token", request));
  const auto expires = kube::ParseTime(StringAt(answer, {"status", "expirationTimestamp"}));
  const std::string token = StringAt(answer, {"status", "token"});
  if (!expires || token.empty()) return absl::UnavailableError("the server's token is empty");
  context.fresh_for = std::min(context.fresh_for, (*expires - context.wall) * kRefreshAt);
  const std::string path = StringAt(source, {"path"});
  return Put(context, path.empty() ? "token" : path, token);
}

absl::StatusOr<std::string> Decoded(const Json& value, bool base64) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (!base64) return text;
  std::string bytes;
  if (!absl::Base64Unescape(text, &bytes)) return absl::UnavailableError("not base64");
  return bytes;
}

// Writes an object's keys as files; `source` may select keys. "data" is text in config maps, base64
// in secrets.
absl::Status PutObject(Context& context, const kube::ResourceType& type, const std::string& name,
                       const Json& source) {
  const bool secret = type == kube::kSecrets;
  const absl::StatusOr<Json> object = context.api.Get(type, {kube::NamespaceOf(context.pod), name});
  if (absl::IsNotFound(object.status()) && BoolField(source, "optional")) return absl::OkStatus();
  if (!object.ok()) return object.status();
  for (const char* field : {"data", "binaryData"}) {
    const Json* data = Find(*object, {field});
    if (data == nullptr || !data->is_object()) continue;
    const bool base64 = secret || std::string_view(field) == "binaryData";
    const Json& items = ArrayField(source, "items");
    for (const auto& [key, value] : data->items()) {
      std::string path = items.empty() ? key : "";
      for (const Json& item : items) {
        if (StringAt(item, {"key"}) == key) path = StringAt(item, {"path"});
      }
      if (path.empty()) continue;
      MUSTER_ASSIGN_OR_RETURN(const std::string contents, Decoded(value, base64));
      MUSTER_RETURN_IF_ERROR(Put(context, path, contents));
    }
  }
  return absl::OkStatus();
}

absl::Status PutDownward(Context& context, const Json& source) {
  for (const Json& item : ArrayField(source, "items")) {
    const std::string field = StringAt(item, {"fieldRef", "fieldPath"});
    MUSTER_ASSIGN_OR_RETURN(const std::string value, PodField(context.pod, field));
    MUSTER_RETURN_IF_ERROR(Put(context, StringAt(item, {"path"}), value));
  }
  return absl::OkStatus();
}

absl::Status PutProjected(Context& context, const Json& projected) {
  for (const Json& source : ArrayField(projected, "sources")) {
    if (const Json* token = Find(source, {"serviceAccountToken"})) {
      MUSTER_RETURN_IF_ERROR(PutToken(context, *token));
    } else if (const Json* map = Find(source, {"configMap"})) {
      MUSTER_RETURN_IF_ERROR(PutObject(context, kube::kConfigMaps, StringAt(*map, {"name"}), *map));
    } else if (const Json* secret = Find(source, {"secret"})) {
      MUSTER_RETURN_IF_ERROR(
          PutObject(context, kube::kSecrets, StringAt(*secret, {"name"}), *secret));
    } else if (const Json* downward = Find(source, {"downwardAPI"})) {
      MUSTER_RETURN_IF_ERROR(PutDownward(context, *downward));
    } else {
      return absl::InvalidArgumentError("a projected volume's source is not supported here");
    }
  }
  return absl::OkStatus();
}

// Returns the volume's path on this machine; empty if it is not mapped.
absl::StatusOr<std::string> MakeVolume(Context& context, const Json& volume) {
  if (const Json* host = Find(volume, {"hostPath"})) return StringAt(*host, {"path"});
  const Json* projected = Find(volume, {"projected"});
  const Json* map = Find(volume, {"configMap"});
  const Json* secret = Find(volume, {"secret"});
  if (projected == nullptr && map == nullptr && secret == nullptr && !volume.contains("emptyDir")) {
    return "";
  }
  MUSTER_RETURN_IF_ERROR(context.files.MakeDirectories(context.folder));
  if (projected != nullptr) MUSTER_RETURN_IF_ERROR(PutProjected(context, *projected));
  if (map != nullptr) {
    MUSTER_RETURN_IF_ERROR(PutObject(context, kube::kConfigMaps, StringAt(*map, {"name"}), *map));
  }
  if (secret != nullptr) {
    MUSTER_RETURN_IF_ERROR(
        PutObject(context, kube::kSecrets, StringAt(*secret, {"secretName"}), *secret));
  }
  return context.folder;
}

std::string Mapped(const std::map<std::string, std::string>& mounts, const std::string& text) {
  // The longest of the mounts that contain the path is last in order.
  for (auto it = mounts.rbegin(); it != mounts.rend(); ++it) {
    const auto& [inside, here] = *it;
    if (text == inside) return here;
    if (absl::StartsWith(text, inside + "/")) return here + text.substr(inside.size());
  }
  return text;
}

}  // namespace

absl::StatusOr<PodVolumes> MakeVolumes(const Json& pod, const std::string& folder, kube::Api& api,
                                       Files& files, absl::Time wall) {
  PodVolumes made;
  const Json* worker = WorkerContainer(pod);
  if (worker == nullptr) return made;
  for (const Json& mount : ArrayField(*worker, "volumeMounts")) {
    const std::string name = StringAt(mount, {"name"});
    for (const Json& volume : ArrayField(ObjectField(pod, "spec"), "volumes")) {
      if (StringAt(volume, {"name"}) != name) continue;
      Context context{pod, api, files, wall, JoinPath(folder, name)};
      absl::StatusOr<std::string> path = MakeVolume(context, volume);
      if (!path.ok()) {
        return absl::Status(path.status().code(),
                            absl::StrCat("volume ", name, ": ", path.status().message()));
      }
      made.fresh_for = std::min(made.fresh_for, context.fresh_for);
      const std::string inside = StringAt(mount, {"mountPath"});
      if (path->empty() || inside.empty()) continue;
      const std::string below = StringAt(mount, {"subPath"});
      made.mounts[inside] = below.empty() ? *path : JoinPath(*path, below);
    }
  }
  return made;
}

void UseMounts(const std::map<std::string, std::string>& mounts, PodCommand& command) {
  if (mounts.empty()) return;
  for (std::string& argument : command.argv) argument = Mapped(mounts, argument);
  for (auto& [name, value] : command.env) value = Mapped(mounts, value);
  command.cwd = Mapped(mounts, command.cwd);
}

}  // namespace muster::control
