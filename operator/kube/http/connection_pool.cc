#include "operator/kube/http/connection_pool.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "operator/kube/api_error.h"

namespace muster::kube {
namespace {

// kube-apiserver closes an idle connection after 90 s, load balancers often after 60.
constexpr absl::Duration kLongestIdle = absl::Seconds(45);

// A server sends nothing between calls, so a readable socket means that the connection has ended.
bool IsQuiet(const httplib::SSLClient& client) {
  if (client.is_socket_open() == 0) return false;
  char byte;
  const ssize_t got = recv(client.socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

Connection ConnectionPool::TakeIdle(uint64_t generation, std::vector<Connection>& dropped) {
  while (!idle_.empty()) {
    Connection last = std::move(idle_.back());
    idle_.pop_back();
    last.reused = true;
    if (last.generation == generation && clock_.Monotonic() - last.idle_since < kLongestIdle &&
        IsQuiet(*last.client)) {
      return last;
    }
    dropped.push_back(std::move(last));
  }
  return {};
}

absl::StatusOr<Connection> ConnectionPool::Take(uint64_t generation, absl::Time deadline,
                                                const Make& make) {
  std::vector<Connection> dropped;  // closed outside of the lock
  Connection connection;
  {
    MutexLock lock(mu_);
    while (taken_ >= limit_) {
      const absl::Duration left = deadline - clock_.Monotonic();
      if (left <= absl::ZeroDuration()) {
        return TooManyRequests(
            "all connections of this client were in use until the call's deadline",
            absl::Seconds(1));
      }
      returned_.WaitFor(mu_, left);
    }
    ++taken_;
    connection = TakeIdle(generation, dropped);
  }
  if (connection.client != nullptr) return connection;
  absl::StatusOr<std::unique_ptr<httplib::SSLClient>> made = make();
  if (!made.ok()) {
    Return({}, /*healthy=*/false);
    return made.status();
  }
  connection.client = *std::move(made);
  connection.generation = generation;
  connection.reused = false;
  return connection;
}

void ConnectionPool::Return(Connection connection, bool healthy) {
  connection.idle_since = clock_.Monotonic();
  MutexLock lock(mu_);
  --taken_;
  if (healthy) idle_.push_back(std::move(connection));
  returned_.NotifyOne();
}

}  // namespace muster::kube
