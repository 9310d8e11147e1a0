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

// What came of an attempt to move bytes without waiting.
enum class Moved {
  kSome,       // go on
  kWantRead,   // again when the socket can be read
  kWantWrite,  // again when it can be written
  kClosed,     // the connection is over
};

// The bytes of one accepted connection, plain or over TLS. Never waits. Closes the socket at its
// end. One thread.
class Channel {
 public:
  virtual ~Channel() = default;
  // kSome: the other side may be spoken to.
  virtual Moved Handshake() = 0;
  virtual Moved Read(char* to, size_t size, size_t& got) = 0;
  virtual Moved Write(std::string_view bytes, size_t& sent) = 0;
  // Tells the other side that nothing more comes.
  virtual void EndWriting() = 0;
  // To wait for.
  virtual int socket() const = 0;
};

// A server's certificate, chain behind it, and its private key.
struct TlsKeyPair {
  std::string certificate_pem;
  std::string key_pem;
};
// The pair to serve with now; asked at each connection. Thread-safe.
using TlsKeys = std::function<absl::StatusOr<TlsKeyPair>()>;

std::unique_ptr<Channel> PlainChannel(int socket);

// Makes TLS channels (1.2 or newer), with the newest pair. One thread.
class TlsAcceptor {
 public:
  explicit TlsAcceptor(TlsKeys keys) : keys_(std::move(keys)) {}

  // Takes the socket. An error: there is no pair, or it is none.
  absl::StatusOr<std::unique_ptr<Channel>> Accept(int socket);

 private:
  absl::Status Renew();

  const TlsKeys keys_;
  TlsKeyPair current_;
  std::shared_ptr<void> context_;  // an SSL_CTX
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_CHANNEL_H_
