#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_DEVICES_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_DEVICES_H_

#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The devices of a worker's container. Amounts that the template gives stay. Pure.
namespace muster::control {

// Asks for GPUs unless the template's limits do, be it for whole ones or for parts such as MIG
// devices, and tolerates the taint that commonly keeps other pods off nodes that have them.
void AddGpus(Json& spec, Json& worker, int gpus);

// Asks for RDMA devices, and for the capability to lock memory if the job does.
void AddRdma(const v1alpha1::RdmaSpec& rdma, Json& worker);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_DEVICES_H_
