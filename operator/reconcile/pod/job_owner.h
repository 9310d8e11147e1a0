#ifndef MUSTER_OPERATOR_RECONCILE_POD_JOB_OWNER_H_
#define MUSTER_OPERATOR_RECONCILE_POD_JOB_OWNER_H_

#include "base/json.h"
#include "operator/api/training_job.h"
#include "operator/kube/object_meta.h"

namespace muster::control {

// Makes the job the owner of an object, which is deleted with it. Pure.
inline void SetJobAsOwner(const TrainingJob& job, Json& object) {
  kube::OwnerReference owner;
  owner.api_version = kApiVersion;
  owner.kind = kTrainingJobKind;
  owner.name = job.name;
  owner.uid = job.uid;
  owner.controller = true;
  owner.block_owner_deletion = true;
  kube::SetOwners(object, {owner});
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_JOB_OWNER_H_
