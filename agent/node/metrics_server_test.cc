#include "agent/node/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

std::string Page() { return "muster_node_gpus 0\n"; }

std::string StatusOf(const std::string& head) {
  const std::string response = RespondTo(head, Page);
  return response.substr(9, 3);
}

TEST(RespondToTest, OnlyGetsOfTwoPagesAreServed) {
  EXPECT_EQ(StatusOf("GET /metrics HTTP/1.1\r\nHost: a"), "200");
  EXPECT_EQ(StatusOf("GET /metrics?x=1 HTTP/1.0"), "200");
  EXPECT_EQ(StatusOf("GET /healthz HTTP/1.1"), "200");
  EXPECT_EQ(StatusOf("GET / HTTP/1.1"), "404");
  EXPECT_EQ(StatusOf("GET /metricsx HTTP/1.1"), "404");
  EXPECT_EQ(StatusOf("POST /metrics HTTP/1.1"), "405");
  for (const char* head : {"", " ", "GET", "GET /metrics", "GET  /metrics HTTP/1.1",
                           "GET /metrics HTTP/2", "GET /metrics HTTP/1.1 x"}) {
    EXPECT_EQ(StatusOf(head), "400") << head;
  }
}

// The address that the kubelet probes is open to others.
TEST(RespondToTest, WhereThereIsNoPageOnlyTheHealthIsTold) {
  EXPECT_EQ(RespondTo("GET /metrics HTTP/1.1", nullptr).substr(9, 3), "404");
  EXPECT_EQ(RespondTo("GET /healthz HTTP/1.1", nullptr).substr(9, 3), "200");
}

TEST(RespondToTest, AHeadRequestHasTheLengthAndNoBody) {
  EXPECT_TRUE(absl::StrContains(RespondTo("HEAD /metrics HTTP/1.1", Page), "Content-Length: 19"));
  EXPECT_FALSE(absl::StrContains(RespondTo("HEAD /metrics HTTP/1.1", Page), "muster_node_gpus"));
}

class MetricsServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = MetricsServer::Start("127.0.0.1:0", Page);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  UniqueFd Connect() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string& text = server_->address();
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(text.substr(text.rfind(':') + 1))));
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  static std::string Exchange(const UniqueFd& fd, const std::string& request) {
    EXPECT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string response;
    char bytes[4096];
    for (ssize_t got; (got = ::read(fd.get(), bytes, sizeof(bytes))) > 0;) {
      response.append(bytes, static_cast<size_t>(got));
    }
    return response;
  }

  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, EachConnectionGetsItsPage) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Exchange(Connect(), "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"),
              "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
              "Content-Length: 19\r\nConnection: close\r\n\r\nmuster_node_gpus 0\n");
  }
}

TEST_F(MetricsServerTest, AHeadMayComeInPieces) {
  const UniqueFd fd = Connect();
  for (const std::string& piece : {std::string("GET /heal"), std::string("thz HTTP/1.1\r\n\r")}) {
    ASSERT_EQ(::send(fd.get(), piece.data(), piece.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(piece.size()));
  }
  EXPECT_TRUE(absl::StrContains(Exchange(fd, "\n"), "200 OK"));
}

TEST_F(MetricsServerTest, ClientsThatSayNothingHoldNobodyUp) {
  std::vector<UniqueFd> idle;
  for (size_t i = 0; i + 1 < MetricsServer::kMaxConnections; ++i) idle.push_back(Connect());
  EXPECT_TRUE(absl::StrContains(Exchange(Connect(), "GET /healthz HTTP/1.1\r\n\r\n"), "200 OK"));
}

TEST_F(MetricsServerTest, AHeadWithoutEndIsRefused) {
  const UniqueFd fd = Connect();
  const std::string endless =
      "GET /metrics HTTP/1.1\r\nX: " + std::string(MetricsServer::kMaxHeadBytes, 'x');
  EXPECT_TRUE(absl::StrContains(Exchange(fd, endless), "431"));
}

TEST_F(MetricsServerTest, BytesAtRandomNeverEndIt) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random() % 300, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    const UniqueFd fd = Connect();
    (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  EXPECT_TRUE(absl::StrContains(Exchange(Connect(), "GET /healthz HTTP/1.1\r\n\r\n"), "200 OK"));
}

TEST_F(MetricsServerTest, AnAddressThatCannotBeServedIsNamed) {
  const auto failure = [](const std::string& address) {
    return std::string(MetricsServer::Start(address, Page).status().message());
  };
  EXPECT_EQ(failure("nowhere"), "nowhere: wants IPV4:PORT, as 127.0.0.1:9402");
  EXPECT_EQ(failure("127.0.0.1:70000"), "127.0.0.1:70000: wants IPV4:PORT, as 127.0.0.1:9402");
  EXPECT_EQ(failure(server_->address()),
            "cannot listen on " + server_->address() + ": Address already in use");
}

}  // namespace
}  // namespace muster::agent
