#include "trainer/engine/link/link.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/net/link_frame.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

v1alpha1::ToTrainer Prepare(int64_t round) {
  v1alpha1::ToTrainer message;
  message.mutable_prepare()->mutable_round()->set_round(round);
  return message;
}
v1alpha1::ToTrainer Stop() {
  v1alpha1::ToTrainer message;
  message.mutable_stop();
  return message;
}

TEST(InboxTest, APrepareInterruptsUntilTheLastOneIsTaken) {
  Inbox inbox;
  int aborts = 0;
  inbox.SetAbort([&](std::string_view) { ++aborts; });
  inbox.Push(Stop());
  EXPECT_FALSE(inbox.interrupt());
  EXPECT_EQ(aborts, 0);
  inbox.Push(Prepare(1));
  inbox.Push(Prepare(2));
  EXPECT_TRUE(inbox.interrupt());
  EXPECT_EQ(aborts, 2);
  EXPECT_TRUE(inbox.TryTake()->has_stop());
  EXPECT_EQ(inbox.TryTake()->prepare().round().round(), 1);
  EXPECT_TRUE(inbox.interrupt());
  EXPECT_EQ(inbox.Take()->prepare().round().round(), 2);
  EXPECT_FALSE(inbox.interrupt());
  EXPECT_FALSE(inbox.TryTake().has_value());
}

TEST(InboxTest, AnAbortThatIsSetDuringAnInterruptIsCalledAtOnce) {
  Inbox inbox;
  inbox.Push(Prepare(1));
  int aborts = 0;
  inbox.SetAbort([&](std::string_view) { ++aborts; });
  EXPECT_EQ(aborts, 1);
  inbox.SetAbort(nullptr);
  inbox.Push(Prepare(2));
  EXPECT_EQ(aborts, 1);
}

TEST(InboxTest, CloseInterruptsForGood) {
  Inbox inbox;
  inbox.Push(Prepare(1));
  inbox.Close();
  EXPECT_TRUE(inbox.TryTake().has_value());
  EXPECT_TRUE(inbox.interrupt());
  EXPECT_FALSE(inbox.Take().has_value());
}

class SocketLinkTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0); }
  void TearDown() override {
    close(fds_[0]);
    close(fds_[1]);
  }
  int fds_[2];
  Inbox inbox_;
};

TEST_F(SocketLinkTest, CarriesMessagesAndEndsWithTheLink) {
  SocketLink link(fds_[0]);
  ASSERT_TRUE(SendLinkFrame(fds_[1], Prepare(7)).ok());
  EXPECT_TRUE(link.RunOnce(inbox_));
  EXPECT_EQ(inbox_.TryTake()->prepare().round().round(), 7);
  shutdown(fds_[1], SHUT_WR);
  EXPECT_FALSE(link.RunOnce(inbox_));
  EXPECT_TRUE(inbox_.interrupt());
}

TEST_F(SocketLinkTest, BytesThatAreNotAMessageEndTheLink) {
  SocketLink link(fds_[0]);
  ASSERT_EQ(write(fds_[1], "\xff\xff\xff\xff", 4), 4);
  EXPECT_FALSE(link.RunOnce(inbox_));
  EXPECT_FALSE(inbox_.Take().has_value());
}

}  // namespace
}  // namespace muster::trainer
