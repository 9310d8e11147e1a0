#ifndef MUSTER_OPERATOR_KUBE_CREDENTIALS_REST_CONFIG_H_
#define MUSTER_OPERATOR_KUBE_CREDENTIALS_REST_CONFIG_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace muster::kube {

// A program that prints credentials: client.authentication.k8s.io/v1.
struct ExecPlugin {
  std::string api_version;
  std::vector<std::string> argv;  // a relative path with a slash is already made absolute
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's environment
  std::string install_hint;
  bool provide_cluster_info = false;
};

// PEM text, or the path of a PEM file that is read again when it changes. The text takes
// precedence.
struct PemSource {
  std::string pem;
  std::string file;
  bool empty() const { return pem.empty() && file.empty(); }
};

// The address of an API server and the credentials to use. Filled by LoadKubeconfig or
// InClusterConfig (kubeconfig.h). A value; it holds secrets, so never print it.
struct RestConfig {
  std::string server;           // "https://host:port/prefix"; only https
  std::string tls_server_name;  // name in its certificate; empty: the host of `server`
  PemSource ca;                 // empty: the machine's trusted roots

  // `token`, `token_file` (read again when it changes) and `exec` exclude each other. A client
  // certificate may accompany any of them.
  PemSource client_certificate;
  PemSource client_key;
  std::string token;
  std::string token_file;
  std::optional<ExecPlugin> exec;

  // The proxy for all connections (CONNECT), as "http://[user:password@]host:port"; empty: none.
  std::string proxy;
  // Accepts gzip answers, which servers then use for large ones. Worthwhile if the network is
  // slower than zlib on both sides. A gzip answer is decoded in any case.
  bool gzip = false;

  std::string user;        // its name in the kubeconfig; empty within a pod
  std::string name_space;  // the context's; "default" when it names none
  std::string user_agent = "muster";

  // Limits requests to `qps` a second on average and to `burst` at once. A `qps` of 0 means no
  // limit.
  double qps = 500;
  int burst = 1000;
  // Connections for calls; each watch has one more. A call waits for a free one within its timeout.
  int max_connections = 32;
  size_t max_response_bytes = size_t{64} << 20;
  absl::Duration connect_timeout = absl::Seconds(5);
  // The server is asked to end a watch after `watch_lifetime` (less up to a fifth). A watch is
  // abandoned after `watch_silence` without data, so a dead one is replaced within 60 s.
  absl::Duration watch_lifetime = absl::Seconds(50);
  absl::Duration watch_silence = absl::Seconds(55);
  // Reads Kubernetes' own types as protobuf when only some of their fields are requested, and
  // creates pods and bindings as protobuf: a fraction of the bytes and of the time on both sides.
  // If false, everything is JSON.
  bool protobuf = true;
  // Bytes that one watch may buffer for a slow consumer; beyond that the socket is left unread.
  size_t watch_buffer_bytes = size_t{4} << 20;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CREDENTIALS_REST_CONFIG_H_
