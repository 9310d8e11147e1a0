#ifndef MUSTER_OPERATOR_KUBE_HTTP_TLS_TEST_SERVER_H_
#define MUSTER_OPERATOR_KUBE_HTTP_TLS_TEST_SERVER_H_

#include <openssl/ssl.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace muster::kube {

// A certificate with its key, PEM.
struct TestCertificate {
  std::string certificate;
  std::string key;
};

// Makes a certificate. `alternative_names` has OpenSSL's configuration syntax
// ("IP:127.0.0.1,DNS:a"); empty makes an authority. A null `issuer` means self-signed. Valid from a
// day ago to `valid_for` from now.
TestCertificate MakeTestCertificate(const TestCertificate* issuer,
                                    const std::string& alternative_names,
                                    absl::Duration valid_for = absl::Hours(1));

// A TLS server on 127.0.0.1 that a test scripts: the handler receives each request, head and body,
// and writes raw bytes. Each connection has its own thread.
class TlsTestServer {
 public:
  class Peer {
   public:
    explicit Peer(SSL* ssl) : ssl_(ssl) {}
    // Returns false if the peer is gone.
    bool Write(std::string_view bytes);
    // Writes a complete answer.
    bool Answer(int code, std::string_view body, std::string_view headers = "");
    // Writes one chunk of a body that was begun with kChunked.
    bool Chunk(std::string_view bytes);
    // Waits until the peer closes the connection.
    void WaitForClose();

   private:
    SSL* const ssl_;
  };
  // Returns false to close the connection.
  using Handler = std::function<bool(const std::string& request, Peer& peer)>;
  static constexpr char kChunked[] =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

  // If `client_authority` (PEM) is not empty, a client must present a certificate that it signed.
  TlsTestServer(const TestCertificate& certificate, Handler handler,
                const std::string& client_authority = "", int max_version = 0);
  ~TlsTestServer();

  std::string Url() const;
  int connections() const { return connections_; }

 private:
  void Accept();
  void Serve(int socket);

  const Handler handler_;
  SSL_CTX* context_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  std::set<int> sockets_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::thread> threads_ MUSTER_GUARDED_BY(mu_);
  std::thread accepter_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_TLS_TEST_SERVER_H_
