#include "operator/objects/object_records.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/json_fields.h"
#include "base/status_macros.h"
#include "operator/core/round/gang.h"
#include "operator/placement/cluster/tree_amounts.h"

namespace muster::control {
namespace {

using kube::StringAt;

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
  conditions.reserve(std::min(list->size(), kMaxConditions));
  for (const Json& item : *list) {
    if (conditions.size() == kMaxConditions) break;
    conditions.push_back(
        {StringAt(item, {"type"}), StringAt(item, {"status"}), StringAt(item, {"reason"})});
  }
  return conditions;
}

// A deadline that is not a number is ignored.
std::optional<NodeNotice> NoticeOf(const LabelMap& labels) {
  const std::string_view kind = labels.Value(kNoticeLabel);
  if (kind.empty()) return std::nullopt;
  NodeNotice notice{std::string(kind), std::string(labels.Value(kNoticeWhoLabel)), std::nullopt};
  const std::string_view deadline = labels.Value(kNoticeDeadlineLabel);
  int64_t seconds = 0;
  if (absl::SimpleAtoi(absl::string_view(deadline.data(), deadline.size()), &seconds)) {
    notice.deadline = absl::FromUnixSeconds(seconds);
  }
  return notice;
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

std::vector<ContainerEnd> ReadEnds(const Json& pod) {
  std::vector<ContainerEnd> ends;
  const Json* list = kube::Find(pod, {"status", "containerStatuses"});
  if (list == nullptr || !list->is_array()) return ends;
  for (const Json& item : *list) {
    const Json* terminated = kube::Find(item, {"state", "terminated"});
    if (terminated == nullptr || !terminated->is_object() || ends.size() == kMaxContainers)
      continue;
    const auto code = static_cast<int>(IntegerField(*terminated, "exitCode").value_or(0));
    const auto signal = static_cast<int>(IntegerField(*terminated, "signal").value_or(0));
    ends.push_back({StringAt(item, {"name"}), code, signal, StringAt(*terminated, {"reason"})});
  }
  return ends;
}

std::vector<ContainerWait> ReadWaits(const Json& pod) {
  std::vector<ContainerWait> waits;
  for (const char* kind : {"initContainerStatuses", "containerStatuses"}) {
    const Json* list = kube::Find(pod, {"status", kind});
    if (list == nullptr || !list->is_array()) continue;
    for (const Json& item : *list) {
      const Json* waiting = kube::Find(item, {"state", "waiting"});
      if (waiting == nullptr || !waiting->is_object() || waits.size() == kMaxContainers) continue;
      waits.push_back({StringAt(item, {"name"}), StringAt(*waiting, {"reason"}),
                       StringAt(*waiting, {"message"})});
    }
  }
  return waits;
}

bool OthersHaveNotEnded(const Json& pod) {
  const Json* list = kube::Find(pod, {"status", "containerStatuses"});
  if (list == nullptr || !list->is_array()) return false;
  return std::any_of(list->begin(), list->end(), [](const Json& item) {
    return StringAt(item, {"name"}) != kWorkerContainer &&
           kube::Find(item, {"state", "terminated"}) == nullptr;
  });
}

void ReadWorkerContainer(const Json& pod, PodView& view) {
  const Json* status =
      FindByField(kube::Find(pod, {"status", "containerStatuses"}), "name", kWorkerContainer);
  if (status == nullptr) return;
  const Json* terminated = kube::Find(*status, {"state", "terminated"});
  const Json* waiting = kube::Find(*status, {"state", "waiting"});
  const Json* from = terminated != nullptr ? terminated : waiting;
  if (from == nullptr || !from->is_object()) return;
  if (view.reason.empty()) view.reason = StringAt(*from, {"reason"});
  if (view.message.empty()) view.message = StringAt(*from, {"message"});
  if (terminated == nullptr) return;
  if (const auto code = IntegerField(*terminated, "exitCode")) {
    view.exit_code = static_cast<int>(*code);
  }
}

// Returns the node that the first term of the pod's required node affinity excludes by its name, as
// muster writes it; empty if it excludes none, or several.
std::string ReadAvoidedNode(const Json& json) {
  const Json* terms =
      kube::Find(json, {"spec", "affinity", "nodeAffinity",
                        "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (terms == nullptr || !terms->is_array() || terms->empty()) return "";
  const Json* fields = kube::Find(terms->front(), {"matchFields"});
  if (fields == nullptr || !fields->is_array() || fields->size() != 1) return "";
  const Json& field = fields->front();
  if (StringAt(field, {"key"}) != "metadata.name" || StringAt(field, {"operator"}) != "NotIn") {
    return "";
  }
  const Json* values = kube::Find(field, {"values"});
  const bool one = values != nullptr && values->is_array() && values->size() == 1;
  return one && values->front().is_string() ? values->front().get<std::string>() : "";
}

// Returns the UID of the job that the pod is a worker of, as far as the pod itself can say: its
// controller is the job that its label names, and its name is the one that the operator gives to
// that worker and incarnation. Anybody may write a UID into ownerReferences, in any namespace.
std::string ReadJobUid(const Json& json, const PodView& view) {
  const std::optional<kube::OwnerReference> owner = kube::ControllerOf(json);
  if (!owner || owner->kind != kube::kTrainingJobs.kind) return "";
  if (owner->api_version != kube::kTrainingJobs.ApiVersion()) return "";
  if (owner->name != kube::LabelOf(json, kJobLabel)) return "";
  return view.name == PodName(owner->name, view.index, view.incarnation) ? owner->uid : "";
}

PodView ParsePodView(const Json& json) {
  PodView view;
  view.name = kube::NameOf(json);
  view.uid = kube::UidOf(json);
  view.resource_version = kube::ResourceVersionOf(json);
  view.index = ToInt(kube::LabelOf(json, kIndexLabel));
  view.incarnation = ToInt(kube::LabelOf(json, kIncarnationLabel));
  view.owner_uid = ReadJobUid(json, view);
  view.phase = ParsePhase(StringAt(json, {"status", "phase"}));
  view.node = StringAt(json, {"spec", "nodeName"});
  view.deleting = kube::IsTerminating(json);
  const Json* ready = FindCondition(json, "Ready");
  view.ready = ready != nullptr && StringAt(*ready, {"status"}) == "True";
  view.reason = StringAt(json, {"status", "reason"});
  view.message = StringAt(json, {"status", "message"});
  ReadWorkerContainer(json, view);
  if (kube::LabelOf(json, kJobLabel).empty())
    return view;  // not a job's pod: only its place matters
  view.accepted =
      kube::ParseTime(StringAt(json, {"status", "startTime"})).value_or(absl::InfinitePast());
  view.others_left = OthersHaveNotEnded(json);
  view.ended = ReadEnds(json);
  view.waiting = ReadWaits(json);
  view.conditions = ReadConditions(json);
  view.avoided_node = ReadAvoidedNode(json);
  return view;
}

}  // namespace

const std::shared_ptr<const SchedulingPod>& PodRecord::NoPod() {
  static const auto& none =
      *new std::shared_ptr<const SchedulingPod>(std::make_shared<const SchedulingPod>());
  return none;
}

const std::shared_ptr<const PodView>& PodRecord::NoView() {
  static const auto& none = *new std::shared_ptr<const PodView>(std::make_shared<const PodView>());
  return none;
}

const std::shared_ptr<const SchedulingNode>& NodeRecord::NoNode() {
  static const auto& none =
      *new std::shared_ptr<const SchedulingNode>(std::make_shared<const SchedulingNode>());
  return none;
}

const kube::FieldMask& PodFields() {
  static const auto* const fields = [] {
    std::vector<std::string_view> paths = {
        "metadata.ownerReferences",
        "status.conditions.message",
        "status.conditions.status",
        "status.containerStatuses.state.terminated",
        "status.containerStatuses.state.waiting",
        "status.initContainerStatuses.state.waiting",
        "status.message",
        "status.reason",
        "status.startTime",
    };
    paths.insert(paths.end(), std::begin(kSchedulingPodFields), std::end(kSchedulingPodFields));
    return new kube::FieldMask(paths);
  }();
  return *fields;
}

const kube::FieldMask& NodeFields() {
  static const auto* const fields = [] {
    return new kube::FieldMask(std::vector<std::string_view>(std::begin(kSchedulingNodeFields),
                                                             std::end(kSchedulingNodeFields)));
  }();
  return *fields;
}

absl::StatusOr<PodRecord> ParsePodRecord(const Json& json) {
  PodRecord pod;
  pod.key = kube::KeyOf(json);
  if (pod.key.name.empty()) return absl::InvalidArgumentError("a pod without a name");
  pod.job = kube::LabelOf(json, kJobLabel);
  MUSTER_ASSIGN_OR_RETURN(SchedulingPod scheduling, ParseSchedulingPod(json));
  pod.scheduling = std::make_shared<const SchedulingPod>(std::move(scheduling));
  pod.requests = TreeAmounts(pod.scheduling->requests, 1);
  const Json* scheduled = FindCondition(json, "PodScheduled");
  if (scheduled != nullptr && StringAt(*scheduled, {"status"}) == "False") {
    pod.unscheduled_message = StringAt(*scheduled, {"message"});
  }
  pod.view = std::make_shared<const PodView>(ParsePodView(json));
  return pod;
}

bool IsWorkerOf(const PodRecord& pod, const kube::ObjectKey& job, const std::string& uid) {
  return !uid.empty() && pod.view->owner_uid == uid && pod.key.name_space == job.name_space &&
         pod.job == job.name;
}

absl::StatusOr<NodeRecord> ParseNodeRecord(const Json& json) {
  NodeRecord node;
  node.name = kube::NameOf(json);
  if (node.name.empty()) return absl::InvalidArgumentError("a node without a name");
  MUSTER_ASSIGN_OR_RETURN(SchedulingNode scheduling, ParseSchedulingNode(json));
  const bool faulty = scheduling.complaint.has_value();
  node.schedulable = scheduling.ready && !scheduling.unschedulable && !faulty;
  // Impossible amounts are not counted.
  if (!faulty) node.allocatable = TreeAmounts(scheduling.allocatable, scheduling.allowed_pods);
  node.scheduling = std::make_shared<const SchedulingNode>(std::move(scheduling));
  node.conditions = ReadConditions(json);
  node.taints = ReadTaints(json);
  node.notice = NoticeOf(node.scheduling->labels);
  return node;
}

}  // namespace muster::control
