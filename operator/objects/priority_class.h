#ifndef MUSTER_OPERATOR_OBJECTS_PRIORITY_CLASS_H_
#define MUSTER_OPERATOR_OBJECTS_PRIORITY_CLASS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/cache/cache.h"

namespace muster::control {

// Kubernetes' PriorityClass.
struct PriorityClass {
  std::string name;
  int64_t value = 0;
  bool global_default = false;
  bool preempts = true;  // preemptionPolicy
};

absl::StatusOr<PriorityClass> ParsePriorityClass(const Json& json);

using PriorityCache = kube::Cache<PriorityClass>;

// Returns a sentence about a priorityClassName that does not exist; empty if the class exists,
// `class_name` is empty, or the classes are not listed yet. Thread-safe.
std::string MissingPriorityClass(const PriorityCache& classes, const std::string& class_name);

// Looks up priority classes by name. Not thread-safe.
class Priorities {
 public:
  void Set(const PriorityCache& classes);
  // Returns the class. An empty or unknown name gives the cluster's default class, or priority 0 if
  // there is no default.
  PriorityClass Of(const std::string& class_name) const;

 private:
  std::map<std::string, PriorityClass> classes_;
  PriorityClass default_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_PRIORITY_CLASS_H_
