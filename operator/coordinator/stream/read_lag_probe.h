#ifndef MUSTER_OPERATOR_COORDINATOR_STREAM_READ_LAG_PROBE_H_
#define MUSTER_OPERATOR_COORDINATOR_STREAM_READ_LAG_PROBE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace muster::control {

// Measures how far a gRPC server lags in reading from its sockets. The probe is a client of its own
// server over a private socket pair, and sends a request four times a second. gRPC serves sockets
// in the order in which they become readable, so an answer shows that messages that other peers
// sent earlier have been read too. A server that is short of CPU, or was frozen, answers late;
// until then, the silence of its peers proves nothing. Has no thread of its own.
class ReadLagProbe {
 public:
  // Calls `heard(when)` from gRPC's threads: all messages sent before `when` (clock.Monotonic())
  // have been read. `server` and `clock` must outlive the probe.
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
