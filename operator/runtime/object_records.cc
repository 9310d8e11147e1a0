#include "operator/runtime/object_records.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "operator/core/gang.h"
#include "operator/placement/cluster/quantity.h"

namespace muster::control {
namespace {

using kube::StringAt;

constexpr char kGpuResource[] = "nvidia.com/gpu";

PodPhase ParsePhase(const std::string& phase) {
  if (phase.empty() || phase == "Pending") return PodPhase::kPending;
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

int ToInt(const std::string& text) {
  int value = -1;
  return absl::SimpleAtoi(text, &value) ? value : -1;
}

// What cannot be read counts as nothing, as an absent request does.
int64_t Millis(const Json& amounts, const char* name) {
  const Json* value = kube::Find(amounts, {name});
  if (value == nullptr) return 0;
  if (value->is_number()) return static_cast<int64_t>(value->get<double>() * 1000);
  if (!value->is_string()) return 0;
  const absl::StatusOr<Quantity> amount = Quantity::Parse(value->get<std::string>());
  return amount.ok() && !amount->IsNegative() ? amount->MilliValue() : 0;
}

Resources ParseAmounts(const Json* amounts) {
  Resources resources;
  if (amounts == nullptr || !amounts->is_object()) return resources;
  resources.gpus = Millis(*amounts, kGpuResource) / 1000;
  resources.cpu_millis = Millis(*amounts, "cpu");
  resources.memory_bytes = Millis(*amounts, "memory") / 1000;
  resources.slots = Millis(*amounts, "pods") / 1000;
  return resources;
}

// Requests default to limits, as the API server fills them in.
Resources ContainerRequests(const Json& container) {
  const Resources limits = ParseAmounts(kube::Find(container, {"resources", "limits"}));
  const Json* given = kube::Find(container, {"resources", "requests"});
  Resources requests = ParseAmounts(given);
  if (given == nullptr || !given->contains("cpu")) requests.cpu_millis = limits.cpu_millis;
  if (given == nullptr || !given->contains("memory")) requests.memory_bytes = limits.memory_bytes;
  requests.gpus = std::max(requests.gpus, limits.gpus);
  return requests;
}

Resources PodRequests(const Json& pod) {
  Resources sum;
  if (const Json* list = kube::Find(pod, {"spec", "containers"}); list && list->is_array()) {
    for (const Json& container : *list) {
      const Resources one = ContainerRequests(container);
      sum.gpus += one.gpus;
      sum.cpu_millis += one.cpu_millis;
      sum.memory_bytes += one.memory_bytes;
    }
  }
  if (const Json* list = kube::Find(pod, {"spec", "initContainers"}); list && list->is_array()) {
    for (const Json& container : *list) {
      const Resources one = ContainerRequests(container);
      sum.gpus = std::max(sum.gpus, one.gpus);
      sum.cpu_millis = std::max(sum.cpu_millis, one.cpu_millis);
      sum.memory_bytes = std::max(sum.memory_bytes, one.memory_bytes);
    }
  }
  sum.slots = 1;
  return sum;
}

const Json* FindByField(const Json* list, const char* field, const std::string& value) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& item : *list) {
    if (StringAt(item, {field}) == value) return &item;
  }
  return nullptr;
}

const Json* FindCondition(const Json& object, const std::string& type) {
  return FindByField(kube::Find(object, {"status", "conditions"}), "type", type);
}

constexpr size_t kMaxConditions = 32;
constexpr size_t kMaxContainers = 32;

std::vector<ConditionView> ReadConditions(const Json& object) {
  std::vector<ConditionView> conditions;
  const Json* list = kube::Find(object, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) return conditions;
  for (const Json& item : *list) {
    if (conditions.size() == kMaxConditions) break;
    conditions.push_back(
        {StringAt(item, {"type"}), StringAt(item, {"status"}), StringAt(item, {"reason"})});
  }
  return conditions;
}

std::vector<TaintView> ReadTaints(const Json& node) {
  std::vector<TaintView> taints;
  const Json* list = kube::Find(node, {"spec", "taints"});
  if (list == nullptr || !list->is_array()) return taints;
  for (const Json& item : *list) {
    taints.push_back(
        {StringAt(item, {"key"}), StringAt(item, {"value"}), StringAt(item, {"effect"})});
  }
  return taints;
}

std::vector<Toleration> ReadTolerations(const Json& pod) {
  std::vector<Toleration> tolerations;
  const Json* list = kube::Find(pod, {"spec", "tolerations"});
  if (list == nullptr || !list->is_array()) return tolerations;
  for (const Json& item : *list) {
    tolerations.push_back({StringAt(item, {"key"}), StringAt(item, {"value"}),
                           StringAt(item, {"effect"}), StringAt(item, {"operator"}) == "Exists"});
  }
  return tolerations;
}

bool IsTolerated(const std::vector<Toleration>& tolerations, const TaintView& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& one) {
    if (!one.effect.empty() && one.effect != taint.effect) return false;
    if (one.key.empty()) return one.exists;
    return one.key == taint.key && (one.exists || one.value == taint.value);
  });
}

int IntAt(const Json& object, const char* name) {
  const Json* value = kube::Find(object, {name});
  return value != nullptr && value->is_number_integer() ? value->get<int>() : 0;
}

std::vector<ContainerEnd> ReadEnds(const Json& pod) {
  std::vector<ContainerEnd> ends;
  const Json* list = kube::Find(pod, {"status", "containerStatuses"});
  if (list == nullptr || !list->is_array()) return ends;
  for (const Json& item : *list) {
    const Json* terminated = kube::Find(item, {"state", "terminated"});
    if (terminated == nullptr || !terminated->is_object() || ends.size() == kMaxContainers)
      continue;
    ends.push_back({StringAt(item, {"name"}), IntAt(*terminated, "exitCode"),
                    IntAt(*terminated, "signal"), StringAt(*terminated, {"reason"})});
  }
  return ends;
}

void ReadWorkerContainer(const Json& pod, PodView& view) {
  const Json* status =
      FindByField(kube::Find(pod, {"status", "containerStatuses"}), "name", "worker");
  if (status == nullptr) return;
  const Json* terminated = kube::Find(*status, {"state", "terminated"});
  const Json* waiting = kube::Find(*status, {"state", "waiting"});
  const Json* from = terminated != nullptr ? terminated : waiting;
  if (from == nullptr || !from->is_object()) return;
  if (view.reason.empty()) view.reason = StringAt(*from, {"reason"});
  if (view.message.empty()) view.message = StringAt(*from, {"message"});
  if (terminated == nullptr) return;
  const Json* code = kube::Find(*terminated, {"exitCode"});
  if (code != nullptr && code->is_number_integer()) view.exit_code = code->get<int>();
}

std::map<std::string, std::string> StringMap(const Json* object) {
  std::map<std::string, std::string> map;
  if (object == nullptr || !object->is_object()) return map;
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) map[key] = value.get<std::string>();
  }
  return map;
}

PodView ParsePodView(const Json& json) {
  PodView view;
  view.name = kube::NameOf(json);
  view.uid = kube::UidOf(json);
  view.resource_version = kube::ResourceVersionOf(json);
  if (const auto owner = kube::ControllerOf(json)) view.owner_uid = owner->uid;
  view.index = ToInt(kube::LabelOf(json, kIndexLabel));
  view.incarnation = ToInt(kube::LabelOf(json, kIncarnationLabel));
  view.phase = ParsePhase(StringAt(json, {"status", "phase"}));
  view.node = StringAt(json, {"spec", "nodeName"});
  view.deleting = kube::IsTerminating(json);
  const Json* ready = FindCondition(json, "Ready");
  view.ready = ready != nullptr && StringAt(*ready, {"status"}) == "True";
  view.reason = StringAt(json, {"status", "reason"});
  view.message = StringAt(json, {"status", "message"});
  ReadWorkerContainer(json, view);
  if (kube::LabelOf(json, kJobLabel).empty()) return view;  // not ours: only its place matters
  view.ended = ReadEnds(json);
  view.conditions = ReadConditions(json);
  return view;
}

}  // namespace

bool Tolerates(const std::vector<Toleration>& tolerations, const std::vector<TaintView>& taints) {
  return std::all_of(taints.begin(), taints.end(), [&](const TaintView& taint) {
    return taint.effect == "PreferNoSchedule" || IsTolerated(tolerations, taint);
  });
}

const kube::FieldMask& PodFields() {
  static const auto* const fields = new kube::FieldMask({
      "metadata.labels[muster.dev/job]",
      "metadata.labels[muster.dev/index]",
      "metadata.labels[muster.dev/incarnation]",
      "metadata.ownerReferences",
      "metadata.deletionTimestamp",
      "spec.containers.resources",
      "spec.initContainers.resources",
      "spec.nodeName",
      "spec.nodeSelector",
      "spec.schedulerName",
      "spec.tolerations",
      "status.conditions.message",
      "status.conditions.reason",
      "status.conditions.status",
      "status.conditions.type",
      "status.containerStatuses.name",
      "status.containerStatuses.state.terminated",
      "status.containerStatuses.state.waiting",
      "status.message",
      "status.phase",
      "status.reason",
  });
  return *fields;
}

const kube::FieldMask& NodeFields() {
  static const auto* const fields = new kube::FieldMask({
      "metadata.labels",
      "spec.taints",
      "spec.unschedulable",
      "status.allocatable",
      "status.conditions.reason",
      "status.conditions.status",
      "status.conditions.type",
  });
  return *fields;
}

absl::StatusOr<PodRecord> ParsePodRecord(const Json& json) {
  PodRecord pod;
  pod.key = kube::KeyOf(json);
  if (pod.key.name.empty()) return absl::InvalidArgumentError("a pod without a name");
  pod.job = kube::LabelOf(json, kJobLabel);
  pod.scheduler_name = StringAt(json, {"spec", "schedulerName"});
  pod.requests = PodRequests(json);
  pod.node_selector = StringMap(kube::Find(json, {"spec", "nodeSelector"}));
  // Only what waits for a node is asked: 50,000 pods tolerate the same few taints.
  if (!pod.job.empty()) pod.tolerations = ReadTolerations(json);
  const Json* scheduled = FindCondition(json, "PodScheduled");
  if (scheduled != nullptr && StringAt(*scheduled, {"status"}) == "False") {
    pod.unscheduled_message = StringAt(*scheduled, {"message"});
  }
  pod.view = ParsePodView(json);
  return pod;
}

absl::StatusOr<NodeRecord> ParseNodeRecord(const Json& json) {
  NodeRecord node;
  node.name = kube::NameOf(json);
  if (node.name.empty()) return absl::InvalidArgumentError("a node without a name");
  node.allocatable = ParseAmounts(kube::Find(json, {"status", "allocatable"}));
  const Json* cordoned = kube::Find(json, {"spec", "unschedulable"});
  const Json* ready = FindCondition(json, "Ready");
  node.schedulable = !(cordoned != nullptr && *cordoned == true) && ready != nullptr &&
                     StringAt(*ready, {"status"}) == "True";
  node.labels = kube::LabelsOf(json);
  node.conditions = ReadConditions(json);
  node.taints = ReadTaints(json);
  return node;
}

}  // namespace muster::control
