#include "agent/worker/ranks/user_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/object_store/object_uri.h"
#include "base/status_macros.h"

namespace muster::agent {

absl::StatusOr<std::vector<std::string>> ReadUserCommand(const std::string& pod_template_json) {
  MUSTER_ASSIGN_OR_RETURN(const Json pod, ParseJson(pod_template_json));
  for (const Json& container : ArrayField(ObjectField(pod, "spec"), "containers")) {
    if (StringField(container, "name") != "worker") continue;
    std::vector<std::string> command = StringsField(container, "command");
    if (command.empty()) break;
    for (std::string& word : StringsField(container, "args")) command.push_back(std::move(word));
    return command;
  }
  return absl::InvalidArgumentError(
      "template.spec.containers: the container `worker` has no command, and the job has no "
      "trainer");
}

absl::Status AddCheckpointDirectory(const v1alpha1::TrainingJobSpec& spec, Files& files,
                                    Environment& env) {
  if (!spec.has_checkpoint()) return absl::OkStatus();
  const std::string& uri = spec.checkpoint().uri();
  if (!IsObjectUri(uri)) {
    if (const absl::Status made = files.MakeDirectories(uri); !made.ok()) {
      return absl::Status(made.code(),
                          absl::StrCat("checkpoint.uri cannot be made: ", made.message()));
    }
  }
  env["MUSTER_CHECKPOINT_DIR"] = uri;
  return absl::OkStatus();
}

}  // namespace muster::agent
