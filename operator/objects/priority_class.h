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

// Returns a sentence about a priorityClassName that does not exist. Empty if it exists, none is
// named, or the classes have not been listed yet. Thread-safe.
std::string MissingPriorityClass(const PriorityCache& classes, const std::string& class_name);

// Looks up priority classes by name. Not thread-safe.
class Priorities {
 public:
  void Set(const PriorityCache& classes);
  // Returns the class; for an empty or unknown name the default one, or priority 0 if there is
  // none.
  PriorityClass Of(const std::string& class_name) const;

 private:
  std::map<std::string, PriorityClass> classes_;
  PriorityClass default_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_PRIORITY_CLASS_H_
