#include "trainer/comm/round_store.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "trainer/comm/store_wire.h"

namespace muster::trainer {
namespace {

struct Connection {
  int fd = -1;
  std::string in, out;
};

// Serves all connections from one thread; a client that breaks the protocol is dropped.
class TcpRoundStore final : public RoundStore {
 public:
  TcpRoundStore(int listener, std::string endpoint)
      : listener_(listener), stop_(eventfd(0, EFD_CLOEXEC)), endpoint_(std::move(endpoint)) {
    thread_ = std::thread([this] {
      while (RunOnce()) {
      }
    });
  }
  ~TcpRoundStore() override {
    const uint64_t one = 1;
    if (write(stop_, &one, sizeof(one)) < 0) return;
    thread_.join();
    for (const Connection& connection : connections_) close(connection.fd);
    close(listener_);
    close(stop_);
  }
  const std::string& endpoint() const override { return endpoint_; }

 private:
  bool RunOnce() {
    std::vector<pollfd> fds{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Connection& c : connections_) {
      fds.push_back({c.fd, static_cast<short>(c.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    if (poll(fds.data(), fds.size(), /*timeout=*/-1) < 0) return errno == EINTR;
    if (fds[0].revents != 0) return false;
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (fds[i + 2].revents != 0 && !Serve(connections_[i])) {
        close(connections_[i].fd);
        connections_[i].fd = -1;
      }
    }
    std::erase_if(connections_, [](const Connection& c) { return c.fd < 0; });
    if (fds[1].revents != 0) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) connections_.push_back({.fd = fd});
    }
    return true;
  }

  bool Serve(Connection& connection) {
    char buffer[16384];
    ssize_t n = 0;
    while ((n = recv(connection.fd, buffer, sizeof(buffer), 0)) > 0) {
      connection.in.append(buffer, static_cast<size_t>(n));
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    size_t begin = 0;
    while (connection.in.size() - begin >= 4) {
      const uint32_t length = ReadLength(std::string_view(connection.in).substr(begin));
      if (length > kMaxStoreMessage) return false;
      if (connection.in.size() - begin - 4 < length) break;
      const auto request =
          DecodeStoreRequest(std::string_view(connection.in).substr(begin + 4, length));
      if (!request) return false;
      connection.out += Encode(Answer(*request));
      begin += 4 + length;
    }
    connection.in.erase(0, begin);
    return Flush(connection);
  }

  static bool Flush(Connection& connection) {
    while (!connection.out.empty()) {
      const ssize_t n =
          send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      connection.out.erase(0, static_cast<size_t>(n));
    }
    return true;
  }

  StoreAnswer Answer(const StoreRequest& request) {
    const auto it = values_.find(request.key);
    const bool found = it != values_.end();
    switch (request.operation) {
      case StoreOperation::kSet:
        values_[request.key] = request.value;
        return {.found = true};
      case StoreOperation::kGet:
        return {found, found ? it->second : ""};
      case StoreOperation::kAdd: {
        int64_t sum = 0, add = 0;
        if (found && !absl::SimpleAtoi(it->second, &sum)) return {};
        if (!absl::SimpleAtoi(request.value, &add)) return {};
        return {true, values_[request.key] = absl::StrCat(sum + add)};
      }
    }
    return {};
  }

  const int listener_;
  const int stop_;
  const std::string endpoint_;
  std::thread thread_;
  // Used by the thread only.
  std::vector<Connection> connections_;
  std::map<std::string, std::string> values_;
};

// Returns a listening socket on a free port of `host`, or -1.
int Listen(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "0", &hints, &found) != 0) return -1;
  int listener = -1;
  for (const addrinfo* a = found; a != nullptr && listener < 0; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) {
      listener = fd;
    } else {
      close(fd);
    }
  }
  freeaddrinfo(found);
  return listener;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RoundStore>> StartRoundStore(const std::string& host) {
  const int listener = Listen(host);
  if (listener < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve a store at ", host, ": ", std::strerror(errno)));
  }
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int port =
      ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(address).sin_port);
  return std::make_unique<TcpRoundStore>(listener, absl::StrCat(host, ":", port));
}

}  // namespace muster::trainer
