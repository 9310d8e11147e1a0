#include "operator/kube/http/tls_test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"

namespace muster::kube {
namespace {

std::string Drained(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

X509* ReadCertificate(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return certificate;
}

EVP_PKEY* ReadKey(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return key;
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Removes and returns the first request in `buffer` if it is complete.
std::optional<std::string> TakeRequest(std::string& buffer) {
  const size_t head = buffer.find("\r\n\r\n");
  if (head == std::string::npos) return std::nullopt;
  size_t size = head + 4;
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t length = buffer.find(kLength);
  if (length < head) size += std::strtoul(buffer.c_str() + length + kLength.size(), nullptr, 10);
  if (buffer.size() < size) return std::nullopt;
  std::string request = buffer.substr(0, size);
  buffer.erase(0, size);
  return request;
}

}  // namespace

TestCertificate MakeTestCertificate(const TestCertificate* issuer,
                                    const std::string& alternative_names,
                                    absl::Duration valid_for) {
  static std::atomic<int> serial{1};
  const int number = ++serial;
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), number);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -86'400);
  X509_gmtime_adj(X509_getm_notAfter(certificate), absl::ToInt64Seconds(valid_for));
  X509_set_pubkey(certificate, key);
  const std::string name = absl::StrCat("test ", number);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* parent = issuer == nullptr ? certificate : ReadCertificate(issuer->certificate);
  EVP_PKEY* parent_key = issuer == nullptr ? key : ReadKey(issuer->key);
  X509_set_issuer_name(certificate, X509_get_subject_name(parent));
  if (alternative_names.empty()) {
    AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  } else {
    AddExtension(certificate, NID_subject_alt_name, alternative_names);
  }
  X509_sign(certificate, parent_key, EVP_sha256());
  BIO* text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(text, certificate);
  BIO* key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  if (issuer != nullptr) X509_free(parent);
  if (issuer != nullptr) EVP_PKEY_free(parent_key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {Drained(text), Drained(key_text)};
}

bool TlsTestServer::Peer::Write(std::string_view bytes) {
  return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

bool TlsTestServer::Peer::Answer(int code, std::string_view body, std::string_view headers) {
  return Write(absl::StrCat("HTTP/1.1 ", code, " X\r\nContent-Type: application/json\r\n",
                            std::string(headers), "Content-Length: ", body.size(), "\r\n\r\n",
                            std::string(body)));
}

bool TlsTestServer::Peer::Chunk(std::string_view bytes) {
  return Write(absl::StrCat(absl::Hex(bytes.size()), "\r\n", std::string(bytes), "\r\n"));
}

void TlsTestServer::Peer::WaitForClose() {
  char byte;
  while (SSL_read(ssl_, &byte, 1) > 0) {
  }
}

TlsTestServer::TlsTestServer(const TestCertificate& certificate, Handler handler,
                             const std::string& client_authority, int max_version)
    : handler_(std::move(handler)), context_(SSL_CTX_new(TLS_server_method())) {
  std::signal(SIGPIPE, SIG_IGN);
  X509* x509 = ReadCertificate(certificate.certificate);
  EVP_PKEY* key = ReadKey(certificate.key);
  SSL_CTX_use_certificate(context_, x509);
  SSL_CTX_use_PrivateKey(context_, key);
  X509_free(x509);
  EVP_PKEY_free(key);
  if (max_version != 0) {
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_min_proto_version(context_, max_version);
    SSL_CTX_set_max_proto_version(context_, max_version);
  }
  if (!client_authority.empty()) {
    X509* authority = ReadCertificate(client_authority);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority);
    X509_free(authority);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  listen(listener_, 64);
  socklen_t size = sizeof(address);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  accepter_ = std::thread([this] { Accept(); });
}

TlsTestServer::~TlsTestServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  accepter_.join();
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  close(listener_);
  SSL_CTX_free(context_);
}

std::string TlsTestServer::Url() const { return absl::StrCat("https://127.0.0.1:", port_); }

void TlsTestServer::Accept() {
  while (!stopping_) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    MutexLock lock(mu_);
    sockets_.insert(socket);
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void TlsTestServer::Serve(int socket) {
  SSL* ssl = SSL_new(context_);
  SSL_set_fd(ssl, socket);
  if (SSL_accept(ssl) == 1) {
    ++connections_;
    Peer peer(ssl);
    std::string buffer;
    char chunk[4096];
    bool open = true;
    while (open) {
      if (const std::optional<std::string> request = TakeRequest(buffer)) {
        open = handler_(*request, peer);
        continue;
      }
      const int got = SSL_read(ssl, chunk, sizeof(chunk));
      if (got <= 0) break;
      buffer.append(chunk, static_cast<size_t>(got));
    }
    ERR_clear_error();
    SSL_shutdown(ssl);
  }
  SSL_free(ssl);
  ERR_clear_error();
  MutexLock lock(mu_);
  sockets_.erase(socket);
  close(socket);
}

}  // namespace muster::kube
