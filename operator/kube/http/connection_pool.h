#ifndef MUSTER_OPERATOR_KUBE_HTTP_CONNECTION_POOL_H_
#define MUSTER_OPERATOR_KUBE_HTTP_CONNECTION_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "httplib.h"

namespace muster::kube {

// One connection, lent to one call.
struct Connection {
  std::unique_ptr<httplib::SSLClient> client;
  uint64_t generation = 0;  // of the credentials that it was made with
  bool reused = false;      // it served a call before
  absl::Time idle_since;
};

// Kept-alive connections, at most `limit` at once, the last used first. Connections that were made
// with older credentials, idle for longer than servers keep them, or closed by the server are not
// lent out again. Thread-safe.
class ConnectionPool {
 public:
  using Make = std::function<absl::StatusOr<std::unique_ptr<httplib::SSLClient>>()>;

  ConnectionPool(int limit, const Clock& clock) : limit_(limit), clock_(clock) {}

  // kResourceExhausted (TooManyRequests) when none came free until `deadline` (Monotonic).
  absl::StatusOr<Connection> Take(uint64_t generation, absl::Time deadline, const Make& make);
  // `healthy`: its last answer was read to the end.
  void Return(Connection connection, bool healthy);

 private:
  // The newest usable one, or none; what is not usable goes to `dropped`.
  Connection TakeIdle(uint64_t generation, std::vector<Connection>& dropped) MUSTER_REQUIRES(mu_);

  const int limit_;
  const Clock& clock_;
  Mutex mu_;
  CondVar returned_;
  std::vector<Connection> idle_ MUSTER_GUARDED_BY(mu_);  // oldest first
  int taken_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_CONNECTION_POOL_H_
