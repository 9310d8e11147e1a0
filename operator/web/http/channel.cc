#include "operator/web/http/channel.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace muster::control {
namespace {

bool IsPassing(int error) { return error == EINTR || error == EAGAIN || error == EWOULDBLOCK; }

class Plain final : public Channel {
 public:
  explicit Plain(int socket) : socket_(socket) {}
  ~Plain() override { ::close(socket_); }

  Moved Handshake() override { return Moved::kSome; }
  Moved Read(char* to, size_t size, size_t& got) override {
    const ssize_t n = ::recv(socket_, to, size, MSG_DONTWAIT);
    got = n > 0 ? static_cast<size_t>(n) : 0;
    if (n > 0) return Moved::kSome;
    return n < 0 && IsPassing(errno) ? Moved::kWantRead : Moved::kClosed;
  }
  Moved Write(std::string_view bytes, size_t& sent) override {
    const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    sent = n > 0 ? static_cast<size_t>(n) : 0;
    if (n >= 0) return Moved::kSome;
    return IsPassing(errno) ? Moved::kWantWrite : Moved::kClosed;
  }
  void EndWriting() override { ::shutdown(socket_, SHUT_WR); }
  int socket() const override { return socket_; }

 private:
  const int socket_;
};

class Tls final : public Channel {
 public:
  // Must be given a non-blocking socket, so that OpenSSL's calls do not block either.
  Tls(SSL* ssl, int socket) : ssl_(ssl), socket_(socket) {
    SSL_set_fd(ssl_, socket_);
    SSL_set_accept_state(ssl_);
  }
  ~Tls() override {
    SSL_free(ssl_);
    ::close(socket_);
  }

  Moved Handshake() override {
    ERR_clear_error();
    return Outcome(SSL_do_handshake(ssl_));
  }
  Moved Read(char* to, size_t size, size_t& got) override {
    got = 0;
    ERR_clear_error();
    return Outcome(SSL_read_ex(ssl_, to, size, &got));
  }
  Moved Write(std::string_view bytes, size_t& sent) override {
    sent = 0;
    ERR_clear_error();
    return Outcome(SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent));
  }
  void EndWriting() override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_) != 0) SSL_shutdown(ssl_);
    ::shutdown(socket_, SHUT_WR);
  }
  int socket() const override { return socket_; }

 private:
  Moved Outcome(int result) {
    if (result > 0) return Moved::kSome;
    switch (SSL_get_error(ssl_, result)) {
      case SSL_ERROR_WANT_READ:
        return Moved::kWantRead;
      case SSL_ERROR_WANT_WRITE:
        return Moved::kWantWrite;
      default:
        return Moved::kClosed;
    }
  }

  SSL* const ssl_;
  const int socket_;
};

using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

Bio Memory(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
}

// Uses the first certificate and the chain that follows it.
bool UseCertificates(SSL_CTX* context, const std::string& pem) {
  const Bio bio = Memory(pem);
  X509* const leaf = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr);
  if (leaf == nullptr) return false;
  const bool used = SSL_CTX_use_certificate(context, leaf) == 1;
  X509_free(leaf);
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) != 1) X509_free(next);
  }
  ERR_clear_error();  // the error at the end of the text
  return used;
}

bool UseKey(SSL_CTX* context, const std::string& pem) {
  const Bio bio = Memory(pem);
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr);
  if (key == nullptr) return false;
  const bool used = SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  return used && SSL_CTX_check_private_key(context) == 1;
}

}  // namespace

std::unique_ptr<Channel> PlainChannel(int socket) { return std::make_unique<Plain>(socket); }

absl::Status TlsAcceptor::Renew() {
  MUSTER_ASSIGN_OR_RETURN(TlsKeyPair pair, keys_());
  if (context_ != nullptr && pair.certificate_pem == current_.certificate_pem &&
      pair.key_pem == current_.key_pem) {
    return absl::OkStatus();
  }
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context == nullptr) return absl::InternalError("OpenSSL could not create a TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (!UseCertificates(context.get(), pair.certificate_pem) ||
      !UseKey(context.get(), pair.key_pem)) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "the certificate and key to serve HTTP with must be PEM and fit each other");
  }
  context_ = context;
  current_ = std::move(pair);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Channel>> TlsAcceptor::Accept(int socket) {
  const absl::Status renewed = Renew();
  SSL* ssl = nullptr;
  if (context_ != nullptr) ssl = SSL_new(static_cast<SSL_CTX*>(context_.get()));
  // An older pair is used while a newer one is not available.
  if (ssl == nullptr) {
    ::close(socket);
    return renewed.ok() ? absl::InternalError("OpenSSL could not create a TLS connection")
                        : renewed;
  }
  return std::make_unique<Tls>(ssl, socket);
}

}  // namespace muster::control
