#include "operator/kube/http/dialer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/testing/reserved_port.h"
#include "gtest/gtest.h"

namespace muster::kube {
namespace {

// A local port that either accepts connections or is silent: once its backlog is full, the kernel
// drops further attempts.
class Listener {
 public:
  explicit Listener(bool silent = false) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(socket_, reinterpret_cast<sockaddr*>(&any), sizeof(any));
    listen(socket_, silent ? 0 : 16);
    address_.size = sizeof(any);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address_.address), &address_.size);
    if (silent) Fill();
  }
  ~Listener() {
    close(socket_);
    for (const int client : clients_) close(client);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const SocketAddress& address() const { return address_; }
  bool HasVisitor() const {
    const int visitor = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (visitor >= 0) close(visitor);
    return visitor >= 0;
  }

 private:
  void Fill() {
    for (int i = 0; i < 8; ++i) {
      clients_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      connect(clients_.back(), reinterpret_cast<const sockaddr*>(&address_.address), address_.size);
    }
  }

  const int socket_;
  SocketAddress address_;
  std::vector<int> clients_;
};

// Returns an address at which nothing listens as long as `port` is kept.
SocketAddress Deaf(const ReservedPort& port) {
  return ResolveHost("127.0.0.1", port.number())->front();
}

absl::Time In(absl::Duration time) { return Clock::Real().Monotonic() + time; }

TEST(DialerTest, AllAddressesAreTried) {
  const ReservedPort one = *ReservedPort::Reserve(), other = *ReservedPort::Reserve();
  const Listener listener;
  const auto socket = DialAny({Deaf(one), Deaf(other), listener.address()}, In(absl::Seconds(60)));
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_TRUE(listener.HasVisitor());
  close(*socket);
}

// A silent address must not use up the call's whole time.
TEST(DialerTest, AnAddressThatIsSilentDoesNotKeepTheOthersWaiting) {
  const Listener silent(/*silent=*/true);
  const Listener listener;
  const auto socket = DialAny({silent.address(), listener.address()}, In(absl::Hours(1)));
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_TRUE(listener.HasVisitor());
  close(*socket);
}

TEST(DialerTest, AddressesWhereNobodyListensAreUnavailable) {
  const ReservedPort one = *ReservedPort::Reserve(), other = *ReservedPort::Reserve();
  const absl::Status status = DialAny({Deaf(one), Deaf(other)}, In(absl::Hours(1))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "it cannot be reached");
  EXPECT_EQ(DialAny({}, In(absl::Hours(1))).status().code(), absl::StatusCode::kUnavailable);
}

TEST(DialerTest, DialingEndsAtItsDeadline) {
  const Listener silent(/*silent=*/true);
  const absl::Status status = DialAny({silent.address()}, In(absl::Milliseconds(50))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message(), "it did not accept a connection in time");
}

TEST(DialerTest, AnAddressNeedsNoResolver) {
  ASSERT_EQ(ResolveHost("127.0.0.1", 80)->size(), 1u);
  EXPECT_EQ(ResolveHost("::1", 80)->at(0).address.ss_family, AF_INET6);
  EXPECT_EQ(ResolveHost("no.such.name.invalid", 80).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::kube
