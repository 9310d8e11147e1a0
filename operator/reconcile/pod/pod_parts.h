#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_PARTS_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_PARTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The parts of a worker's pod that follow from the job's spec: the nodes that it may be on, its
// devices, its memory, its time to end and its rights. They edit the pod's JSON, in which the
// fields of the template stay. Pure.
namespace muster::control {

// Keeps a pod off a node, by a term of the pod's required node affinity beside those that the
// template has.
void AvoidNode(const std::string& node, Json& pod_spec);

// Lets a pod onto the spot nodes that clouds taint, if the job allows spot nodes, by a toleration
// of each such taint whose key the template's tolerations lack; a job that allows none gets the
// label by which the filter keeps the pod off spot nodes. A job without spec.spot is left as it is.
void AddSpot(const v1alpha1::TrainingJobSpec& job, Json& pod);

// Asks for GPUs unless the template's limits do, be it for whole ones or for parts such as MIG
// devices, and tolerates the taint that commonly keeps other pods off nodes that have them.
void AddGpus(Json& spec, Json& worker, int gpus);

// Asks for RDMA devices, and for the capability to lock memory if the job does.
void AddRdma(const v1alpha1::RdmaSpec& rdma, Json& worker);

// Mounts a volume of memory at /dev/shm of the container `worker`. A container runtime's own is 64
// MiB, which loaders of data and NCCL exceed. The kubelet charges the files in such a volume to the
// container that wrote them, so its size is added to the worker's request of memory, and to its
// limit if there is one. Copies of the state lie there, too: it has room for checkpoint.memory.size
// besides.
//
// A template that mounts /dev/shm itself is left as it is; kInvalidArgument if the job then has a
// workers.sharedMemory or a checkpoint.memory too.
absl::Status AddSharedMemory(const v1alpha1::TrainingJobSpec& job, Json& spec, Json& worker);

// Returns how long a worker may take from the signal to terminate until it is killed, in whole
// seconds: Kubernetes' 30 s, and for a built-in trainer that saves checkpoints also the time that
// it takes to write one of its model at 100 MB/s, up to half an hour. A command's save takes a time
// that only its author knows: its template says so.
absl::Duration TerminationGrace(const v1alpha1::TrainingJobSpec& spec);

// Sets the pod's terminationGracePeriodSeconds unless the template does, and returns it.
absl::Duration SetTerminationGrace(const v1alpha1::TrainingJobSpec& spec, Json& pod_spec);

// The user of muster's images (tools/images.toml).
inline constexpr int kImageUser = 65532;

// Returns the security context of a container that needs no rights at all; it satisfies the Pod
// Security Standard restricted.
Json RestrictedContext();

// Fills in the security context of a worker that runs the built-in trainer, so that its pod is
// admitted to a namespace that enforces restricted. Fields that the template gives stay, those of
// the pod's context too, and fields that would contradict them are left out: root is not told to be
// another user, and a privileged container escalates. Volumes get the worker's group (fsGroup), so
// that it can write to them. Nothing is set that would hold for other containers of the pod.
void RestrictWorker(Json& spec, Json& worker);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_PARTS_H_
