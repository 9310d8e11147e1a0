#include "trainer/comm/link_check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/testing/patience.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "trainer/comm/peer_user.h"
#include "trainer/comm/round_store.h"

namespace muster::trainer {
namespace {

absl::Time Soon() { return Clock::Real().Monotonic() + kPatience; }

sockaddr_storage Address(const char* host, int port) {
  sockaddr_storage address = {};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host, &v4.sin_addr);
  return address;
}

// Checks the links of two ranks, each with such a socket, and returns what rank 0 finds.
absl::Status Check(const ConnectedSocket& of_0, const ConnectedSocket& of_1) {
  const auto store = StartRoundStore("127.0.0.1", "secret");
  StoreClient first, second;
  EXPECT_TRUE(first.Connect((*store)->endpoint(), "secret", Soon()).ok());
  EXPECT_TRUE(second.Connect((*store)->endpoint(), "secret", Soon()).ok());
  // A connection of something else in the process is no harm.
  const ConnectedSocket other{.fd = -1, .inode = 9, .local_port = 7, .peer_port = 443};
  std::thread peer([&] { CheckLinks(second, "1.1", 1, 2, {of_1, other}, Soon()).IgnoreError(); });
  const absl::Status found = CheckLinks(first, "1.1", 0, 2, {other, of_0}, Soon());
  peer.join();
  return found;
}

TEST(LinkCheckTest, ALinkEndsInTheOtherRank) {
  const absl::Status found = Check({.fd = -1, .inode = 1, .local_port = 1000, .peer_port = 2000},
                                   {.fd = -1, .inode = 2, .local_port = 2000, .peer_port = 1000});
  EXPECT_TRUE(found.ok()) << found;
}

TEST(LinkCheckTest, SomebodyWhoPassesOnWhatTwoRanksSayIsFound) {
  const absl::Status found = Check({.fd = -1, .inode = 1, .local_port = 1000, .peer_port = 3000},
                                   {.fd = -1, .inode = 2, .local_port = 2000, .peer_port = 3001});
  EXPECT_EQ(found.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(found.message(),
            "group 1.1: the connection to rank 1 ends somewhere else: in a program that is not of "
            "this round, or in a proxy between the ranks, which must let their ports through");
}

TEST(LinkCheckTest, TheUserOfAPeerOnThisMachineIsKnown) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage address = Address("127.0.0.1", 0);
  socklen_t size = sizeof(sockaddr_in);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  const UniqueFd server(accept(listener.get(), nullptr, nullptr));
  EXPECT_EQ(UserOfLoopbackPeer(server.get()), geteuid());
  EXPECT_TRUE(MayBeOwnUser(server.get()));
  EXPECT_EQ(UserOfLoopbackPeer(-1), std::nullopt);
}

TEST(LinkCheckTest, TheKernelsTableTellsWhoseASocketIs) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7 0 1\n"
      "   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001 0 2\n"
      "   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000 0 3\n";
  const sockaddr_storage client = Address("127.0.0.1", 50000), server = Address("127.0.0.1", 8080);
  EXPECT_EQ(UserInTable(table, client, server), 1001u);
  EXPECT_EQ(UserInTable(table, server, client), 1000u);
  EXPECT_EQ(UserInTable(table, Address("127.0.0.1", 50001), server), std::nullopt);
  EXPECT_EQ(UserInTable("1: 0100007F:C350 0100007F:1F90 01", client, server), std::nullopt);
}

}  // namespace
}  // namespace muster::trainer
