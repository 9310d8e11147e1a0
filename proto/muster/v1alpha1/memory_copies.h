#ifndef MUSTER_PROTO_MUSTER_V1ALPHA1_MEMORY_COPIES_H_
#define MUSTER_PROTO_MUSTER_V1ALPHA1_MEMORY_COPIES_H_

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::v1alpha1 {

// Returns true if the job's copies in memory are to have replicas at other workers.
inline bool WantsReplicas(const TrainingJobSpec& spec) {
  return spec.has_trainer() && spec.checkpoint().memory().replicas() > 0;
}

// Returns true if agents are to keep copies on the disks of their nodes.
inline bool WantsCopiesOnDisk(const TrainingJobSpec& spec) {
  return spec.has_trainer() && spec.checkpoint().memory().has_disk();
}

}  // namespace muster::v1alpha1

#endif  // MUSTER_PROTO_MUSTER_V1ALPHA1_MEMORY_COPIES_H_
