#include "trainer/comm/round_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/testing/patience.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "trainer/comm/store_client.h"
#include "trainer/comm/store_wire.h"

namespace muster::trainer {
namespace {

constexpr char kSecret[] = "of this round";

absl::Time Soon() { return Clock::Real().Monotonic() + kPatience; }

absl::StatusOr<std::unique_ptr<RoundStore>> Start(const StoreLimits& limits = {}) {
  return StartRoundStore("127.0.0.1", kSecret, limits);
}

// Connects as a stranger does, who knows the port alone.
UniqueFd Dial(const std::string& endpoint) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(static_cast<uint16_t>(std::atoi(endpoint.substr(endpoint.rfind(':') + 1).c_str())));
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// Returns what arrives before the other end closes.
std::string ReadAll(int fd) {
  std::string all;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) all.append(buffer, static_cast<size_t>(n));
  return all;
}

TEST(RoundStoreTest, KeepsWhatIsSetAndCounts) {
  auto store = Start();
  ASSERT_TRUE(store.ok()) << store.status();
  StoreClient client, other;
  ASSERT_TRUE(client.Connect((*store)->endpoint(), kSecret, Soon()).ok());
  ASSERT_TRUE(other.Connect((*store)->endpoint(), kSecret, Soon()).ok());
  EXPECT_EQ(other.Get("a", Soon()).value(), std::nullopt);
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(client.Set("a", large, Soon()).ok());
  EXPECT_EQ(other.WaitFor("a", Soon()).value(), large);
  EXPECT_EQ(client.Add("n", 5, Soon()).value(), 5);
  EXPECT_EQ(other.Add("n", -2, Soon()).value(), 3);
  EXPECT_EQ(client.Add("a", 1, Soon()).status(), absl::InvalidArgumentError("a is not a number"));
}

TEST(RoundStoreTest, AWaitEndsWhenTheKeyIsSet) {
  auto store = Start();
  StoreClient waiting, setting;
  ASSERT_TRUE(waiting.Connect((*store)->endpoint(), kSecret, Soon()).ok());
  ASSERT_TRUE(setting.Connect((*store)->endpoint(), kSecret, Soon()).ok());
  std::thread setter([&] { EXPECT_TRUE(setting.Set("k", "v", Soon()).ok()); });
  EXPECT_EQ(waiting.WaitFor("k", Soon()).value(), "v");
  setter.join();
}

TEST(RoundStoreTest, AbortEndsAWait) {
  auto store = Start();
  StoreClient client;
  ASSERT_TRUE(client.Connect((*store)->endpoint(), kSecret, Soon()).ok());
  std::thread aborter([&] { client.Abort(); });
  EXPECT_EQ(client.WaitFor("never", Soon()).status(), absl::AbortedError("aborted"));
  aborter.join();
  EXPECT_EQ(client.Set("a", "b", Soon()), absl::AbortedError("aborted"));
}

TEST(RoundStoreTest, AStoreThatEndsIsUnavailable) {
  auto store = Start();
  StoreClient client;
  ASSERT_TRUE(client.Connect((*store)->endpoint(), kSecret, Soon()).ok());
  store->reset();
  EXPECT_EQ(client.Set("a", "b", Soon()).code(), absl::StatusCode::kUnavailable);
}

// A busy machine may not run a rank from before the deadline until after it.
TEST(RoundStoreTest, ConnectingAfterTheDeadlineReportsThatNoStoreAnswers) {
  auto store = Start();
  const std::string endpoint = (*store)->endpoint();
  store->reset();
  StoreClient client;
  EXPECT_EQ(client.Connect(endpoint, kSecret, Clock::Real().Monotonic() - absl::Seconds(1)),
            absl::UnavailableError("no store answers at " + endpoint));
}

// The tags of rounds can be guessed, the secret cannot.
TEST(RoundStoreTest, AStrangerReadsAndSetsNothing) {
  auto store = Start();
  const std::string& endpoint = (*store)->endpoint();
  StoreClient member;
  ASSERT_TRUE(member.Connect(endpoint, kSecret, Soon()).ok());
  ASSERT_TRUE(member.Set("1.7/address", "of rank 0", Soon()).ok());
  StoreSeal seal("");
  const std::string request = Encode(StoreRequest{StoreOperation::kSet, "1.7/address", "evil"});
  for (const std::string& bytes :
       {std::string(64, 'x'), std::string("\x1a\0\0\0\x01\x0b\0\0\0", 9) + std::string(64, 'a'),
        std::string(64, 'x') + seal.Seal(request)}) {
    const UniqueFd fd = Dial(endpoint);
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_LE(ReadAll(fd.get()).size(), kNonceBytes) << "an answer";
  }
  StoreClient other;
  const absl::Status refused =
      other.Connect(endpoint, "of another round", Clock::Real().Monotonic() + absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_EQ(member.Get("1.7/address", Soon()).value(), "of rank 0");
}

TEST(RoundStoreTest, AMemberThatBreaksTheProtocolIsDroppedAndOthersAreServed) {
  auto store = Start();
  const std::string& endpoint = (*store)->endpoint();
  const UniqueFd fd = Dial(endpoint);
  std::string nonce(kNonceBytes, '\0');
  ASSERT_EQ(recv(fd.get(), nonce.data(), nonce.size(), MSG_WAITALL), 32);
  const std::string own(kNonceBytes, 'n');
  const StoreKeys keys = DeriveStoreKeys(kSecret, nonce, own);
  StoreSeal seal(keys.to_server);
  const std::string bytes = own + keys.client_proof + seal.Seal("\x09zzzz");
  ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_LE(ReadAll(fd.get()).size(), kProofBytes);
  StoreClient client;
  ASSERT_TRUE(client.Connect(endpoint, kSecret, Soon()).ok());
  EXPECT_EQ(client.Get("k", Soon()).value(), std::nullopt);
}

TEST(RoundStoreTest, AFloodOfStrangersKeepsNoMemberOut) {
  auto store = Start({.strangers = 4});
  const std::string& endpoint = (*store)->endpoint();
  StoreClient early, late;
  ASSERT_TRUE(early.Connect(endpoint, kSecret, Soon()).ok());
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(Dial(endpoint));
  for (int i = 0; i < 96; ++i) EXPECT_EQ(ReadAll(strangers[i].get()).size(), kNonceBytes) << i;
  ASSERT_TRUE(late.Connect(endpoint, kSecret, Soon()).ok());
  ASSERT_TRUE(late.Set("k", "v", Soon()).ok());
  EXPECT_EQ(early.Get("k", Soon()).value(), "v");
}

TEST(RoundStoreTest, AStrangerThatProvesNothingIsCutOff) {
  auto store = Start({.proof = absl::Milliseconds(50)});
  const UniqueFd fd = Dial((*store)->endpoint());
  ASSERT_EQ(send(fd.get(), "slow", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(ReadAll(fd.get()).size(), kNonceBytes);
}

TEST(RoundStoreTest, KeysAndBytesAreBounded) {
  auto store = Start({.keys = 2, .bytes = 100});
  StoreClient client;
  ASSERT_TRUE(client.Connect((*store)->endpoint(), kSecret, Soon()).ok());
  ASSERT_TRUE(client.Set("a", std::string(98, 'x'), Soon()).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(client.Set("b", "xx", Soon()))) << "101 bytes";
  ASSERT_TRUE(client.Set("a", "short", Soon()).ok()) << "a value takes the place of the old one";
  EXPECT_EQ(client.Add("b", INT64_MAX, Soon()).value(), INT64_MAX);
  EXPECT_FALSE(client.Add("b", 1, Soon()).ok()) << "a sum that has no room in 64 bits";
  EXPECT_EQ(client.Set("c", "", Soon()),
            absl::ResourceExhaustedError("the round's store takes no more keys or bytes"));
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
  // Proves what it knows, if `secret` is the client's.
  void Accept(const std::string& secret) {
    connection_ = accept(listener_, nullptr, nullptr);
    const std::string nonce(kNonceBytes, 's');
    EXPECT_EQ(send(connection_, nonce.data(), nonce.size(), MSG_NOSIGNAL), 32);
    std::string proof(kNonceBytes + kProofBytes, '\0');
    EXPECT_EQ(recv(connection_, proof.data(), proof.size(), MSG_WAITALL), 64);
    StoreKeys keys = DeriveStoreKeys(secret, nonce, proof.substr(0, kNonceBytes));
    EXPECT_EQ(send(connection_, keys.server_proof.data(), kProofBytes, MSG_NOSIGNAL), 32);
    seal_.emplace(keys.to_client);
  }
  void Answer(const std::string& value) {
    const std::string answer = seal_->Seal(Encode(StoreAnswer{true, value}));
    EXPECT_EQ(send(connection_, answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
  }

 private:
  int listener_ = -1;
  int connection_ = -1;
  std::optional<StoreSeal> seal_;
  std::string endpoint_;
};

TEST(RoundStoreTest, WhoStandsInThePlaceOfTheStoreIsNotBelieved) {
  SlowStore store;
  std::thread accepts([&] { store.Accept("guessed"); });
  StoreClient client;
  EXPECT_EQ(client.Connect(store.endpoint(), kSecret, Soon()),
            absl::PermissionDeniedError(
                "what answers in place of the round's store does not know the round's secret"));
  accepts.join();
}

TEST(RoundStoreTest, ALateAnswerIsNotTakenForTheNextOne) {
  SlowStore store;
  StoreClient client;
  std::thread accepts([&] { store.Accept(kSecret); });
  ASSERT_TRUE(client.Connect(store.endpoint(), kSecret, Soon()).ok());
  accepts.join();
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
