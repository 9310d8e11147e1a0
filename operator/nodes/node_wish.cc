#include "operator/nodes/node_wish.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/core/state/view.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

using v1alpha1::GpuReport;
using v1alpha1::HardwareFault;
using v1alpha1::InfinibandPort;
using v1alpha1::NodeReport;

constexpr size_t kMaxLabelValue = 63;
constexpr size_t kMaxMessage = 1024;
// An annotation may have 256 KiB with all others of its object; a report of any real node has less.
constexpr size_t kMaxHardware = 32 << 10;
constexpr char kInfiniband[] = "InfiniBand";

// Returns the value that all GPUs share; nullopt without GPUs, or if their values differ.
template <typename Value>
std::optional<Value> Common(const NodeReport& report, Value (*value_of)(const GpuReport&)) {
  std::optional<Value> common;
  for (const GpuReport& gpu : report.gpus()) {
    const Value value = value_of(gpu);
    if (common.has_value() && *common != value) return std::nullopt;
    common = value;
  }
  return common;
}

std::string ProductOf(const GpuReport& gpu) { return gpu.product(); }
int64_t MebibytesOf(const GpuReport& gpu) { return gpu.memory_bytes() >> 20; }
std::string CliqueOf(const GpuReport& gpu) {
  if (gpu.nvlink_cluster().empty()) return "";
  return absl::StrCat(gpu.nvlink_cluster(), ".", gpu.nvlink_clique());
}

std::optional<std::string> NonEmpty(std::string text) {
  if (text.empty()) return std::nullopt;
  return text;
}

// A node with rails has one leaf switch for each; nodes of the same rails share all of them, so the
// smallest name stands for the set.
std::string LeafOf(const NodeReport& report) {
  std::string leaf;
  for (const InfinibandPort& port : report.infiniband_ports()) {
    if (port.switch_guid().empty()) continue;
    if (leaf.empty() || port.switch_guid() < leaf) leaf = port.switch_guid();
  }
  return leaf;
}

template <typename Message>
Json Place(const Message& part) {
  Json json = {{"pci", part.pci_address()}};
  if (part.has_numa_node()) json["numa"] = part.numa_node();
  return json;
}

std::string HardwareOf(const NodeReport& report) {
  Json all = Json::object();
  for (const GpuReport& gpu : report.gpus()) {
    Json json = Place(gpu);
    json["uuid"] = gpu.uuid();
    json["product"] = gpu.product();
    if (gpu.nvlinks() > 0) json["nvlinks"] = gpu.nvlinks();
    all["gpus"].push_back(std::move(json));
  }
  for (const v1alpha1::NumaNode& numa : report.numa_nodes()) {
    all["numa"].push_back({{"node", numa.index()}, {"cpus", numa.cpus()}});
  }
  for (const v1alpha1::NetworkCard& card : report.network_cards()) {
    Json json = Place(card);
    json["name"] = card.name();
    if (card.has_megabits_per_second()) json["mbps"] = card.megabits_per_second();
    all["nics"].push_back(std::move(json));
  }
  for (const InfinibandPort& port : report.infiniband_ports()) {
    Json json = Place(port);
    json["port"] = absl::StrCat(port.device(), ":", port.port());
    json["gbps"] = port.gigabits_per_second();
    json["link"] = port.link_layer();
    if (!port.switch_guid().empty()) json["switch"] = port.switch_guid();
    if (!port.switch_name().empty()) json["switchName"] = port.switch_name();
    all["infiniband"].push_back(std::move(json));
  }
  for (const v1alpha1::Disk& disk : report.disks()) {
    all["disks"].push_back(
        {{"name", disk.name()}, {"bytes", disk.bytes()}, {"rotational", disk.rotational()}});
  }
  std::string text = DumpJson(all);
  if (text.size() <= kMaxHardware) return text;
  return DumpJson({{"omitted", absl::StrCat("the list has ", text.size(), " bytes")}});
}

// Collects what is said of the parts of one kind.
class HealthSum {
 public:
  // `kind` is the word for one part, which takes an "s" for more.
  explicit HealthSum(const char* kind) : kind_(kind) {}

  void Add(const std::string& name,
           const google::protobuf::RepeatedPtrField<HardwareFault>& faults) {
    ++parts_;
    for (const HardwareFault& fault : faults) {
      if (reason_.empty()) reason_ = fault.reason();
      sentences_.push_back(absl::StrCat(name, ": ", fault.detail()));
    }
  }
  std::optional<ConditionWish> Wish() const {
    if (parts_ == 0) return std::nullopt;
    if (sentences_.empty()) {
      return ConditionWish{"True", "NoFault",
                           absl::StrCat(parts_, " ", kind_, parts_ == 1 ? "" : "s")};
    }
    return ConditionWish{"False", reason_, absl::StrJoin(sentences_, "; ").substr(0, kMaxMessage)};
  }

 private:
  const char* kind_;
  int parts_ = 0;
  std::string reason_;  // of the first fault
  std::vector<std::string> sentences_;
};

HealthWish GpuHealth(const NodeReport& report) {
  HealthSum sum("GPU");
  for (const GpuReport& gpu : report.gpus()) {
    sum.Add(absl::StrCat("GPU ", gpu.index(), " (", gpu.uuid(), ")"), gpu.faults());
  }
  const std::string why = report.gpu_absence().empty() ? "" : ": " + report.gpu_absence();
  return {sum.Wish(), {"Unknown", "NoGpuSeen", absl::StrCat("the node agent sees no GPU", why)}};
}

HealthWish InfinibandHealth(const NodeReport& report) {
  HealthSum sum("port");
  for (const InfinibandPort& port : report.infiniband_ports()) {
    sum.Add(absl::StrCat("port ", port.device(), ":", port.port()), port.faults());
  }
  return {sum.Wish(),
          {"Unknown", "NoInfinibandSeen", "the node agent sees no InfiniBand or RoCE port"}};
}

HealthWish DiskHealth(const NodeReport& report) {
  HealthSum sum("disk");
  for (const v1alpha1::Disk& disk : report.disks()) {
    sum.Add(absl::StrCat("disk ", disk.name()), disk.faults());
  }
  return {sum.Wish(), {"Unknown", "NoDiskSeen", "the node agent sees no disk"}};
}

// Writes a condition into the Node. Returns false if it is there already.
bool SetCondition(const std::string& type, const ConditionWish& wish, absl::Time now, Json& node) {
  const Json* before = FindCondition(node, type);
  const auto at = [&](const char* field) {
    return before == nullptr ? "" : kube::StringAt(*before, {field});
  };
  if (before != nullptr && wish == ConditionWish{at("status"), at("reason"), at("message")}) {
    return false;
  }
  const std::string time = kube::FormatTime(now);
  const bool same = at("status") == wish.status && !at("lastTransitionTime").empty();
  const Json condition = {{"type", type},
                          {"status", wish.status},
                          {"reason", wish.reason},
                          {"message", wish.message},
                          {"lastHeartbeatTime", time},
                          {"lastTransitionTime", same ? at("lastTransitionTime") : time}};
  Json& conditions = node["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& present : conditions) {
    if (kube::StringAt(present, {"type"}) != type) continue;
    present = condition;
    return true;
  }
  conditions.push_back(condition);
  return true;
}

}  // namespace

const Json* FindCondition(const Json& node, const std::string& type) {
  const Json* conditions = kube::Find(node, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const Json& condition : *conditions) {
    if (kube::StringAt(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

const ConditionView* FindCondition(const NodeRecord& node, const std::string& type) {
  for (const ConditionView& condition : node.conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

std::string LabelValueOf(const std::string& text) {
  std::string value;
  for (const char c : text) {
    if (value.size() == kMaxLabelValue) break;
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    if (plain) {
      value += c;
    } else if (!value.empty() && value.back() != '-') {
      value += '-';
    }
  }
  const auto end = [](char c) { return !absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  while (!value.empty() && end(value.back())) value.pop_back();
  while (!value.empty() && end(value.front())) value.erase(0, 1);
  return value;
}

NodeWish WishOf(const NodeReport& report) {
  NodeWish wish;
  const auto text = [](const std::string& value) { return NonEmpty(LabelValueOf(value)); };
  const auto number = [](int64_t value) -> std::optional<std::string> {
    if (value <= 0) return std::nullopt;
    return absl::StrCat(value);
  };
  wish.labels[kGpuCountLabel] = number(report.gpus_size());
  wish.labels[kGpuProductLabel] = text(Common(report, ProductOf).value_or(""));
  wish.labels[kGpuMemoryLabel] = number(Common(report, MebibytesOf).value_or(0));
  wish.labels[kGpuDriverLabel] = text(report.gpus().empty() ? "" : report.driver_version());
  wish.labels[kNvlinkCliqueLabel] = text(Common(report, CliqueOf).value_or(""));
  wish.labels[kFabricLeafLabel] = text(LeafOf(report));
  const auto& ports = report.infiniband_ports();
  wish.labels[kInfinibandPortsLabel] =
      number(std::count_if(ports.begin(), ports.end(), [](const InfinibandPort& port) {
        return port.link_layer() == kInfiniband;
      }));
  const v1alpha1::NodeNotice& notice = report.notice();
  wish.labels[kNoticeLabel] = text(notice.kind());
  wish.labels[kNoticeWhoLabel] = text(notice.who());
  wish.labels[kNoticeDeadlineLabel] = number(notice.deadline_unix_ms() / 1000);
  wish.hardware = HardwareOf(report);
  wish.health[kGpuHealthyCondition] = GpuHealth(report);
  wish.health[kInfinibandHealthyCondition] = InfinibandHealth(report);
  wish.health[kDisksHealthyCondition] = DiskHealth(report);
  return wish;
}

NodeWish WishOfSilence(absl::Duration silence) {
  NodeWish wish;
  // A machine that was taken away is gone by now, and one that came back under its name is open.
  for (const char* label : {kNoticeLabel, kNoticeWhoLabel, kNoticeDeadlineLabel}) {
    wish.labels[label] = std::nullopt;
  }
  const std::string why =
      absl::StrCat("the node agent has said nothing for ", absl::FormatDuration(silence));
  for (const char* type : kHealthConditions) {
    wish.health[type].unknown = {"Unknown", "NodeAgentSilent", why};
  }
  return wish;
}

std::optional<ConditionWish> HealthOf(const HealthWish& wish, bool has_condition) {
  if (wish.known.has_value() || !has_condition) return wish.known;
  return wish.unknown;
}

Json MetadataPatch(const NodeWish& wish, const Json& node) {
  Json patch = Json::object();
  const kube::Labels labels = kube::LabelsOf(node);
  for (const auto& [key, value] : wish.labels) {
    const auto present = labels.find(key);
    if (value.has_value() && (present == labels.end() || present->second != *value)) {
      patch["labels"][key] = *value;
    } else if (!value.has_value() && present != labels.end()) {
      patch["labels"][key] = nullptr;
    }
  }
  if (wish.hardware && kube::AnnotationOf(node, kHardwareAnnotation) != *wish.hardware) {
    patch["annotations"][kHardwareAnnotation] = *wish.hardware;
  }
  return patch;
}

std::optional<Json> WithHealth(const NodeWish& wish, const Json& node, absl::Time now) {
  Json changed = node;
  bool differs = false;
  for (const auto& [type, health] : wish.health) {
    const auto condition = HealthOf(health, FindCondition(node, type) != nullptr);
    if (condition.has_value()) differs = SetCondition(type, *condition, now, changed) || differs;
  }
  if (!differs) return std::nullopt;
  return changed;
}

}  // namespace muster::control
