#include "cli/run/template_notes.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "operator/api/pod_template.h"

namespace muster::cli {
namespace {

constexpr char kSharedMemory[] = "/dev/shm";

std::vector<std::string> NamesOf(const Json& containers) {
  std::vector<std::string> names;
  for (const Json& container : containers) names.push_back(StringField(container, "name"));
  return names;
}

// Returns the fields of `object` among `known` that say anything.
std::vector<std::string> FieldsOf(const Json& object, std::initializer_list<const char*> known) {
  std::vector<std::string> fields;
  for (const char* field : known) {
    const Json& value = ValueField(object, field);
    const bool says_nothing = value.is_null() || (value.is_structured() && value.empty());
    if (!says_nothing) fields.push_back(field);
  }
  return fields;
}

// Returns the kind of a volume's source: emptyDir, hostPath and so on.
std::string KindOf(const Json& volume) {
  for (const auto& [field, value] : volume.items()) {
    if (field != "name" && !value.is_null()) return field;
  }
  return "emptyDir";
}

// Returns true if the path is the volume's contents on this machine too, or the job is refused for
// the volume.
bool IsThereOrRefused(const Json& volume, const std::string& path) {
  const std::string kind = KindOf(volume);
  if (kind == "hostPath") return StringField(volume["hostPath"], "path") == path;
  return path == kSharedMemory || kind == "persistentVolumeClaim";
}

void AddVolumes(const Json& pod, const Json& container, std::vector<std::string>& notes) {
  for (const Json& mount : ArrayField(container, "volumeMounts")) {
    const std::string path = StringField(mount, "mountPath");
    for (const Json& volume : ArrayField(pod, "volumes")) {
      if (!volume.is_object() || StringField(volume, "name") != StringField(mount, "name"))
        continue;
      if (IsThereOrRefused(volume, path)) continue;
      notes.push_back(absl::StrCat("the volume ", StringField(mount, "name"), " (", KindOf(volume),
                                   ") is not mounted on this machine: ", path,
                                   " is the machine's own"));
    }
  }
}

void AddFields(const std::string& at, const std::vector<std::string>& fields,
               std::vector<std::string>& notes) {
  if (fields.empty()) return;
  notes.push_back(absl::StrCat(absl::StrJoin(fields, ", "), " of ", at,
                               fields.size() == 1 ? " has" : " have",
                               " no effect on this machine"));
}

}  // namespace

std::vector<std::string> PartsWithoutEffectHere(const v1alpha1::TrainingJobSpec& spec) {
  const Json pod_template = control::PodTemplateOf(spec);
  const Json& pod = ObjectField(pod_template, "spec");
  std::vector<std::string> notes;
  const std::vector<std::string> first = NamesOf(ArrayField(pod, "initContainers"));
  if (!first.empty()) {
    notes.push_back(
        absl::StrCat("initContainers are not run on this machine: ", absl::StrJoin(first, ", ")));
  }
  std::vector<std::string> beside = NamesOf(ArrayField(pod, "containers"));
  std::erase(beside, "worker");
  if (!beside.empty()) {
    notes.push_back(absl::StrCat("containers beside the worker are not run on this machine: ",
                                 absl::StrJoin(beside, ", ")));
  }
  for (const auto& [index, container] : control::WorkerContainers(pod_template)) {
    AddVolumes(pod, *container, notes);
    AddFields("the worker",
              FieldsOf(*container, {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe",
                                    "securityContext", "volumeDevices"}),
              notes);
  }
  AddFields("the template",
            FieldsOf(pod, {"securityContext", "hostAliases", "dnsConfig", "hostname", "subdomain",
                           "runtimeClassName", "shareProcessNamespace"}),
            notes);
  return notes;
}

}  // namespace muster::cli
