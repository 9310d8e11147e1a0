#ifndef MUSTER_OPERATOR_COORDINATOR_READ_LAG_PROBE_H_
#define MUSTER_OPERATOR_COORDINATOR_READ_LAG_PROBE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace muster::control {

// Finds out how far behind a server reads. It is a peer of its own server, over a pair of sockets
// that nobody else can reach, and asks it something four times a second: an answer tells that what
// other peers had sent before has been read too, for gRPC serves its sockets in the order in which
// they have something. A server that is short of CPU, or was frozen, answers late, and that is how
// long the silence of its peers proves nothing. No thread of its own.
class HearingProbe {
 public:
  // `heard(when)`: all that was sent before `when` (of clock.Monotonic()) has been read. Called by
  // gRPC's threads. `server` and `clock` must outlive the probe.
  static absl::StatusOr<std::unique_ptr<HearingProbe>> Start(
      grpc::Server& server, const Clock& clock, std::function<void(absl::Time when)> heard);
  // After it `heard` is not called any more.
  ~HearingProbe();

 private:
  struct State;
  explicit HearingProbe(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_READ_LAG_PROBE_H_
