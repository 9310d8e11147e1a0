#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_SHARED_MEMORY_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_SHARED_MEMORY_H_

#include "absl/status/status.h"
#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Mounts a volume of memory at /dev/shm of the container `worker`. A container runtime's own is 64
// MiB, which loaders of data and NCCL exceed. The kubelet charges the files in such a volume to the
// container that wrote them, so its size is added to the worker's request of memory, and to its
// limit if there is one. Copies of the state lie there, too: it has room for checkpoint.memory.size
// besides.
//
// A template that mounts /dev/shm itself is left as it is; kInvalidArgument if the job then has a
// workers.sharedMemory or a checkpoint.memory too. Pure.
absl::Status AddSharedMemory(const v1alpha1::TrainingJobSpec& job, Json& spec, Json& worker);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_SHARED_MEMORY_H_
