#include "cli/worker_program.h"

#include "base/json.h"

namespace muster::cli {
namespace {

Json At(const Json& object, const char* field) {
  return object.is_object() ? object.value(field, Json()) : Json();
}

void Append(const Json& list, std::vector<std::string>& words) {
  if (!list.is_array()) return;
  for (const Json& word : list) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
}

}  // namespace

WorkerProgram ReadWorkerProgram(const v1alpha1::TrainingJobSpec& spec) {
  WorkerProgram program;
  const absl::StatusOr<Json> raw = ParseJson(spec.template_().raw());
  if (!raw.ok()) return program;
  const Json containers = At(At(*raw, "spec"), "containers");
  if (!containers.is_array()) return program;
  for (const Json& container : containers) {
    if (At(container, "name") != "worker") continue;
    Append(At(container, "command"), program.words);
    Append(At(container, "args"), program.words);
    const Json directory = At(container, "workingDir");
    if (directory.is_string()) program.directory = directory.get<std::string>();
  }
  return program;
}

}  // namespace muster::cli
