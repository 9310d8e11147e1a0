#ifndef MUSTER_TRAINER_COMM_LOCAL_COMMUNICATOR_H_
#define MUSTER_TRAINER_COMM_LOCAL_COMMUNICATOR_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/operation.h"

namespace muster::trainer {

struct LocalOptions {
  int size = 1;
  // Bounds every Wait().
  absl::Duration deadline = absl::Seconds(60);
  // A hook for tests, called on the issuing thread before each operation. It may block (a slow or
  // silent rank); an error makes this rank fail as if its process had died there.
  std::function<absl::Status(int rank, const Fingerprint&)> before_operation;
  // A hook for tests, called for each tensor of an operation; an error makes this rank fail.
  std::function<absl::Status(const at::Tensor&)> before_tensors;
};

// Makes communicators among ranks that are threads of this process; also the world of one, where
// every operation is done at once. The last rank to arrive carries an operation out, adding in rank
// order. Fingerprints are always compared. A communicator that is destroyed or aborted is a dead
// peer to the others, like a process that ended. Pass communicator i to the thread of rank i.
std::vector<std::unique_ptr<Communicator>> MakeLocalCommunicators(const LocalOptions& options);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_LOCAL_COMMUNICATOR_H_
