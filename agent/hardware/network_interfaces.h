#ifndef MUSTER_AGENT_HARDWARE_NETWORK_INTERFACES_H_
#define MUSTER_AGENT_HARDWARE_NETWORK_INTERFACES_H_

#include <string>
#include <vector>

namespace muster::agent {

// An address of a network interface that is up.
struct InterfaceAddress {
  std::string interface;  // "eth0"
  std::string address;    // numeric, IPv4 or IPv6 without a zone
  bool loopback = false;
};

// Returns the addresses of the interfaces that this process sees; none if they cannot be read.
std::vector<InterfaceAddress> ReadInterfaceAddresses();

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_NETWORK_INTERFACES_H_
