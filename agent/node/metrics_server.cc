#include "agent/node/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/net/wake_fd.h"
#include "base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kEndOfHead[] = "\r\n\r\n";
// A connection that takes longer is closed.
constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr int kBacklog = 64;

std::string Response(absl::string_view status, absl::string_view type, absl::string_view body,
                     bool with_body) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(), "\r\nConnection: close", kEndOfHead,
                      with_body ? body : "");
}

std::string Refusal(absl::string_view status) {
  return Response(status, "text/plain", absl::StrCat(status, "\n"), /*with_body=*/true);
}

absl::StatusOr<sockaddr_in> ParseAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 0 ||
      port > 65535 || ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(text, ": wants IPV4:PORT, as 127.0.0.1:9402"));
  }
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

std::string RespondTo(absl::string_view head, const std::function<std::string()>& page) {
  const absl::string_view line = head.substr(0, head.find("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0")) {
    return Refusal("400 Bad Request");
  }
  const bool get = words[0] == "GET";
  if (!get && words[0] != "HEAD") return Refusal("405 Method Not Allowed");
  const absl::string_view path = words[1].substr(0, words[1].find('?'));
  if (path == "/metrics" && page != nullptr) return Response("200 OK", kTextFormat, page(), get);
  if (path == "/healthz") return Response("200 OK", "text/plain", "ok\n", get);
  return Refusal("404 Not Found");
}

// The thread and its connections.
class MetricsServer::Loop {
 public:
  Loop(UniqueFd listener, WakeFd wake, std::function<std::string()> page)
      : listener_(std::move(listener)),
        wake_(std::move(wake)),
        page_(std::move(page)),
        thread_([this] { Run(); }) {}
  ~Loop() {
    wake_.Wake();
    thread_.join();
  }

 private:
  struct Connection {
    UniqueFd fd;
    absl::Time until;
    std::string head;
    std::string response;  // empty while the head is read
    size_t sent = 0;
  };

  void Run();
  void Accept(absl::Time now);
  // Returns false once the connection is to be closed.
  bool Proceed(Connection& connection);
  bool Read(Connection& connection);
  bool Write(Connection& connection);

  const UniqueFd listener_;
  const WakeFd wake_;
  const std::function<std::string()> page_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;  // last, so that it begins when all else is there
};

void MetricsServer::Loop::Accept(absl::Time now) {
  const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  connections_.emplace_back(new Connection{UniqueFd(fd), now + kPatience, "", "", 0});
}

bool MetricsServer::Loop::Read(Connection& connection) {
  char bytes[2048];
  const ssize_t got = ::read(connection.fd.get(), bytes, sizeof(bytes));
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  connection.head.append(bytes, static_cast<size_t>(got));
  const size_t end = connection.head.find(kEndOfHead);
  if (end != std::string::npos) {
    connection.response = RespondTo(connection.head.substr(0, end), page_);
  } else if (connection.head.size() > kMaxHeadBytes) {
    connection.response = Refusal("431 Request Header Fields Too Large");
  }
  return true;
}

bool MetricsServer::Loop::Write(Connection& connection) {
  const absl::string_view rest = absl::string_view(connection.response).substr(connection.sent);
  const ssize_t sent = ::send(connection.fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  connection.sent += static_cast<size_t>(sent);
  return connection.sent < connection.response.size();
}

bool MetricsServer::Loop::Proceed(Connection& connection) {
  if (connection.response.empty() && !Read(connection)) return false;
  return connection.response.empty() || Write(connection);
}

void MetricsServer::Loop::Run() {
  for (;;) {
    const bool full = connections_.size() >= kMaxConnections;
    std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}, {full ? -1 : listener_.get(), POLLIN, 0}};
    absl::Duration wait = absl::InfiniteDuration();
    const absl::Time before = Clock::Boot().Monotonic();
    for (const auto& connection : connections_) {
      const short events = connection->response.empty() ? POLLIN : POLLOUT;
      fds.push_back({connection->fd.get(), events, 0});
      wait = std::min(wait, std::max(absl::ZeroDuration(), connection->until - before));
    }
    const int milliseconds =
        connections_.empty() ? -1 : static_cast<int>(absl::ToInt64Milliseconds(wait)) + 1;
    if (::poll(fds.data(), fds.size(), milliseconds) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    const absl::Time now = Clock::Boot().Monotonic();
    for (size_t i = connections_.size(); i-- > 0;) {
      const bool stays = fds[i + 2].revents == 0 || Proceed(*connections_[i]);
      if (!stays || now >= connections_[i]->until) connections_.erase(connections_.begin() + i);
    }
    if (fds[1].revents != 0) Accept(now);
  }
}

MetricsServer::MetricsServer(std::unique_ptr<Loop> loop, std::string address)
    : loop_(std::move(loop)), address_(std::move(address)) {}
MetricsServer::~MetricsServer() = default;

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, std::function<std::string()> page) {
  absl::StatusOr<sockaddr_in> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  auto* where = reinterpret_cast<sockaddr*>(&*parsed);
  socklen_t size = sizeof(*parsed);
  const int on = 1;
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  WakeFd wake;
  if (listener.get() < 0 || wake.get() < 0 ||
      ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(listener.get(), where, size) != 0 || ::listen(listener.get(), kBacklog) != 0 ||
      ::getsockname(listener.get(), where, &size) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": ", std::strerror(errno)));
  }
  std::string actual =
      absl::StrCat(address.substr(0, address.rfind(':')), ":", ntohs(parsed->sin_port));
  auto loop = std::make_unique<Loop>(std::move(listener), std::move(wake), std::move(page));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(loop), std::move(actual)));
}

}  // namespace muster::agent
