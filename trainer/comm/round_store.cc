#include "trainer/comm/round_store.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/secrets.h"
#include "base/unique_fd.h"
#include "trainer/comm/peer_user.h"
#include "trainer/comm/store_wire.h"

namespace muster::trainer {
namespace {

struct Connection {
  UniqueFd fd;
  absl::Time since;
  std::string nonce;
  std::string in, out;
  // Absent while the connection is a stranger.
  std::optional<StoreSeal> open, seal;
};

// A client that does not read its answers is dropped.
constexpr size_t kMaxUnread = 2 * size_t{kMaxStoreMessage};

// Serves all connections from one thread; a client that breaks the protocol is dropped.
class TcpRoundStore final : public RoundStore {
 public:
  TcpRoundStore(int listener, std::string endpoint, std::string secret, const StoreLimits& limits)
      : listener_(listener),
        stop_(eventfd(0, EFD_CLOEXEC)),
        endpoint_(std::move(endpoint)),
        secret_(std::move(secret)),
        limits_(limits) {
    thread_ = std::thread([this] {
      while (RunOnce()) {
      }
    });
  }
  ~TcpRoundStore() override {
    const uint64_t one = 1;
    if (write(stop_, &one, sizeof(one)) < 0) return;
    thread_.join();
    close(listener_);
    close(stop_);
  }
  const std::string& endpoint() const override { return endpoint_; }

 private:
  bool RunOnce() {
    std::vector<pollfd> fds{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Connection& c : connections_) {
      fds.push_back({c.fd.get(), static_cast<short>(c.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
    if (poll(fds.data(), fds.size(), Timeout()) < 0) return errno == EINTR;
    if (fds[0].revents != 0) return false;
    auto polled = fds.begin() + 2;
    for (auto it = connections_.begin(); it != connections_.end(); ++polled) {
      const bool stays = !IsLate(*it) && (polled->revents == 0 || Serve(*it));
      it = stays ? std::next(it) : Drop(it);
    }
    if (fds[1].revents != 0) Accept();
    return true;
  }

  // Returns the milliseconds until the proof of the oldest stranger is overdue; -1 without
  // strangers.
  int Timeout() const {
    for (const Connection& c : connections_) {
      if (c.open) continue;
      const absl::Duration left = c.since + limits_.proof - Clock::Real().Monotonic();
      return static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(left) + 1));
    }
    return -1;
  }
  bool IsLate(const Connection& c) const {
    return !c.open && Clock::Real().Monotonic() - c.since >= limits_.proof;
  }
  std::list<Connection>::iterator Drop(std::list<Connection>::iterator it) {
    if (it->open) --members_;
    return connections_.erase(it);
  }

  void Accept() {
    UniqueFd fd(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() < 0 || !MayBeOwnUser(fd.get())) return;
    if (connections_.size() - members_ >= limits_.strangers) {
      Drop(std::find_if(connections_.begin(), connections_.end(),
                        [](const Connection& c) { return !c.open; }));
    }
    Connection connection{.fd = std::move(fd),
                          .since = Clock::Real().Monotonic(),
                          .nonce = RandomSecret(),
                          .in = "",
                          .out = "",
                          .open = std::nullopt,
                          .seal = std::nullopt};
    connection.out = connection.nonce;
    if (Flush(connection)) connections_.push_back(std::move(connection));
  }

  // Returns false if the connection is over.
  bool Serve(Connection& connection) {
    char buffer[65536];
    const ssize_t n = recv(connection.fd.get(), buffer, sizeof(buffer), 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (n > 0) connection.in.append(buffer, static_cast<size_t>(n));
    if (!connection.open && !Admit(connection)) return false;
    std::string_view rest = connection.in;
    while (connection.open) {
      const auto message = connection.open->Open(rest);
      if (!message.ok()) return false;
      if (!message->has_value()) break;
      const auto request = DecodeStoreRequest(**message);
      if (!request) return false;
      connection.out += connection.seal->Seal(Encode(Answer(*request)));
      if (connection.out.size() > kMaxUnread) return false;
    }
    connection.in.erase(0, connection.in.size() - rest.size());
    return Flush(connection);
  }

  // Makes a stranger whose proof has arrived a member. Returns false if the proof is wrong.
  bool Admit(Connection& connection) {
    constexpr size_t kNeeded = kNonceBytes + kProofBytes;
    const std::string_view in = connection.in;
    if (in.size() < kNeeded) return true;
    StoreKeys keys = DeriveStoreKeys(secret_, connection.nonce, in.substr(0, kNonceBytes));
    if (!SecretsEqual(in.substr(kNonceBytes, kProofBytes), keys.client_proof)) return false;
    if (members_ >= limits_.members) return false;
    ++members_;
    connection.in.erase(0, kNeeded);
    connection.out += keys.server_proof;
    connection.open.emplace(std::move(keys.to_server));
    connection.seal.emplace(std::move(keys.to_client));
    return true;
  }

  static bool Flush(Connection& connection) {
    while (!connection.out.empty()) {
      const ssize_t n =
          send(connection.fd.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
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
        return {.found = Keep(request.key, request.value), .value = ""};
      case StoreOperation::kGet:
        return {found, found ? it->second : ""};
      case StoreOperation::kAdd: {
        int64_t sum = 0, add = 0, total = 0;
        if (found && !absl::SimpleAtoi(it->second, &sum)) return {};
        if (!absl::SimpleAtoi(request.value, &add)) return {};
        if (__builtin_add_overflow(sum, add, &total)) return {};
        std::string value = absl::StrCat(total);
        if (!Keep(request.key, value)) return {};
        return {true, std::move(value)};
      }
    }
    return {};
  }

  // Returns false if there is no room.
  bool Keep(const std::string& key, const std::string& value) {
    const auto it = values_.find(key);
    const size_t before = it == values_.end() ? 0 : key.size() + it->second.size();
    const size_t after = bytes_ - before + key.size() + value.size();
    if (after > limits_.bytes || (before == 0 && values_.size() >= limits_.keys)) return false;
    bytes_ = after;
    values_[key] = value;
    return true;
  }

  const int listener_;
  const int stop_;
  const std::string endpoint_;
  const std::string secret_;
  const StoreLimits limits_;
  std::thread thread_;
  // Used by the thread only.
  std::list<Connection> connections_;  // in the order of their arrival
  size_t members_ = 0;                 // those that have proved that they know the secret
  std::map<std::string, std::string> values_;
  size_t bytes_ = 0;
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

absl::StatusOr<std::unique_ptr<RoundStore>> StartRoundStore(const std::string& host,
                                                            std::string secret,
                                                            const StoreLimits& limits) {
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
  return std::make_unique<TcpRoundStore>(listener, absl::StrCat(host, ":", port), std::move(secret),
                                         limits);
}

}  // namespace muster::trainer
