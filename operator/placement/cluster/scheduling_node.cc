#include "operator/placement/cluster/scheduling_node.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_fields.h"
#include "base/quantity.h"
#include "operator/placement/cluster/condition_faults.h"

namespace muster::control {
namespace {

// No machine has more than these.
constexpr int64_t kMostCpuMillis = int64_t{1'000'000} * 1000;
constexpr int64_t kMostBytes = int64_t{1} << 60;
constexpr int64_t kMostDevices = 1'000'000'000;  // shares of a device may be counted by the byte
constexpr int64_t kMostGpus = 100'000;
constexpr int64_t kMostPods = 1'000'000;

using Amounts = std::map<std::string, Quantity>;

// Reads one list of the status and checks each amount by itself.
Amounts ReadAmounts(const Json& status, const char* list, std::optional<NodeComplaint>& complaint) {
  Amounts amounts;
  for (const auto& [name, value] : ObjectField(status, list).items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const auto amount = Quantity::Parse(text);
    std::optional<NodeFault> fault;
    if (!amount.ok()) {
      fault = NodeFault::kUnreadable;
    } else if (amount->IsNegative()) {
      fault = NodeFault::kNegativeAmount;
    } else if (amount->IsAbsurd()) {
      fault = NodeFault::kAbsurdAmount;
    } else {
      amounts[name] = *amount;
    }
    if (fault && !complaint) {
      complaint = {*fault, absl::StrCat(list, " ", name, " is '", text, "'")};
    }
  }
  return amounts;
}

bool IsAbsurd(const std::string& name, const Quantity& amount) {
  if (name == "cpu") return amount.MilliValue() > kMostCpuMillis;
  if (name == "pods") return amount.Value() > kMostPods;
  if (name == "memory" || name == "ephemeral-storage" || name.rfind("hugepages-", 0) == 0) {
    return amount.Value() > kMostBytes;
  }
  return amount.Value() > (IsGpuResource(name) ? kMostGpus : kMostDevices);
}

std::optional<NodeComplaint> Compare(const Amounts& allocatable, const Amounts& capacity) {
  for (const auto& [name, amount] : allocatable) {
    if (IsAbsurd(name, amount)) {
      return NodeComplaint{NodeFault::kAbsurdAmount,
                           absl::StrCat("allocatable ", name, " is ", amount.Value())};
    }
    const auto whole = capacity.find(name);
    if (whole != capacity.end() && amount > whole->second) {
      return NodeComplaint{NodeFault::kContradiction,
                           absl::StrCat("allocatable ", name, " is ", amount.Value(), " of ",
                                        whole->second.Value())};
    }
  }
  return std::nullopt;
}

void Fill(const Amounts& amounts, SchedulingNode& node) {
  for (const auto& [name, amount] : amounts) {
    if (name == "cpu") {
      node.allocatable.cpu_millis = amount.MilliValue();
    } else if (name == "memory") {
      node.allocatable.memory_bytes = amount.Value();
    } else if (name == "ephemeral-storage") {
      node.allocatable.ephemeral_bytes = amount.Value();
    } else if (name == "pods") {
      node.allowed_pods = amount.Value();
    } else if (IsScalarResource(name)) {
      node.allocatable.SetScalar(name, amount.Value());
    }
  }
}

// GPU feature discovery counts the physical GPUs. A plugin may share or slice them, but a node
// where it does neither has no more whole GPUs than that.
std::optional<NodeComplaint> CompareGpuCount(const SchedulingNode& node) {
  const auto count = node.labels.find("nvidia.com/gpu.count");
  const auto sharing = node.labels.find("nvidia.com/gpu.sharing-strategy");
  const auto mig = node.labels.find("nvidia.com/mig.strategy");
  if (count == node.labels.end() || (sharing != node.labels.end() && sharing->second != "none") ||
      (mig != node.labels.end() && mig->second == "single")) {
    return std::nullopt;
  }
  const auto told = Quantity::Parse(count->second);
  const int64_t gpus = node.allocatable.scalar("nvidia.com/gpu");
  if (!told.ok() || gpus <= told->Value()) return std::nullopt;
  return NodeComplaint{
      NodeFault::kContradiction,
      absl::StrCat("allocatable nvidia.com/gpu is ", gpus, " and its label nvidia.com/gpu.count ",
                   std::string(count->second))};
}

bool IsReady(const Json& status) {
  bool ready = false;
  for (const Json& condition : ArrayField(status, "conditions")) {
    if (StringField(condition, "type") != "Ready") continue;
    if (StringField(condition, "status") != "True") return false;
    ready = true;
  }
  return ready;
}

// A broken part would take a whole gang down again and again.
std::optional<NodeComplaint> ComplaintOf(const ConditionFaults& faults) {
  if (!faults.gpus.empty()) return NodeComplaint{NodeFault::kUnhealthyGpu, faults.gpus};
  if (!faults.network.empty()) return NodeComplaint{NodeFault::kUnhealthyNetwork, faults.network};
  if (!faults.machine.empty()) return NodeComplaint{NodeFault::kUnhealthyMachine, faults.machine};
  return std::nullopt;
}

}  // namespace

std::string_view Name(NodeFault fault) {
  switch (fault) {
    case NodeFault::kNegativeAmount:
      return "NegativeAmount";
    case NodeFault::kAbsurdAmount:
      return "AbsurdAmount";
    case NodeFault::kUnreadable:
      return "UnreadableAmount";
    case NodeFault::kContradiction:
      return "Contradiction";
    case NodeFault::kUnhealthyGpu:
      return "UnhealthyGpu";
    case NodeFault::kUnhealthyNetwork:
      return "UnhealthyNetwork";
    case NodeFault::kUnhealthyMachine:
      return "UnhealthyMachine";
  }
  return "Unknown";
}

absl::StatusOr<SchedulingNode> ParseSchedulingNode(const Json& json) {
  const Json& meta = ObjectField(json, "metadata");
  const Json& spec = ObjectField(json, "spec");
  const Json& status = ObjectField(json, "status");
  SchedulingNode node;
  node.name = StringField(meta, "name");
  if (node.name.empty()) return absl::InvalidArgumentError("a node without a name");
  node.labels = LabelField(meta, "labels");
  for (const Json& taint : ArrayField(spec, "taints")) {
    node.taints.push_back(
        {StringField(taint, "key"), StringField(taint, "value"), StringField(taint, "effect")});
  }
  node.unschedulable = BoolField(spec, "unschedulable");
  node.ready = IsReady(status);
  const Amounts allocatable = ReadAmounts(status, "allocatable", node.complaint);
  const Amounts capacity = ReadAmounts(status, "capacity", node.complaint);
  Fill(allocatable, node);
  if (!node.complaint) node.complaint = Compare(allocatable, capacity);
  if (!node.complaint) node.complaint = CompareGpuCount(node);
  node.faults = ReadConditionFaults(status);
  if (!node.complaint) node.complaint = ComplaintOf(node.faults);
  return node;
}

std::vector<std::string> GpuKinds(const SchedulingNode& node) {
  std::vector<std::string> kinds;
  const auto product = node.labels.find("nvidia.com/gpu.product");
  for (const auto& [name, amount] : node.allocatable.scalars) {
    if (amount <= 0 || !IsGpuResource(name)) continue;
    const bool told = product != node.labels.end() && name.rfind("nvidia.com/", 0) == 0;
    kinds.push_back(told ? absl::StrCat(name, " ", std::string(product->second)) : name);
  }
  return kinds;
}

}  // namespace muster::control
