#ifndef MUSTER_OPERATOR_WEB_HTTP_HTTP_CLIENT_H_
#define MUSTER_OPERATOR_WEB_HTTP_HTTP_CLIENT_H_

#include <sys/socket.h>

#include <memory>
#include <string>

#include "base/net/unix_socket.h"
#include "httplib.h"

namespace muster::control {

// Returns a client of an operator's HTTP server on this machine, at "unix:/path" or "host:port",
// without TLS.
inline std::unique_ptr<httplib::Client> MakeHttpClient(const std::string& address) {
  if (!IsUnixAddress(address)) return std::make_unique<httplib::Client>("http://" + address);
  auto client = std::make_unique<httplib::Client>(UnixPath(address));
  client->set_address_family(AF_UNIX);
  client->set_default_headers({{"Host", "localhost"}});
  return client;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_HTTP_CLIENT_H_
