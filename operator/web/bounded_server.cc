#include "operator/web/bounded_server.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/clock.h"

namespace muster::control {
namespace {

// How often a connection that waits looks whether the server stops.
constexpr absl::Duration kSlice = absl::Milliseconds(50);

// The reads and writes of one request after another, within its bounds. Of one thread.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int socket, const ConnectionLimits& limits) : socket_(socket), limits_(limits) {}

  void BeginRequest() {
    deadline_ = Clock::Real().Monotonic() + limits_.request;
    left_ = limits_.request_bytes;
  }

  // Whether a byte is there, or comes within `wait`.
  bool HasInput(absl::Duration wait) const { return begin_ < end_ || Poll(POLLIN, wait); }

  bool is_readable() const override { return HasInput(Rest()); }
  bool is_writable() const override { return Poll(POLLOUT, Rest()); }

  // The library reads byte by byte.
  ssize_t read(char* to, size_t size) override {
    if (left_ == 0) return -1;
    if (begin_ == end_) {
      const ssize_t got = Fill();
      if (got <= 0) return got;
    }
    const size_t taken = std::min({size, end_ - begin_, left_});
    std::memcpy(to, buffer_ + begin_, taken);
    begin_ += taken;
    left_ -= taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* from, size_t size) override {
    while (is_writable()) {
      const ssize_t sent = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0 || !IsPassing(errno)) return sent;
    }
    return -1;
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    Tell(::getpeername, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    Tell(::getsockname, ip, port);
  }
  socket_t socket() const override { return socket_; }

 private:
  static bool IsPassing(int error) {
    return error == EINTR || error == EAGAIN || error == EWOULDBLOCK;
  }

  template <typename Name>
  void Tell(const Name& name, std::string& ip, int& port) const {
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    char host[NI_MAXHOST] = "";
    char service[NI_MAXSERV] = "0";
    if (name(socket_, generic, &size) == 0) {
      ::getnameinfo(generic, size, host, sizeof(host), service, sizeof(service),
                    NI_NUMERICHOST | NI_NUMERICSERV);
    }
    ip = host;
    port = std::atoi(service);
  }

  absl::Duration Rest() const { return deadline_ - Clock::Real().Monotonic(); }

  bool Poll(short events, absl::Duration wait) const {
    const absl::Time until = Clock::Real().Monotonic() + wait;
    while (true) {
      const absl::Duration rest = until - Clock::Real().Monotonic();
      if (rest <= absl::ZeroDuration()) return false;
      pollfd entry = {socket_, events, 0};
      const auto ms = absl::ToInt64Milliseconds(rest) + 1;
      const int ready = ::poll(&entry, 1, static_cast<int>(ms));
      if (ready > 0) return true;  // an error too: the next call tells it
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  // Not above zero: the connection is over.
  ssize_t Fill() {
    while (Poll(POLLIN, Rest())) {
      const ssize_t got = ::recv(socket_, buffer_, sizeof(buffer_), MSG_DONTWAIT);
      if (got < 0 && IsPassing(errno)) continue;
      begin_ = 0;
      end_ = got > 0 ? static_cast<size_t>(got) : 0;
      return got;
    }
    return -1;
  }

  const int socket_;
  const ConnectionLimits& limits_;
  absl::Time deadline_ = absl::InfinitePast();
  size_t left_ = 0;
  char buffer_[4096];
  size_t begin_ = 0;  // of what buffer_ holds
  size_t end_ = 0;
};

}  // namespace

bool BoundedServer::process_and_close_socket(socket_t socket) {
  BoundedStream stream(socket, limits_);
  const auto has_request = [&] {
    const absl::Time until = Clock::Real().Monotonic() + limits_.idle;
    while (svr_sock_ != INVALID_SOCKET && Clock::Real().Monotonic() < until) {
      if (stream.HasInput(kSlice)) return true;
    }
    return false;
  };
  bool served = true;
  for (int left = limits_.requests; served && left > 0 && has_request(); --left) {
    stream.BeginRequest();
    bool closed = false;
    served = process_request(stream, /*close_connection=*/left == 1, closed, nullptr);
    if (closed) break;
  }
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return served;
}

}  // namespace muster::control
