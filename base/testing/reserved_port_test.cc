#include "base/testing/reserved_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

UniqueFd Socket(bool reuses) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = reuses ? 1 : 0;
  EXPECT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
  return fd;
}

// Returns 0 or the error of the system call.
int BindTo(int port, const UniqueFd& fd) {
  const sockaddr_in address = Loopback(port);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return bind(fd.get(), generic, sizeof(address)) == 0 ? 0 : errno;
}

int ConnectTo(int port) {
  const UniqueFd fd = Socket(false);
  const sockaddr_in address = Loopback(port);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return connect(fd.get(), generic, sizeof(address)) == 0 ? 0 : errno;
}

TEST(ReservedPortTest, AServerListensOnItAsOftenAsItIsRestarted) {
  const ReservedPort port = *ReservedPort::Reserve();
  EXPECT_EQ(port.address(), "127.0.0.1:" + std::to_string(port.number()));
  for (int start = 0; start < 3; ++start) {
    EXPECT_EQ(ConnectTo(port.number()), ECONNREFUSED);
    const UniqueFd server = Socket(true);
    ASSERT_EQ(BindTo(port.number(), server), 0) << start;
    ASSERT_EQ(listen(server.get(), 1), 0) << start;
    EXPECT_EQ(ConnectTo(port.number()), 0) << start;
  }
}

// A port that was only free a moment ago may be taken before its server starts, or starts again.
TEST(ReservedPortTest, NobodyElseGetsIt) {
  const ReservedPort port = *ReservedPort::Reserve();
  EXPECT_EQ(BindTo(port.number(), Socket(false)), EADDRINUSE);
  std::vector<ReservedPort> others;
  std::set<int> numbers = {port.number()};
  for (size_t i = 0; i < 500; ++i) {
    others.push_back(*ReservedPort::Reserve());
    numbers.insert(others.back().number());
  }
  EXPECT_EQ(numbers.size(), others.size() + 1);
}

}  // namespace
}  // namespace muster
