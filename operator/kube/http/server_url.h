#ifndef MUSTER_OPERATOR_KUBE_HTTP_SERVER_URL_H_
#define MUSTER_OPERATOR_KUBE_HTTP_SERVER_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace muster::kube {

struct ServerUrl {
  std::string host;  // an IPv6 address has no brackets
  int port = 443;
  std::string prefix;  // "" or "/path" without a trailing slash
};

// Parses "https://host[:port][/prefix]". Anything else is kInvalidArgument with an explanation.
// Pure.
absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view url);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_SERVER_URL_H_
