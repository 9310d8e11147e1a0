#include "operator/kube/http/proxy.h"

#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "operator/kube/http/server_url.h"

namespace muster::kube {
namespace {

std::string ProxyFor(const std::string& server, const std::string& exempt,
                     const std::string& proxy = "http://p:3128") {
  const std::map<std::string, std::string> environment = {{"HTTPS_PROXY", proxy},
                                                          {"no_proxy", exempt}};
  return ProxyFromEnvironment(*ParseServerUrl(server), [&](const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
  });
}

TEST(ProxyTest, TheEnvironmentNamesTheProxy) {
  EXPECT_EQ(ProxyFor("https://api.test:6443", ""), "http://p:3128");
  EXPECT_EQ(ProxyFor("https://api.test:6443", "", "p:3128"), "http://p:3128");
  EXPECT_EQ(ProxyFor("https://api.test:6443", "", ""), "");
}

TEST(ProxyTest, ServersOfNoProxyAreReachedDirectly) {
  for (const char* entry : {"*", "api.test", "API.test", "test", ".test", "*.test",
                            "x, api.test ,y", "api.test:6443"}) {
    EXPECT_EQ(ProxyFor("https://api.test:6443", entry), "") << entry;
  }
  for (const char* entry : {"", ",", "pi.test", "*.api.test", ".api.test", "api.test:443", "other",
                            "10.0.0.0/8", "::/0"}) {
    EXPECT_NE(ProxyFor("https://api.test:6443", entry), "") << entry;
  }
  for (const char* entry : {"10.1.2.3", "10.0.0.0/8", "10.1.2.0/23", "0.0.0.0/0", "10.1.2.3:443"}) {
    EXPECT_EQ(ProxyFor("https://10.1.2.3", entry), "") << entry;
  }
  for (const char* entry :
       {"10.1.2.4", "10.0.0.0/16", "10.0.0.0/33", "10.0.0.0/x", "10.1.2.3:80"}) {
    EXPECT_NE(ProxyFor("https://10.1.2.3", entry), "") << entry;
  }
  EXPECT_EQ(ProxyFor("https://[fd00::1]:6443", "fd00::/8"), "");
  EXPECT_EQ(ProxyFor("https://[fd00::1]:6443", "[fd00::1]:6443"), "");
  EXPECT_NE(ProxyFor("https://[fd00::1]:6443", "fe00::/8"), "");
}

TEST(ProxyTest, ThisMachineIsReachedDirectly) {
  for (const char* server :
       {"https://localhost", "https://127.0.0.1:1", "https://127.9.9.9", "https://[::1]"}) {
    EXPECT_EQ(ProxyFor(server, ""), "") << server;
  }
}

TEST(ProxyTest, AUrlIsAHostAndAPortAndPerhapsAUser) {
  const auto plain = ParseProxyUrl("http://proxy.test:3128/");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->host, "proxy.test");
  EXPECT_EQ(plain->port, 3128);
  EXPECT_EQ(plain->authorization, "");
  EXPECT_EQ(ParseProxyUrl("http://proxy.test")->port, 80);
  const auto user = ParseProxyUrl("http://us%40er:pass@[fd00::1]:8080");
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(user->host, "fd00::1");
  EXPECT_EQ(user->port, 8080);
  EXPECT_EQ(user->authorization, "Basic dXNAZXI6cGFzcw==");  // us@er:pass
  for (const char* bad : {"", "p:3128", "https://u:secret@p", "socks5://u:secret@p", "http://",
                          "http://u:secret@", "http://p/secret", "http://p:secret"}) {
    const absl::Status status = ParseProxyUrl(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(status.message().find("secret"), absl::string_view::npos) << status;
  }
}

class TunnelTest : public testing::Test {
 protected:
  TunnelTest() { socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_); }
  ~TunnelTest() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  // Opens a tunnel through a proxy that replies `answer`.
  absl::Status Open(const std::string& answer) {
    send(ends_[1], answer.data(), answer.size(), MSG_NOSIGNAL);
    return OpenTunnel(ends_[0], {"p", 3128, "Basic eA=="},
                      *ParseServerUrl("https://[fd00::1]:6443"), absl::InfiniteFuture());
  }
  int ends_[2];
};

TEST_F(TunnelTest, ItAsksForTheServerAndSaysWhoAsks) {
  EXPECT_TRUE(Open("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n").ok());
  char asked[1000];
  const ssize_t size = recv(ends_[1], asked, sizeof(asked), 0);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(asked, static_cast<size_t>(size)),
            "CONNECT [fd00::1]:6443 HTTP/1.1\r\nHost: [fd00::1]:6443\r\n"
            "Proxy-Authorization: Basic eA==\r\n\r\n");
}

TEST_F(TunnelTest, ARefusalIsReported) {
  EXPECT_EQ(Open("HTTP/1.1 407 Who are you\r\nContent-Length: 2\r\n\r\nno").message(),
            "the proxy p:3128 refused to connect to it: 407");
}

TEST_F(TunnelTest, AnAnswerThatIsNotHttpIsReported) {
  EXPECT_EQ(Open("hello\r\n\r\n").message(), "the proxy p:3128 sent an answer that is not HTTP");
  EXPECT_EQ(Open(std::string(20'000, 'x')).message(),
            "the proxy p:3128 sent an answer that is not HTTP");
}

TEST_F(TunnelTest, ATunnelThatStartsWithDataIsRefused) {
  EXPECT_EQ(Open("HTTP/1.1 200 OK\r\n\r\nhello").message(),
            "the proxy p:3128 sent data before the TLS handshake");
}

TEST_F(TunnelTest, AProxyThatClosesOrIsSilentIsReported) {
  shutdown(ends_[1], SHUT_WR);
  EXPECT_EQ(Open("").message(), "the proxy p:3128 closed the connection");
  int other[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other), 0);
  EXPECT_EQ(
      OpenTunnel(other[0], {"p", 3128, ""}, *ParseServerUrl("https://a"), absl::InfinitePast())
          .code(),
      absl::StatusCode::kDeadlineExceeded);
  close(other[0]);
  close(other[1]);
}

}  // namespace
}  // namespace muster::kube
