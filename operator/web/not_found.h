#ifndef MUSTER_OPERATOR_WEB_NOT_FOUND_H_
#define MUSTER_OPERATOR_WEB_NOT_FOUND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "operator/kube/object_meta.h"
#include "operator/objects/caches.h"

// kNotFound errors that suggest the name that was perhaps meant.
namespace muster::control {

absl::Status NoSuchJob(const JobCache& jobs, const kube::ObjectKey& key);
absl::Status NoSuchQueue(const std::string& name, const std::vector<std::string>& known);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_NOT_FOUND_H_
