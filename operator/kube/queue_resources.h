#ifndef MUSTER_OPERATOR_KUBE_QUEUE_RESOURCES_H_
#define MUSTER_OPERATOR_KUBE_QUEUE_RESOURCES_H_

#include "operator/kube/resource_type.h"

namespace muster::kube {

// Resource types that determine the order of the queue.
inline constexpr ResourceType kTrainingQueues{"muster.dev",    "v1alpha1", "trainingqueues",
                                              "TrainingQueue", false,      true};
inline constexpr ResourceType kPriorityClasses{"scheduling.k8s.io", "v1",  "priorityclasses",
                                               "PriorityClass",     false, false};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_QUEUE_RESOURCES_H_
