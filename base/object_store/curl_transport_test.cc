#include "base/object_store/curl_transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace muster {
namespace {

// Answers each connection with fixed bytes after the head of a request, and then closes it or, if
// told to stall, waits until the peer has gone.
class RawServer {
 public:
  explicit RawServer(std::string answer, bool stalls = false)
      : answer_(std::move(answer)), stalls_(stalls) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~RawServer() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_, "/bucket/a"); }
  int connections() const { return connections_; }
  const std::string& last_request() const { return request_; }

 private:
  void Serve() {
    while (true) {
      const UniqueFd peer(accept(listener_.get(), nullptr, nullptr));
      if (peer.get() < 0) return;
      ++connections_;
      request_.clear();
      char buffer[4096];
      while (!absl::StrContains(request_, "\r\n\r\n")) {
        const ssize_t n = read(peer.get(), buffer, sizeof buffer);
        if (n <= 0) break;
        request_.append(buffer, static_cast<size_t>(n));
      }
      EXPECT_EQ(send(peer.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer_.size()));
      while (stalls_ && read(peer.get(), buffer, sizeof buffer) > 0) {
      }
    }
  }

  const UniqueFd listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const std::string answer_;
  const bool stalls_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::string request_;
  std::thread thread_;
};

HttpRequest Get(const RawServer& server) { return {.method = "GET", .url = server.url()}; }

TEST(CurlTransportTest, AnAnswerIsReadWholeWithItsHeaders) {
  const RawServer server(
      "HTTP/1.1 404 Not Found\r\nETag:  \"x\" \r\nContent-Length: 5\r\n\r\nhello");
  CurlTransport transport({});
  const auto answer = transport.Send(Get(server));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->headers.at("etag"), "\"x\"");
  EXPECT_EQ(answer->body, "hello");
}

TEST(CurlTransportTest, ARequestHasItsOwnHeadersAndNoOthersOfLibcurls) {
  const RawServer server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  CurlTransport transport({});
  HttpRequest request{.method = "PUT", .url = server.url(), .headers = {{"x-amz-date", "now"}}};
  ASSERT_TRUE(transport.Send(request).ok());
  EXPECT_TRUE(absl::StartsWith(server.last_request(), "PUT /bucket/a HTTP/1.1\r\n"));
  EXPECT_TRUE(absl::StrContains(server.last_request(), "x-amz-date: now\r\n"));
  EXPECT_FALSE(absl::StrContains(absl::AsciiStrToLower(server.last_request()), "expect"));
  EXPECT_FALSE(absl::StrContains(absl::AsciiStrToLower(server.last_request()), "content-type"));
}

TEST(CurlTransportTest, ABodyThatIsCutIsNoAnswer) {
  const RawServer server("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  CurlTransport transport({});
  EXPECT_EQ(transport.Send(Get(server)).status().code(), absl::StatusCode::kUnavailable);
}

TEST(CurlTransportTest, AnAnswerThatStallsIsGivenUp) {
  const RawServer server("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nand then nothing",
                         /*stalls=*/true);
  CurlTransport transport({.stall_timeout = absl::Seconds(1)});
  EXPECT_EQ(transport.Send(Get(server)).status().code(), absl::StatusCode::kUnavailable);
}

TEST(CurlTransportTest, ABodyBeyondTheLimitIsNotKept) {
  const RawServer server(
      absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", std::string(5000, 'x')));
  CurlTransport transport({});
  HttpRequest request = Get(server);
  request.most_bytes = 4999;
  const auto answer = transport.Send(request);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(answer.status().message(), "more than 4999 bytes"))
      << answer.status();
}

TEST(CurlTransportTest, NobodyAtTheAddressIsUnavailable) {
  std::string url;
  {
    const RawServer server("");
    url = server.url();
  }
  CurlTransport transport({});
  const auto answer = transport.Send({.method = "GET", .url = url});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable) << answer.status();
}

TEST(CurlTransportTest, ARedirectIsNotFollowed) {
  const RawServer other("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const RawServer server(absl::StrCat("HTTP/1.1 307 Temporary Redirect\r\nLocation: ", other.url(),
                                      "\r\nContent-Length: 0\r\n\r\n"));
  CurlTransport transport({});
  EXPECT_EQ(transport.Send(Get(server))->status, 307);
  EXPECT_EQ(other.connections(), 0);
}

}  // namespace
}  // namespace muster
