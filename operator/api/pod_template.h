#ifndef MUSTER_OPERATOR_API_POD_TEMPLATE_H_
#define MUSTER_OPERATOR_API_POD_TEMPLATE_H_

#include <cstddef>
#include <map>

#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The pod template of a job, which the API keeps as verbatim JSON of any shape. Pure.
namespace muster::control {

// Returns the parsed template; JSON's null if it is absent or cannot be parsed.
Json PodTemplateOf(const v1alpha1::TrainingJobSpec& spec);

// Returns the containers named `worker` by their index in spec.containers. There is one at most
// where an API server has checked the names. The pointers are into `pod_template`.
std::map<size_t, const Json*> WorkerContainers(const Json& pod_template);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_POD_TEMPLATE_H_
