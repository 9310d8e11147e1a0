#ifndef MUSTER_OPERATOR_API_CHECKPOINT_STORAGE_H_
#define MUSTER_OPERATOR_API_CHECKPOINT_STORAGE_H_

#include <string>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// Names the storage that a job of the namespace saves its checkpoints to; jobs that share one have
// equal names. It is the bucket of an object store, or the volume that the worker container mounts
// at spec.checkpoint.uri, for which a claim counts, not what is behind it. A folder of no volume is
// the disk of the one machine that `muster run` uses. Empty without checkpoints. Pure.
std::string CheckpointStorage(const v1alpha1::TrainingJobSpec& spec, const std::string& ns);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_CHECKPOINT_STORAGE_H_
