#ifndef MUSTER_PROTO_MUSTER_V1ALPHA1_CHECKPOINT_DEFAULTS_H_
#define MUSTER_PROTO_MUSTER_V1ALPHA1_CHECKPOINT_DEFAULTS_H_

#include <string>

#include "absl/time/time.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The defaults of spec.checkpoint on which several programs must agree.
namespace muster::v1alpha1 {

// The default of checkpoint.interval.max with mode Auto.
inline constexpr absl::Duration kAutoIntervalMost = absl::Hours(1);

// Returns the region of a job's store.
inline std::string RegionOf(const S3Spec& store) {
  return store.region().empty() ? "us-east-1" : store.region();
}

}  // namespace muster::v1alpha1

#endif  // MUSTER_PROTO_MUSTER_V1ALPHA1_CHECKPOINT_DEFAULTS_H_
