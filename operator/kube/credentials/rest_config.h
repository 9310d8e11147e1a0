#ifndef MUSTER_OPERATOR_KUBE_CREDENTIALS_REST_CONFIG_H_
#define MUSTER_OPERATOR_KUBE_CREDENTIALS_REST_CONFIG_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace muster::kube {

// A program that hands out credentials: client.authentication.k8s.io/v1.
struct ExecPlugin {
  std::string api_version;
  std::vector<std::string> argv;  // a relative path with a slash is made absolute already
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's own
  std::string install_hint;
  bool provide_cluster_info = false;
};

// PEM text, or the path of a file with it that is read again when it changes. The text wins.
struct PemSource {
  std::string pem;
  std::string file;
  bool empty() const { return pem.empty() && file.empty(); }
};

// Which API server to speak to, and as whom. Filled by LoadKubeconfig or InClusterConfig
// (kubeconfig.h). A value; holds secrets: never print it.
struct RestConfig {
  std::string server;           // "https://host:port/prefix"; nothing but https
  std::string tls_server_name;  // what its certificate must be for; empty: the host of `server`
  PemSource ca;                 // empty: the machine's roots

  // At most one of: a token, a file with one (read again when it changes), a plugin. A client
  // certificate may come with any.
  PemSource client_certificate;
  PemSource client_key;
  std::string token;
  std::string token_file;
  std::optional<ExecPlugin> exec;

  // "http://[user:password@]host:port", which connections go through (CONNECT); empty: none.
  std::string proxy;
  // Asks for answers as gzip, which servers then give for large ones: of use where the network is
  // slower than both sides' zlib. What comes so is read in any case.
  bool gzip = false;

  std::string name_space;  // the context's; "default" when it names none
  std::string user_agent = "muster";

  // Requests a second on average, and at once. 0: no limit.
  double qps = 500;
  int burst = 1000;
  // Connections for calls; each watch has one more. A call waits for a free one within its time.
  int max_connections = 32;
  size_t max_response_bytes = size_t{64} << 20;
  absl::Duration connect_timeout = absl::Seconds(5);
  // A watch is asked to end by itself after this (less up to a fifth), and is given up when nothing
  // was heard for longer: so a silent one is remade within 60 s.
  absl::Duration watch_lifetime = absl::Seconds(50);
  absl::Duration watch_silence = absl::Seconds(55);
  // Kubernetes' own types as protobuf where only some of their fields are asked for, and pods and
  // bindings that are made, too: a fraction of the bytes and of both sides' time. Off: JSON
  // throughout.
  bool protobuf = true;
  // What one watch may hold for a consumer that is slow; beyond it the socket is left unread.
  size_t watch_buffer_bytes = size_t{4} << 20;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CREDENTIALS_REST_CONFIG_H_
