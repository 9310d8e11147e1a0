#include "base/host_port.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(HostPortTest, OnlyAddressesWithColonsHaveBrackets) {
  EXPECT_EQ(HostAndPort("10.0.0.7", 80), "10.0.0.7:80");
  EXPECT_EQ(HostAndPort("muster-operator.muster-system.svc", "7443"),
            "muster-operator.muster-system.svc:7443");
  EXPECT_EQ(HostAndPort("fd00::7", 80), "[fd00::7]:80");
}

}  // namespace
}  // namespace muster
