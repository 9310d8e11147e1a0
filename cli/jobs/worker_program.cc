#include "cli/jobs/worker_program.h"

#include "base/json.h"
#include "base/json_fields.h"
#include "operator/api/pod_template.h"

namespace muster::cli {
namespace {

void Append(const std::vector<std::string>& list, std::vector<std::string>& words) {
  words.insert(words.end(), list.begin(), list.end());
}

}  // namespace

WorkerProgram ReadWorkerProgram(const v1alpha1::TrainingJobSpec& spec) {
  WorkerProgram program;
  const Json pod_template = control::PodTemplateOf(spec);
  for (const auto& [index, container] : control::WorkerContainers(pod_template)) {
    Append(StringsField(*container, "command"), program.words);
    Append(StringsField(*container, "args"), program.words);
    const Json& directory = ValueField(*container, "workingDir");
    if (directory.is_string()) program.directory = directory.get<std::string>();
  }
  return program;
}

}  // namespace muster::cli
