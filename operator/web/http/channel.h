#ifndef MUSTER_OPERATOR_WEB_HTTP_CHANNEL_H_
#define MUSTER_OPERATOR_WEB_HTTP_CHANNEL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::control {

// The result of an attempt to move bytes without blocking.
enum class Moved {
  kSome,       // go on
  kWantRead,   // try again when the socket is readable
  kWantWrite,  // try again when the socket is writable
  kClosed,     // the connection is over
};

// The byte stream of one accepted connection, plain or over TLS. Never blocks. Closes the socket
// when destroyed. Used by one thread.
class Channel {
 public:
  virtual ~Channel() = default;
  // Returns kSome when the handshake is complete.
  virtual Moved Handshake() = 0;
  virtual Moved Read(char* to, size_t size, size_t& got) = 0;
  virtual Moved Write(std::string_view bytes, size_t& sent) = 0;
  // Signals the end of the output to the peer.
  virtual void EndWriting() = 0;
  // Returns the socket to poll.
  virtual int socket() const = 0;
};

// A server's certificate, followed by its chain, and its private key.
struct TlsKeyPair {
  std::string certificate_pem;
  std::string key_pem;
};
// Returns the current pair; called for each connection. Thread-safe.
using TlsKeys = std::function<absl::StatusOr<TlsKeyPair>()>;

std::unique_ptr<Channel> PlainChannel(int socket);

// Makes TLS channels (1.2 or newer) with the newest pair. Used by one thread.
class TlsAcceptor {
 public:
  explicit TlsAcceptor(TlsKeys keys) : keys_(std::move(keys)) {}

  // Takes ownership of the socket. Fails if no valid pair has been available so far.
  absl::StatusOr<std::unique_ptr<Channel>> Accept(int socket);

 private:
  absl::Status Renew();

  const TlsKeys keys_;
  TlsKeyPair current_;
  std::shared_ptr<void> context_;  // an SSL_CTX
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_CHANNEL_H_
