#ifndef MUSTER_BASE_HOST_PORT_H_
#define MUSTER_BASE_HOST_PORT_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace muster {

// Returns "host:port" as URLs and gRPC read it: a host that is an IPv6 address has brackets.
template <typename Port>
std::string HostAndPort(const std::string& host, const Port& port) {
  const bool v6 = host.find(':') != std::string::npos;
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

}  // namespace muster

#endif  // MUSTER_BASE_HOST_PORT_H_
