#include "operator/web/bounded_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

// For what is to be cut off, and for what is not: a busy machine keeps either side waiting.
constexpr absl::Duration kShort = absl::Milliseconds(300);
constexpr absl::Duration kPatience = absl::Minutes(3);

// A client below HTTP.
class Wire {
 public:
  explicit Wire(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Wire() { ::close(fd_); }

  bool Send(const std::string& text) {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // All that comes until the server closes.
  std::string ReadAll() {
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::recv(fd_, buffer, sizeof(buffer), 0)) > 0;) all.append(buffer, got);
    return all;
  }
  // The first line of the answer.
  std::string ReadLine() {
    std::string line;
    for (char c = 0; ::recv(fd_, &c, 1, 0) == 1 && c != '\r';) line.push_back(c);
    return line;
  }
  // Whether the server closed, or sent something, within `wait`.
  bool HasNews(absl::Duration wait) {
    pollfd entry = {fd_, POLLIN, 0};
    return ::poll(&entry, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) > 0;
  }

 private:
  const int fd_;
};

class BoundedServerTest : public ::testing::Test {
 protected:
  void Serve(absl::Duration request, absl::Duration idle) {
    server_ = std::make_unique<BoundedServer>(
        ConnectionLimits{.request = request, .idle = idle, .request_bytes = 8192, .requests = 3});
    // One thread: whoever holds it holds the server.
    server_->new_task_queue = [] { return new httplib::ThreadPool(1); };
    server_->Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("hello", "text/plain");
    });
    server_->set_payload_max_length(1024);
    server_->Post("/", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(absl::StrCat(request.body.size()), "text/plain");
    });
    port_ = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::yield();
  }
  ~BoundedServerTest() override {
    server_->stop();
    thread_.join();
  }

  std::unique_ptr<BoundedServer> server_;
  int port_ = 0;
  std::thread thread_;
};

TEST_F(BoundedServerTest, AClientThatDripsIsCutOffAndTheNextIsAnswered) {
  Serve(kShort, kPatience);
  Wire slow(port_);
  ASSERT_TRUE(slow.Send("GET / HTTP/1.1\r\nX-Drip: "));
  const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
  std::string answer;
  std::thread other([&] {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(absl::ToChronoSeconds(kPatience));
    // Again when the machine kept one request waiting for longer than is allowed.
    while (answer.empty() && Clock::Real().Monotonic() < deadline) {
      if (const auto result = client.Get("/")) answer = result->body;
    }
  });
  bool cut = false;  // each byte comes well within any timeout of one read
  while (!cut && Clock::Real().Monotonic() < deadline) {
    slow.Send("x");
    cut = slow.HasNews(absl::Milliseconds(20));
  }
  EXPECT_TRUE(cut);
  other.join();
  EXPECT_EQ(answer, "hello");
}

TEST_F(BoundedServerTest, HeadersWithoutEndAreCutOff) {
  Serve(kPatience, kPatience);
  Wire wire(port_);
  wire.Send("GET / HTTP/1.1\r\n");
  int sent = 0;
  while (sent < 100000 && wire.Send("A: b\r\n")) ++sent;
  const std::string answer = wire.ReadAll();
  EXPECT_TRUE(answer.empty() || answer.find("HTTP/1.1 400") == 0) << answer;
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Get("/")->body, "hello");
}

TEST_F(BoundedServerTest, ABodyThatIsAnnouncedAsHugeIsNotReadToItsEnd) {
  Serve(kPatience, kPatience);
  Wire wire(port_);
  wire.Send(absl::StrCat("POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n",
                         std::string(8192, 'x')));
  EXPECT_EQ(wire.ReadLine().find("HTTP/1.1 413"), 0u);
}

TEST_F(BoundedServerTest, AConnectionServesItsRequestsInOrderAndIsThenClosed) {
  Serve(kPatience, kPatience);
  Wire wire(port_);
  std::string three;  // and one too many
  for (int i = 0; i < 4; ++i) absl::StrAppend(&three, "GET / HTTP/1.1\r\n\r\n");
  wire.Send(three);
  const std::string answer = wire.ReadAll();
  int answers = 0;
  for (size_t at = 0; (at = answer.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++answers;
  EXPECT_EQ(answers, 3);
}

TEST_F(BoundedServerTest, WhoSaysNothingIsClosed) {
  Serve(kPatience, kShort);
  Wire wire(port_);
  EXPECT_EQ(wire.ReadAll(), "");
}

TEST_F(BoundedServerTest, BodiesArriveWhole) {
  Serve(kPatience, kPatience);
  httplib::Client client("127.0.0.1", port_);
  EXPECT_EQ(client.Post("/", std::string(1000, 'x'), "text/plain")->body, "1000");
}

}  // namespace
}  // namespace muster::control
