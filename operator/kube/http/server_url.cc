#include "operator/kube/http/server_url.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::kube {
namespace {

constexpr std::string_view kScheme = "https://";

absl::Status Bad(std::string_view url, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", std::string(url), "\" ", std::string(why)));
}

}  // namespace

absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view url) {
  if (url.substr(0, kScheme.size()) != kScheme) {
    return Bad(url, "must start with https://: connections are always encrypted and verified");
  }
  std::string_view rest = url.substr(kScheme.size());
  if (rest.find_first_of("?#@ \t\r\n") != rest.npos) {
    return Bad(url, "must be no more than https://host:port/path");
  }
  ServerUrl server;
  if (const size_t slash = rest.find('/'); slash != rest.npos) {
    server.prefix = rest.substr(slash);
    rest = rest.substr(0, slash);
    while (!server.prefix.empty() && server.prefix.back() == '/') server.prefix.pop_back();
  }
  std::string_view port;
  if (!rest.empty() && rest.front() == '[') {
    const size_t end = rest.find(']');
    if (end == rest.npos) return Bad(url, "has a [ without a ]");
    server.host = rest.substr(1, end - 1);
    rest = rest.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return Bad(url, "has text after the address");
    if (!rest.empty()) port = rest.substr(1);
  } else {
    const size_t colon = rest.find(':');
    server.host = rest.substr(0, colon);
    if (colon != rest.npos) port = rest.substr(colon + 1);
    if (port.find(':') != port.npos) return Bad(url, "has an IPv6 address without brackets");
  }
  if (server.host.empty()) return Bad(url, "names no host");
  if (!port.empty() && (!absl::SimpleAtoi(std::string(port), &server.port) || server.port < 1 ||
                        server.port > 65535)) {
    return Bad(url, "has no valid port");
  }
  return server;
}

}  // namespace muster::kube
