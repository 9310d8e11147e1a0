#include "operator/local/pod_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_fields.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"

namespace muster::control {

// Supports metadata.labels['x'] and metadata.annotations['x'], too.
absl::StatusOr<std::string> PodField(const Json& pod, const std::string& path) {
  for (const char* map : {"labels", "annotations"}) {
    const std::string prefix = absl::StrCat("metadata.", map, "['");
    if (path.compare(0, prefix.size(), prefix) != 0 || path.size() < prefix.size() + 2) continue;
    const std::string key = path.substr(prefix.size(), path.size() - prefix.size() - 2);
    return kube::StringAt(pod, {"metadata", map, key});
  }
  if (path == "status.podIP" || path == "status.hostIP") return "127.0.0.1";
  if (path == "metadata.name") return kube::NameOf(pod);
  if (path == "metadata.namespace") return kube::NamespaceOf(pod);
  if (path == "metadata.uid") return kube::UidOf(pod);
  if (path == "spec.nodeName") return kube::StringAt(pod, {"spec", "nodeName"});
  if (path == "spec.serviceAccountName") return kube::StringAt(pod, {"spec", "serviceAccountName"});
  return absl::InvalidArgumentError(absl::StrCat("fieldPath ", path, " is not supported"));
}

const Json* WorkerContainer(const Json& pod) {
  for (const Json& container : ArrayField(ObjectField(pod, "spec"), "containers")) {
    if (StringField(container, "name") == "worker") return &container;
  }
  return nullptr;
}

namespace {

absl::StatusOr<std::string> ValueOf(const Json& pod, const Json& entry) {
  const Json* from = kube::Find(entry, {"valueFrom"});
  if (from == nullptr) return kube::StringAt(entry, {"value"});
  const std::string path = kube::StringAt(*from, {"fieldRef", "fieldPath"});
  if (!path.empty()) return PodField(pod, path);
  for (const char* source : {"secretKeyRef", "configMapKeyRef"}) {
    const Json* optional = kube::Find(*from, {source, "optional"});
    if (optional != nullptr && *optional == true) return absl::NotFoundError("optional");
  }
  return absl::InvalidArgumentError("only value and fieldRef exist without a cluster");
}

bool IsOptional(const Json& source) {
  for (const char* kind : {"secretRef", "configMapRef"}) {
    const Json* optional = kube::Find(source, {kind, "optional"});
    if (optional != nullptr && *optional == true) return true;
  }
  return false;
}

absl::Status AddEnvironment(const Json& pod, const Json& container, Environment* env) {
  const Json& sources = ArrayField(container, "envFrom");
  for (size_t i = 0; i < sources.size(); ++i) {
    if (IsOptional(sources[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("containers[worker].envFrom[", i,
                     "]: only env with value and fieldRef exists without a cluster"));
  }
  const Json* entries = kube::Find(container, {"env"});
  if (entries == nullptr || !entries->is_array()) return absl::OkStatus();
  for (const Json& entry : *entries) {
    const std::string name = kube::StringAt(entry, {"name"});
    absl::StatusOr<std::string> value = ValueOf(pod, entry);
    if (absl::IsNotFound(value.status())) continue;
    if (!value.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("containers[worker].env[", name,
                                                     "]: ", std::string(value.status().message())));
    }
    (*env)[name] = ExpandVariables(*value, *env);
  }
  return absl::OkStatus();
}

// "registry/folder/name:tag" -> "name".
std::string ImageName(const std::string& image) {
  const size_t slash = image.rfind('/');
  const std::string last = slash == std::string::npos ? image : image.substr(slash + 1);
  return last.substr(0, last.find_first_of(":@"));
}

}  // namespace

absl::StatusOr<PodCommand> CommandOf(const Json& pod, Environment base,
                                     const ImagePrograms& programs) {
  const Json* container = WorkerContainer(pod);
  if (container == nullptr) {
    return absl::InvalidArgumentError("spec.containers: there is none named worker");
  }
  PodCommand command;
  command.env = std::move(base);
  MUSTER_RETURN_IF_ERROR(AddEnvironment(pod, *container, &command.env));
  command.argv = StringsField(*container, "command");
  if (command.argv.empty()) {
    const std::string program = ImageName(kube::StringAt(*container, {"image"}));
    if (programs.count(program) == 0) {
      return absl::InvalidArgumentError(
          "containers[worker].command: images cannot be run here, so a command is needed");
    }
    command.argv.push_back(program);
  }
  for (std::string& argument : StringsField(*container, "args")) {
    command.argv.push_back(std::move(argument));
  }
  for (std::string& argument : command.argv) argument = ExpandVariables(argument, command.env);
  std::string& program = command.argv.front();
  const auto known = programs.find(program.substr(program.rfind('/') + 1));
  if (known != programs.end()) program = known->second;
  command.cwd = kube::StringAt(*container, {"workingDir"});
  return command;
}

}  // namespace muster::control
