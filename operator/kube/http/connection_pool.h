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

// A connection that is lent to one call at a time.
struct Connection {
  std::unique_ptr<httplib::SSLClient> client;
  uint64_t generation = 0;  // tls_generation of its credentials
  bool reused = false;      // it has served a call before
  absl::Time idle_since;
};

// A pool of kept-alive connections that lends at most `limit` at a time, the most recently used
// first. Connections that were made with older credentials, were idle for longer than servers keep
// them, or were closed by the server are not lent again. Thread-safe.
class ConnectionPool {
 public:
  using Make = std::function<absl::StatusOr<std::unique_ptr<httplib::SSLClient>>()>;

  ConnectionPool(int limit, const Clock& clock) : limit_(limit), clock_(clock) {}

  // Returns kResourceExhausted (TooManyRequests) if none became free by `deadline` (Monotonic).
  absl::StatusOr<Connection> Take(uint64_t generation, absl::Time deadline, const Make& make);
  // `healthy` means that the last answer was read to its end.
  void Return(Connection connection, bool healthy);

 private:
  // Returns the most recently used connection that is usable, or none; unusable ones go to
  // `dropped`.
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
