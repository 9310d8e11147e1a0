#include "agent/worker/user_command.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

const Json* Find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

void AppendStrings(const Json* list, std::vector<std::string>* out) {
  if (list == nullptr || !list->is_array()) return;
  for (const Json& item : *list) {
    if (item.is_string()) out->push_back(item.get<std::string>());
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadUserCommand(const std::string& pod_template_json) {
  MUSTER_ASSIGN_OR_RETURN(const Json pod, ParseJson(pod_template_json));
  const Json* spec = Find(pod, "spec");
  const Json* containers = spec == nullptr ? nullptr : Find(*spec, "containers");
  if (containers != nullptr && containers->is_array()) {
    for (const Json& container : *containers) {
      const Json* name = Find(container, "name");
      if (name == nullptr || *name != "worker") continue;
      std::vector<std::string> command;
      AppendStrings(Find(container, "command"), &command);
      if (command.empty()) break;
      AppendStrings(Find(container, "args"), &command);
      return command;
    }
  }
  return absl::InvalidArgumentError(
      "template.spec.containers: the container `worker` has no command, and the job has no "
      "trainer");
}

absl::Status AddCheckpointDirectory(const v1alpha1::TrainingJobSpec& spec, Files& files,
                                    Environment& env) {
  if (!spec.has_checkpoint()) return absl::OkStatus();
  const std::string& uri = spec.checkpoint().uri();
  if (!absl::StrContains(uri, "://")) {
    if (const absl::Status made = files.MakeDirectories(uri); !made.ok()) {
      return absl::Status(made.code(),
                          absl::StrCat("checkpoint.uri cannot be made: ", made.message()));
    }
  }
  env["MUSTER_CHECKPOINT_DIR"] = uri;
  return absl::OkStatus();
}

}  // namespace muster::agent
