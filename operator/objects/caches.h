#ifndef MUSTER_OPERATOR_OBJECTS_CACHES_H_
#define MUSTER_OPERATOR_OBJECTS_CACHES_H_

#include "operator/api/training_job.h"
#include "operator/kube/cache/cache.h"
#include "operator/objects/object_records.h"

namespace muster::control {

using JobCache = kube::Cache<TrainingJob>;
using PodCache = kube::Cache<PodRecord>;
using NodeCache = kube::Cache<NodeRecord>;

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_OBJECTS_CACHES_H_
