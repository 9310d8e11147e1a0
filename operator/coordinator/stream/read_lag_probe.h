#ifndef MUSTER_OPERATOR_COORDINATOR_STREAM_READ_LAG_PROBE_H_
#define MUSTER_OPERATOR_COORDINATOR_STREAM_READ_LAG_PROBE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace muster::control {

// Measures how far a server is behind in reading. The probe is a peer of its own server, over a
// pair of sockets that nobody else can reach, and sends a request four times a second. Because gRPC
// serves sockets in the order in which they become readable, an answer shows that messages which
// other peers had sent before were also read. A server that is short of CPU, or was frozen, answers
// late, and for that long the silence of its peers proves nothing. Has no thread of its own.
class ReadLagProbe {
 public:
  // Calls `heard(when)` from gRPC's threads: all that was sent before `when` (of clock.Monotonic())
  // has been read. `server` and `clock` must outlive the probe.
  static absl::StatusOr<std::unique_ptr<ReadLagProbe>> Start(
      grpc::Server& server, const Clock& clock, std::function<void(absl::Time when)> heard);
  // After this returns, `heard` is not called any more.
  ~ReadLagProbe();

 private:
  struct State;
  explicit ReadLagProbe(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_STREAM_READ_LAG_PROBE_H_
