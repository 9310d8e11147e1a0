#ifndef MUSTER_TRAINER_ENGINE_LINK_ROUND_NETWORK_H_
#define MUSTER_TRAINER_ENGINE_LINK_ROUND_NETWORK_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

// A rank's place in a group of ranks of a round.
struct GroupPlace {
  v1alpha1::RoundId round;
  std::string group = "";  // empty: all ranks of the round
  int rank = 0;            // within the group
  int size = 1;
};

// One rank on its way into a group of a round.
class RoundConnector {
 public:
  virtual ~RoundConnector() = default;
  // Meets the other ranks. Returns by the step deadline, or with Aborted during or after Abort().
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Connect() = 0;
  // May be called from any thread.
  virtual void Abort(std::string_view why) = 0;
};

// The seam to the way the ranks of a round find each other. Used from the engine's thread.
class RoundNetwork {
 public:
  virtual ~RoundNetwork() = default;
  // Sets the step deadline of the rounds that are connected from now on.
  virtual void SetDeadline(absl::Duration deadline) = 0;
  // Sets the secret of the rounds that are served and connected from now on.
  virtual void SetSecret(std::string secret) = 0;
  // Starts the store of the next round in this process, in place of an earlier one, and returns its
  // host:port.
  virtual absl::StatusOr<std::string> Serve() = 0;
  virtual std::unique_ptr<RoundConnector> MakeConnector(const GroupPlace& place,
                                                        const std::string& store) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_ROUND_NETWORK_H_
