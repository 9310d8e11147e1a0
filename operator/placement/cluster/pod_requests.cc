// Computes a pod's requests as k8s.io/component-helpers/resource, PodRequests does.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/json_fields.h"
#include "base/quantity.h"
#include "operator/placement/cluster/scheduling_pod.h"

namespace muster::control {
namespace {

using Quantities = std::map<std::string, Quantity>;

// An amount that cannot be parsed counts as nothing: an API server admits none.
Quantities ReadQuantities(const Json& amounts) {
  Quantities quantities;
  for (const auto& [name, value] : amounts.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const auto parsed = Quantity::Parse(text);
    if (parsed.ok()) quantities[name] = *parsed;
  }
  return quantities;
}

void AddTo(Quantities& into, const Quantities& other) {
  for (const auto& [name, amount] : other) into[name] += amount;
}

void RaiseTo(Quantities& into, const Quantities& other) {
  for (const auto& [name, amount] : other) {
    const auto [it, inserted] = into.emplace(name, amount);
    if (!inserted) it->second = std::max(it->second, amount);
  }
}

Quantities SpecRequests(const Json& container) {
  const Json& resources = ObjectField(container, "resources");
  Quantities requests = ReadQuantities(ObjectField(resources, "requests"));
  // Limits stand in for missing requests, as the API server fills them in.
  for (const auto& [name, amount] : ReadQuantities(ObjectField(resources, "limits"))) {
    requests.emplace(name, amount);
  }
  return requests;
}

class RequestsOf {
 public:
  RequestsOf(const Json& pod, bool with_status) : spec_(ObjectField(pod, "spec")) {
    if (with_status) ReadStatuses(ObjectField(pod, "status"));
  }

  Quantities Total() const {
    Quantities total = Containers();
    ApplyPodLevel(total);
    AddTo(total, ReadQuantities(ObjectField(spec_, "overhead")));
    return total;
  }

 private:
  void ReadStatuses(const Json& status) {
    for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
      for (const Json& one : ArrayField(status, list)) {
        statuses_[StringField(one, "name")] = &one;
      }
    }
    for (const Json& condition : ArrayField(status, "conditions")) {
      if (StringField(condition, "type") != "PodResizePending") continue;
      resize_infeasible_ = StringField(condition, "reason") == "Infeasible";
      break;
    }
  }

  // A container that is resized in place holds the most of what it requests, has and is allocated.
  Quantities Effective(const Json& container) const {
    const auto status = statuses_.find(StringField(container, "name"));
    if (status == statuses_.end() || FindField(*status->second, {"resources"}) == nullptr) {
      return SpecRequests(container);
    }
    const Json& resources = ObjectField(*status->second, "resources");
    Quantities most = ReadQuantities(ObjectField(resources, "requests"));
    RaiseTo(most, ReadQuantities(ObjectField(*status->second, "allocatedResources")));
    if (!resize_infeasible_) RaiseTo(most, SpecRequests(container));
    return most;
  }

  Quantities Containers() const {
    Quantities total;
    for (const Json& container : ArrayField(spec_, "containers")) {
      AddTo(total, Effective(container));
    }
    Quantities restartable;  // those so far
    Quantities most;         // the most of any init container and those
    for (const Json& container : ArrayField(spec_, "initContainers")) {
      if (StringField(container, "restartPolicy") == "Always") {
        const Quantities one = Effective(container);
        AddTo(total, one);
        AddTo(restartable, one);
        RaiseTo(most, restartable);
      } else {
        Quantities beside = SpecRequests(container);
        AddTo(beside, restartable);
        RaiseTo(most, beside);
      }
    }
    RaiseTo(total, most);
    return total;
  }

  void ApplyPodLevel(Quantities& total) const {
    const auto counts = [](const std::string& name) {
      return name == "cpu" || name == "memory" || name.rfind("hugepages-", 0) == 0;
    };
    const Json& resources = ObjectField(spec_, "resources");
    const Quantities requests = ReadQuantities(ObjectField(resources, "requests"));
    for (const auto& [name, amount] : requests) {
      if (counts(name)) total[name] = amount;
    }
    // Missing pod-level requests come from the containers, else from the pod's limit, as the API
    // server fills them in.
    for (const auto& [name, amount] : ReadQuantities(ObjectField(resources, "limits"))) {
      if (counts(name)) total.emplace(name, amount);
    }
  }

  const Json& spec_;
  std::map<std::string, const Json*> statuses_;
  bool resize_infeasible_ = false;
};

}  // namespace

ResourceAmounts PodRequests(const Json& pod, bool with_status) {
  ResourceAmounts amounts;
  for (const auto& [name, amount] : RequestsOf(pod, with_status).Total()) {
    if (name == "cpu") {
      amounts.cpu_millis = amount.MilliValue();
    } else if (name == "memory") {
      amounts.memory_bytes = amount.Value();
    } else if (name == "ephemeral-storage") {
      amounts.ephemeral_bytes = amount.Value();
    } else if (IsScalarResource(name)) {
      amounts.SetScalar(name, amount.Value());
    }
  }
  return amounts;
}

}  // namespace muster::control
