#include "agent/hardware/network_interfaces.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

TEST(NetworkInterfacesTest, TheLoopbackOfThisMachineIsAmongThem) {
  const std::vector<InterfaceAddress> all = ReadInterfaceAddresses();
  const auto found = std::find_if(all.begin(), all.end(), [](const InterfaceAddress& one) {
    return one.address == "127.0.0.1";
  });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->interface, "lo");
  EXPECT_TRUE(found->loopback);
}

TEST(NetworkInterfacesTest, NoAddressHasAZone) {
  for (const InterfaceAddress& one : ReadInterfaceAddresses()) {
    EXPECT_EQ(one.address.find('%'), std::string::npos) << one.address;
    EXPECT_FALSE(one.interface.empty());
  }
}

}  // namespace
}  // namespace muster::agent
