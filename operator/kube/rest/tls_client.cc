#include "operator/kube/rest/tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/http/buffered_tls_client.h"
#include "operator/kube/http/dialer.h"
#include "operator/kube/http/proxy.h"

namespace muster::kube {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* value) const {
    Free(value);
  }
};
using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Deleter<X509_free>>;

absl::StatusOr<std::vector<CertificatePtr>> ReadCertificates(const std::string& pem,
                                                             const std::string& what) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<CertificatePtr> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(certificate);
  }
  ERR_clear_error();
  if (!certificates.empty()) return certificates;
  return absl::InvalidArgumentError(absl::StrCat("the ", what, " contains no PEM certificate"));
}

absl::StatusOr<KeyPtr> ReadKey(const std::string& pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // OpenSSL's own callback would ask for a pass phrase; this one rejects encrypted keys.
  const auto none = [](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, none, nullptr));
  ERR_clear_error();
  if (key != nullptr) return key;
  return absl::InvalidArgumentError("the client key is not an unencrypted PEM private key");
}

bool IsAddress(const std::string& host) {
  in6_addr scratch;
  return inet_pton(AF_INET, host.c_str(), &scratch) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &scratch) == 1;
}

// The destination of a connection.
struct Route {
  ServerUrl server;
  std::optional<ProxyServer> proxy;
};

absl::StatusOr<int> DialServer(const Route& route, absl::Time deadline) {
  const std::string& host = route.proxy.has_value() ? route.proxy->host : route.server.host;
  const int port = route.proxy.has_value() ? route.proxy->port : route.server.port;
  MUSTER_ASSIGN_OR_RETURN(const std::vector<SocketAddress> addresses, ResolveHost(host, port));
  const absl::StatusOr<int> socket = DialAny(addresses, deadline);
  if (!route.proxy.has_value()) return socket;
  if (!socket.ok()) {
    return absl::Status(socket.status().code(), absl::StrCat("the proxy ", host, ":", port, ": ",
                                                             socket.status().message()));
  }
  if (absl::Status opened = OpenTunnel(*socket, *route.proxy, route.server, deadline);
      !opened.ok()) {
    close(*socket);
    return opened;
  }
  return socket;
}

absl::Status Trust(httplib::SSLClient& client, const std::string& ca) {
  if (ca.empty()) return absl::OkStatus();  // httplib loads the machine's roots
  MUSTER_ASSIGN_OR_RETURN(const std::vector<CertificatePtr> roots,
                          ReadCertificates(ca, "certificate authority"));
  X509_STORE* store = X509_STORE_new();
  for (const CertificatePtr& root : roots) X509_STORE_add_cert(store, root.get());
  client.set_ca_cert_store(store);
  // If it is given neither a CA file nor a directory, httplib adds the machine's roots to the
  // store.
  client.set_ca_cert_path("", "/dev/null");
  return absl::OkStatus();
}

absl::Status Identify(SSL_CTX* context, const std::string& name) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  X509_VERIFY_PARAM* check = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = IsAddress(name) ? X509_VERIFY_PARAM_set1_ip_asc(check, name.c_str())
                                  : X509_VERIFY_PARAM_set1_host(check, name.c_str(), name.size());
  if (set == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not a valid server name"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<httplib::SSLClient>> MakeTlsClient(const RestConfig& config,
                                                                  const ServerUrl& server,
                                                                  const Credentials& credentials) {
  const std::string& name = config.tls_server_name.empty() ? server.host : config.tls_server_name;
  Route route{server, std::nullopt};
  if (!config.proxy.empty()) {
    MUSTER_ASSIGN_OR_RETURN(route.proxy, ParseProxyUrl(config.proxy));
  }
  std::vector<CertificatePtr> chain;
  KeyPtr key;
  if (!credentials.client_certificate.empty()) {
    MUSTER_ASSIGN_OR_RETURN(chain,
                            ReadCertificates(credentials.client_certificate, "client certificate"));
    MUSTER_ASSIGN_OR_RETURN(key, ReadKey(credentials.client_key));
    if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
      ERR_clear_error();
      return absl::InvalidArgumentError("the client key does not belong to the client certificate");
    }
  }
  std::unique_ptr<BufferedTlsClient> client =
      chain.empty()
          ? std::make_unique<BufferedTlsClient>(name, server.port)
          : std::make_unique<BufferedTlsClient>(name, server.port, chain[0].get(), key.get());
  if (!client->is_valid()) return absl::InternalError("OpenSSL could not create a TLS context");
  for (size_t i = 1; i < chain.size(); ++i) {
    SSL_CTX_add1_chain_cert(client->ssl_context(), chain[i].get());
  }
  MUSTER_RETURN_IF_ERROR(Trust(*client, credentials.ca));
  MUSTER_RETURN_IF_ERROR(Identify(client->ssl_context(), name));
  client->set_dial(
      [route = std::move(route)](absl::Time deadline) { return DialServer(route, deadline); });
  client->enable_server_certificate_verification(true);
  client->set_keep_alive(true);
  client->set_url_encode(false);  // targets are already escaped
  return client;
}

void SetTimeouts(httplib::SSLClient& client, absl::Duration connect, absl::Duration transfer) {
  client.set_connection_timeout(absl::ToChronoMicroseconds(connect));
  client.set_read_timeout(absl::ToChronoMicroseconds(transfer));
  client.set_write_timeout(absl::ToChronoMicroseconds(transfer));
}

void SetDeadline(httplib::SSLClient& client, absl::Time deadline) {
  static_cast<BufferedTlsClient&>(client).set_deadline(deadline);  // as MakeTlsClient made it
}

bool Exchange(httplib::SSLClient& client, const std::function<HttpRequest()>& request,
              HttpAnswer& answer, httplib::Error& error) {
  return static_cast<BufferedTlsClient&>(client).Exchange(request, answer, error);
}

std::string ConnectFailure(const httplib::SSLClient& client, httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return std::string(static_cast<const BufferedTlsClient&>(client).dialled().message());
    case httplib::Error::SSLConnection:
      return "the TLS handshake failed (TLS 1.2 or later is required)";
    case httplib::Error::SSLServerVerification: {
      const long why = client.get_openssl_verify_result();
      if (why == X509_V_OK) return "its certificate is refused: it is for another name";
      return absl::StrCat("its certificate is refused: ", X509_verify_cert_error_string(why));
    }
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::BindIPAddress:
      return "the connection could not be prepared";
    default:
      return "";
  }
}

}  // namespace muster::kube
