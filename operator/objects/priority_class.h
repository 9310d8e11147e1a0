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

// What is to be said of a priorityClassName that nobody made; empty: it is there, none is named, or
// the classes are not known yet. Thread-safe.
std::string MissingPriorityClass(const PriorityCache& classes, const std::string& class_name);

// What a priorityClassName stands for. Not thread-safe.
class Priorities {
 public:
  void Set(const PriorityCache& classes);
  // Empty: the default class's, or 0. A class that is not there counts as the default one.
  PriorityClass Of(const std::string& class_name) const;

 private:
  std::map<std::string, PriorityClass> classes_;
  PriorityClass default_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_PRIORITY_CLASS_H_
