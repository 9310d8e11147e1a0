#ifndef MUSTER_TRAINER_DEVICE_DEVICE_VERSIONS_H_
#define MUSTER_TRAINER_DEVICE_DEVICE_VERSIONS_H_

#include <string>

#include "absl/status/status.h"

namespace muster::trainer {

// The versions of a machine's and an image's parts for GPUs, as CUDA counts them (13000 is 13.0)
// and as NCCL does (22809 is 2.28.9); 0 is a part that is not there.
struct DeviceVersions {
  int driver = 0;      // the newest CUDA that the driver runs
  int cuda = 0;        // of the image's libraries
  int built_with = 0;  // the CUDA with which muster's library was built
  int nccl = 0;        // of the image's library
  // Why NCCL cannot be used, in words; empty if it can.
  std::string no_nccl;
};

// Checks, before anything is allocated, that these go together for a job of `ranks` ranks.
// FailedPrecondition, with both versions and what to install. A driver runs every CUDA of its own
// and of older major versions ("CUDA Compatibility", NVIDIA). Pure.
absl::Status CheckVersions(const DeviceVersions& versions, int ranks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DEVICE_DEVICE_VERSIONS_H_
