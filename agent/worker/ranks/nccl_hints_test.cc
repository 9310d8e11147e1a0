#include "agent/worker/ranks/nccl_hints.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::agent {
namespace {

InfinibandReading Port(const std::string& device, const std::string& link_layer,
                       const std::string& state = "ACTIVE") {
  InfinibandReading reading;
  reading.device = device;
  reading.port = 1;
  reading.link_layer = link_layer;
  reading.state = state;
  return reading;
}

Environment HintsOf(const std::vector<InfinibandReading>& ports, int workers = 2,
                    Environment env = {}) {
  AddNcclHints(ports, {}, "10.0.0.2", workers, env);
  return env;
}

const std::vector<InterfaceAddress> kTwoInterfaces = {{"lo", "127.0.0.1", true},
                                                      {"eth0", "10.0.0.2"},
                                                      {"eth0", "fd00::2"},
                                                      {"docker0", "172.17.0.1"}};

TEST(NcclHintsTest, OfSeveralInterfacesTheOneWithTheWorkersAddressIsNamed) {
  for (const char* host : {"10.0.0.2", "fd00::2"}) {
    Environment env;
    AddNcclHints({}, kTwoInterfaces, host, 2, env);
    EXPECT_EQ(env, (Environment{{"NCCL_SOCKET_IFNAME", "=eth0"}, {"GLOO_SOCKET_IFNAME", "eth0"}}));
  }
}

TEST(NcclHintsTest, OneInterfaceAndAnUnknownAddressAndTheLoopbackNeedNoName) {
  const auto hints = [](const std::vector<InterfaceAddress>& addresses, const char* host) {
    Environment env;
    AddNcclHints({}, addresses, host, 2, env);
    return env;
  };
  EXPECT_EQ(hints({kTwoInterfaces[0], kTwoInterfaces[1]}, "10.0.0.2"), Environment());
  EXPECT_EQ(hints(kTwoInterfaces, "10.9.9.9"), Environment());
  EXPECT_EQ(hints(kTwoInterfaces, "127.0.0.1"), Environment()) << "all workers on this machine";
}

TEST(NcclHintsTest, AnInterfaceThatTheJobNamesStays) {
  Environment env = {{"NCCL_SOCKET_IFNAME", "eth"}};
  AddNcclHints({}, kTwoInterfaces, "10.0.0.2", 2, env);
  EXPECT_EQ(env.at("NCCL_SOCKET_IFNAME"), "eth");
}

TEST(NcclHintsTest, TheFabricIsNamedWhereAnEthernetAdapterIsBesideIt) {
  const Environment env =
      HintsOf({Port("mlx5_0", "InfiniBand"), Port("mlx5_1", "InfiniBand"),
               Port("mlx5_2", "InfiniBand", "DOWN"), Port("mlx5_bond_0", "Ethernet")});
  EXPECT_EQ(env, (Environment{{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"}}));
}

TEST(NcclHintsTest, AdaptersOfOneKindAreLeftToNccl) {
  EXPECT_EQ(HintsOf({}), Environment());
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("mlx5_1", "InfiniBand")}), Environment());
  EXPECT_EQ(HintsOf({Port("roce0", "Ethernet"), Port("roce1", "Ethernet")}), Environment());
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("eth", "Ethernet", "DOWN")}),
            Environment());
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand", "INIT"), Port("roce0", "Ethernet")}),
            Environment());
}

TEST(NcclHintsTest, AWorkerAloneGetsNone) {
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("eth", "Ethernet")}, 1), Environment());
}

TEST(NcclHintsTest, WhatTheJobSaysStays) {
  const Environment own = {{"NCCL_IB_HCA", "mlx5"}};
  EXPECT_EQ(HintsOf({Port("mlx5_0", "InfiniBand"), Port("eth", "Ethernet")}, 2, own), own);
}

}  // namespace
}  // namespace muster::agent
