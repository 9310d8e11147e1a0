#include "agent/hardware/network_interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <memory>

namespace muster::agent {
namespace {

// Returns an empty string for an address that is neither IPv4 nor IPv6.
std::string NumericAddress(const sockaddr* address) {
  if (address == nullptr) return "";
  const bool ipv4 = address->sa_family == AF_INET;
  if (!ipv4 && address->sa_family != AF_INET6) return "";
  char text[NI_MAXHOST];
  const socklen_t size = ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  const std::string numeric = text;
  return numeric.substr(0, numeric.find('%'));
}

}  // namespace

std::vector<InterfaceAddress> ReadInterfaceAddresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const std::string address = NumericAddress(one->ifa_addr);
    if (address.empty() || (one->ifa_flags & IFF_UP) == 0) continue;
    addresses.push_back({one->ifa_name, address, (one->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return addresses;
}

}  // namespace muster::agent
