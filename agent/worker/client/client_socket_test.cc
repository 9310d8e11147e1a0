#include "agent/worker/client/client_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "agent/worker/client/client_message.h"
#include "base/testing/manual_clock.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

constexpr char kReport[] = R"({"report": {"step": 7, "loss": 2.5}})";

class ClientSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/rank-0.sock";
    ASSERT_TRUE(socket_.Open(path_).ok());
  }
  void TearDown() override {
    socket_.Close();
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "the socket is left";
  }

  UniqueFd Connect() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  static void Say(const UniqueFd& client, const std::string& packet) {
    ASSERT_EQ(send(client.get(), packet.data(), packet.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(packet.size()));
  }

  // Returns the packets that wait for the client; "gone" last if the agent has cut it off.
  static std::vector<std::string> Hear(const UniqueFd& client) {
    std::vector<std::string> packets;
    char bytes[4096];
    while (true) {
      const ssize_t n = recv(client.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) return packets;
      packets.push_back(n > 0 ? std::string(bytes, static_cast<size_t>(n)) : "gone");
      if (n <= 0) return packets;
    }
  }

  std::string folder_ = "/tmp/muster-client-XXXXXX";
  std::string path_;
  ManualClock clock_;
  ClientSocket socket_{clock_};
};

TEST_F(ClientSocketTest, OnlyThisUserMayConnect) {
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(ClientSocketTest, AReportOfAClientThatHasGoneIsStillHeard) {
  Say(Connect(), kReport);
  const auto messages = socket_.Collect();
  ASSERT_EQ(messages.size(), 1u);
  const v1alpha1::StepReport& step = messages[0].steps().steps(0);
  EXPECT_EQ(step.version().step(), 7);
  EXPECT_EQ(step.finished_at_us(), absl::ToUnixMicros(clock_.Wall()));
}

TEST_F(ClientSocketTest, NoticesReachThoseWhoAreThereAndThoseWhoComeLater) {
  const UniqueFd early = Connect();
  socket_.Collect();
  EXPECT_EQ(Hear(early), std::vector<std::string>{R"({"muster":1,"saves":0})"});
  v1alpha1::ToTrainer save;
  save.mutable_save();
  socket_.Notify(save);
  EXPECT_EQ(Hear(early), std::vector<std::string>{R"({"muster":1,"saves":1})"});
  v1alpha1::ToTrainer stop;
  stop.mutable_stop()->set_seconds(15);
  socket_.Notify(stop);
  EXPECT_EQ(Hear(early), std::vector<std::string>{R"({"leaveIn":15.0,"muster":1,"saves":1})"});
  clock_.Advance(absl::Seconds(5));
  const UniqueFd late = Connect();
  socket_.Collect();
  EXPECT_EQ(Hear(late), std::vector<std::string>{R"({"leaveIn":10.0,"muster":1,"saves":1})"});
}

TEST_F(ClientSocketTest, TheNextProcessIsNotToldTheNoticesOfTheLast) {
  v1alpha1::ToTrainer stop;
  stop.mutable_stop()->set_seconds(15);
  socket_.Notify(stop);
  ASSERT_TRUE(socket_.Open(path_).ok());
  const UniqueFd client = Connect();
  socket_.Collect();
  EXPECT_EQ(Hear(client), std::vector<std::string>{R"({"muster":1,"saves":0})"});
}

TEST_F(ClientSocketTest, WhoCannotBeUnderstoodIsCutOffAndTheOthersAreNot) {
  const UniqueFd good = Connect();
  const std::vector<std::string> bad = {"hello", "{}", std::string(kMaxClientPacket + 1, ' '),
                                        std::string("\0\xff", 2)};
  for (const std::string& packet : bad) {
    const UniqueFd client = Connect();
    Say(client, packet);
    EXPECT_TRUE(socket_.Collect().empty());
    EXPECT_EQ(Hear(client).back(), "gone");
  }
  Say(good, kReport);
  EXPECT_EQ(socket_.Collect().size(), 1u);
}

TEST_F(ClientSocketTest, AClientThatDoesNotReadIsCutOff) {
  const UniqueFd deaf = Connect();
  socket_.Collect();
  v1alpha1::ToTrainer save;
  save.mutable_save();
  for (int i = 0; i < 100000; ++i) socket_.Notify(save);
  EXPECT_EQ(Hear(deaf).back(), "gone");
}

TEST_F(ClientSocketTest, MoreClientsThanThereMayBeAreClosed) {
  std::vector<UniqueFd> clients;
  for (size_t i = 0; i < ClientSocket::kMaxClients; ++i) clients.push_back(Connect());
  socket_.Collect();
  const UniqueFd one_more = Connect();
  socket_.Collect();
  EXPECT_EQ(Hear(one_more), std::vector<std::string>{"gone"});
  EXPECT_EQ(Hear(clients.back()).size(), 1u);
}

TEST(ClientSocketOpenTest, APathThatIsTooLongIsRefused) {
  ManualClock clock;
  ClientSocket socket(clock);
  EXPECT_EQ(socket.Open("/" + std::string(200, 'p')).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::agent
