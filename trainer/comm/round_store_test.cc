#include "trainer/comm/round_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/store_wire.h"

namespace muster::trainer {
namespace {

absl::Time Soon() { return Clock::Real().Monotonic() + kPatience; }

TEST(RoundStoreTest, KeepsWhatIsSetAndCounts) {
  auto store = StartRoundStore();
  ASSERT_TRUE(store.ok()) << store.status();
  StoreClient client, other;
  ASSERT_TRUE(client.Connect((*store)->endpoint(), Soon()).ok());
  ASSERT_TRUE(other.Connect((*store)->endpoint(), Soon()).ok());
  EXPECT_EQ(other.Get("a", Soon()).value(), std::nullopt);
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(client.Set("a", large, Soon()).ok());
  EXPECT_EQ(other.WaitFor("a", Soon()).value(), large);
  EXPECT_EQ(client.Add("n", 5, Soon()).value(), 5);
  EXPECT_EQ(other.Add("n", -2, Soon()).value(), 3);
  EXPECT_EQ(client.Add("a", 1, Soon()).status(), absl::InvalidArgumentError("a is not a number"));
}

TEST(RoundStoreTest, AWaitEndsWhenTheKeyIsSet) {
  auto store = StartRoundStore();
  StoreClient waiting, setting;
  ASSERT_TRUE(waiting.Connect((*store)->endpoint(), Soon()).ok());
  ASSERT_TRUE(setting.Connect((*store)->endpoint(), Soon()).ok());
  std::thread setter([&] { EXPECT_TRUE(setting.Set("k", "v", Soon()).ok()); });
  EXPECT_EQ(waiting.WaitFor("k", Soon()).value(), "v");
  setter.join();
}

TEST(RoundStoreTest, AbortEndsAWait) {
  auto store = StartRoundStore();
  StoreClient client;
  ASSERT_TRUE(client.Connect((*store)->endpoint(), Soon()).ok());
  std::thread aborter([&] { client.Abort(); });
  EXPECT_EQ(client.WaitFor("never", Soon()).status(), absl::AbortedError("aborted"));
  aborter.join();
  EXPECT_EQ(client.Set("a", "b", Soon()), absl::AbortedError("aborted"));
}

TEST(RoundStoreTest, AStoreThatEndsIsUnavailable) {
  auto store = StartRoundStore();
  StoreClient client;
  ASSERT_TRUE(client.Connect((*store)->endpoint(), Soon()).ok());
  store->reset();
  EXPECT_EQ(client.Set("a", "b", Soon()).code(), absl::StatusCode::kUnavailable);
}

// A busy machine may not run a rank from before the deadline until after it.
TEST(RoundStoreTest, ConnectingAfterTheDeadlineReportsThatNoStoreAnswers) {
  auto store = StartRoundStore();
  const std::string endpoint = (*store)->endpoint();
  store->reset();
  StoreClient client;
  EXPECT_EQ(client.Connect(endpoint, Clock::Real().Monotonic() - absl::Seconds(1)),
            absl::UnavailableError("no store answers at " + endpoint));
}

TEST(RoundStoreTest, AClientThatBreaksTheProtocolIsDroppedAndOthersAreServed) {
  auto store = StartRoundStore();
  const std::string& endpoint = (*store)->endpoint();
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(std::atoi(endpoint.substr(endpoint.rfind(':') + 1).c_str()));
  std::string unknown;
  AppendLength(unknown, 5);
  unknown += "\x09zzzz";
  for (const std::string& bytes :
       {std::string("\xff\xff\xff\xff"), unknown,
        Encode(StoreRequest{StoreOperation::kSet, "k", "v"}).replace(5, 4, "\xff\xff\xff\x7f")}) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    char c = 0;
    EXPECT_EQ(recv(fd, &c, 1, 0), 0);  // closed
    close(fd);
  }
  StoreClient client;
  ASSERT_TRUE(client.Connect(endpoint, Soon()).ok());
  EXPECT_EQ(client.Get("k", Soon()).value(), std::nullopt);
}

// Answers only when told to, one request after the other.
class SlowStore {
 public:
  SlowStore() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~SlowStore() {
    if (connection_ >= 0) close(connection_);
    close(listener_);
  }
  const std::string& endpoint() const { return endpoint_; }
  void Accept() { connection_ = accept(listener_, nullptr, nullptr); }
  void Answer(const std::string& value) {
    const std::string answer = Encode(StoreAnswer{true, value});
    EXPECT_EQ(send(connection_, answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
  }

 private:
  int listener_ = -1;
  int connection_ = -1;
  std::string endpoint_;
};

TEST(RoundStoreTest, ALateAnswerIsNotTakenForTheNextOne) {
  SlowStore store;
  StoreClient client;
  ASSERT_TRUE(client.Connect(store.endpoint(), Soon()).ok());
  store.Accept();
  const absl::Time at_once = Clock::Real().Monotonic() + absl::Milliseconds(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Get("first", at_once).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Get("second", at_once).status()));
  for (const char* value : {"1", "2", "3", "4"}) store.Answer(value);
  EXPECT_EQ(client.Get("third", Soon()).value(), "3");
  EXPECT_EQ(client.Get("fourth", Soon()).value(), "4");
}

TEST(RoundStoreTest, AHostThatIsNotThisMachineIsRefused) {
  EXPECT_EQ(StartRoundStore("192.0.2.1").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::trainer
