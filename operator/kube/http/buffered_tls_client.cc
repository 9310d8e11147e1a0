#include "operator/kube/http/buffered_tls_client.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "base/clock.h"

namespace muster::kube {
namespace {

// The largest payload of a TLS record.
constexpr size_t kRecord = 16 << 10;
// The shortest connection timeout: httplib treats zero as no wait at all.
constexpr absl::Duration kShortestWait = absl::Milliseconds(1);

struct WaitLimit {
  time_t seconds;
  time_t microseconds;

  int Milliseconds() const {
    const int64_t all = int64_t{seconds} * 1000 + (microseconds + 999) / 1000;
    return static_cast<int>(std::clamp<int64_t>(all, 0, INT_MAX));
  }
};

class BufferedTlsStream final : public httplib::Stream {
 public:
  BufferedTlsStream(SSL* ssl, socket_t socket, WaitLimit read, WaitLimit write, absl::Time deadline)
      : ssl_(ssl), socket_(socket), read_limit_(read), write_limit_(write), deadline_(deadline) {}

  bool is_readable() const override {
    return begin_ < end_ || SSL_pending(ssl_) > 0 || Wait(POLLIN, read_limit_);
  }
  // Writes are buffered; an error of the socket shows up when the buffer is sent.
  bool is_writable() const override { return !broken_; }

  ssize_t read(char* to, size_t size) override {
    if (begin_ == end_ && !Fill()) return ended_ ? 0 : -1;
    const size_t taken = std::min(size, end_ - begin_);
    std::memcpy(to, in_.data() + begin_, taken);
    begin_ += taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* data, size_t size) override {
    if (broken_) return -1;
    out_.append(data, size);
    if (out_.size() >= kRecord && !Flush()) return -1;
    return static_cast<ssize_t>(size);
  }

  // Not needed by a client.
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  bool Wait(short what, WaitLimit limit) const {
    pollfd wanted{socket_, what, 0};
    int ready = 0;
    do {
      const absl::Duration left =
          std::min(deadline_ - Clock::Real().Monotonic(), absl::Duration(absl::Hours(24)));
      if (left <= absl::ZeroDuration()) return false;
      const int64_t wait =
          std::min<int64_t>(limit.Milliseconds(), absl::ToInt64Milliseconds(left) + 1);
      ready = poll(&wanted, 1, static_cast<int>(wait));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
  }

  bool Fill() {
    if (!Flush()) return false;
    // The deadline holds for half a record as well, so there is a wait after each one.
    while (SSL_pending(ssl_) > 0 || Wait(POLLIN, read_limit_)) {
      const int got = SSL_read(ssl_, in_.data(), static_cast<int>(in_.size()));
      if (got > 0) {
        begin_ = 0;
        end_ = static_cast<size_t>(got);
        return true;
      }
      const int why = SSL_get_error(ssl_, got);
      if (why == SSL_ERROR_WANT_READ) continue;  // a record that holds no data, or half of one
      ended_ = why == SSL_ERROR_ZERO_RETURN;
      return false;
    }
    return false;
  }

  bool Flush() {
    for (size_t sent = 0; sent < out_.size() && !broken_;) {
      const size_t size = std::min(out_.size() - sent, kRecord);
      broken_ = !Wait(POLLOUT, write_limit_);
      const int put = broken_ ? 0 : SSL_write(ssl_, out_.data() + sent, static_cast<int>(size));
      if (put > 0) sent += static_cast<size_t>(put);
      broken_ = broken_ || (put <= 0 && SSL_get_error(ssl_, put) != SSL_ERROR_WANT_WRITE);
    }
    out_.clear();
    return !broken_;
  }

  SSL* const ssl_;
  const socket_t socket_;
  const WaitLimit read_limit_;
  const WaitLimit write_limit_;
  const absl::Time deadline_;
  std::array<char, kRecord> in_;
  size_t begin_ = 0;  // of the bytes read but not yet taken
  size_t end_ = 0;
  std::string out_;
  bool ended_ = false;   // the server closed the connection cleanly
  bool broken_ = false;  // buffered bytes could not be sent
};

// Keeps a socket non-blocking while it exists, so that OpenSSL's calls never wait: the stream waits
// instead, within its own limits.
class NonBlocking {
 public:
  explicit NonBlocking(socket_t socket) : socket_(socket), before_(fcntl(socket, F_GETFL)) {
    if (before_ >= 0) fcntl(socket_, F_SETFL, before_ | O_NONBLOCK);
  }
  ~NonBlocking() {
    if (before_ >= 0) fcntl(socket_, F_SETFL, before_);
  }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  const socket_t socket_;
  const int before_;
};

}  // namespace

bool BufferedTlsClient::process_socket(const Socket& socket,
                                       std::function<bool(httplib::Stream& stream)> callback) {
  const NonBlocking socket_mode(socket.sock);
  BufferedTlsStream stream(socket.ssl, socket.sock, {read_timeout_sec_, read_timeout_usec_},
                           {write_timeout_sec_, write_timeout_usec_}, deadline_);
  return exchange_ != nullptr ? exchange_(stream) : callback(stream);
}

bool BufferedTlsClient::create_and_connect_socket(Socket& socket, httplib::Error& error) {
  const absl::Duration limit =
      absl::Seconds(connection_timeout_sec_) + absl::Microseconds(connection_timeout_usec_);
  const absl::Time deadline = std::min(deadline_, Clock::Real().Monotonic() + limit);
  const absl::StatusOr<int> dialled = dial_(deadline);
  dialled_ = dialled.status();
  if (!dialled.ok()) {
    const bool late = absl::IsDeadlineExceeded(dialled_);
    error = late ? httplib::Error::ConnectionTimeout : httplib::Error::Connection;
    return false;
  }
  socket.sock = *dialled;
  // The TLS handshake gets the rest of the time.
  const absl::Duration left = std::max(deadline - Clock::Real().Monotonic(), kShortestWait);
  set_connection_timeout(absl::ToChronoMicroseconds(left));
  return true;
}

bool BufferedTlsClient::Exchange(const std::function<HttpRequest()>& request, HttpAnswer& answer,
                                 httplib::Error& error) {
  exchange_ = [&](httplib::Stream& stream) {
    const bool whole = kube::Exchange(stream, request(), answer);
    if (whole && !answer.keeps_connection) stop();  // it is closed when the call has ended
    return whole;
  };
  httplib::Request unused;
  httplib::Response nothing;
  const bool whole = send(unused, nothing, error);
  exchange_ = nullptr;
  return whole;
}

}  // namespace muster::kube
