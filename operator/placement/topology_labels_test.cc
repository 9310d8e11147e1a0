#include "operator/placement/topology_labels.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_fixtures.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string PathOf(const Topology& topology, size_t node) {
  return absl::StrJoin(topology.paths[node], "/");
}

TEST(ReadTopologyTest, AwsCountsFromTheTopAndInstanceTypesDifferInDepth) {
  const Fixture fixture = AwsThreeAndFourLayers();
  const Topology topology = ReadTopology(fixture.nodes());
  EXPECT_THAT(topology.levels, ElementsAre("region", "zone", "tier-3", "core", "spine", "leaf"));
  EXPECT_EQ(PathOf(topology, 0),
            "us-west-2/us-west-2d/nn-e50490a237cb0f01a/nn-44b5cb8e7a0ba7d1f/"
            "nn-3f8a2c6e9d1b4a7c0/nn-3f8a2c6e9d1b4a7c0");
  EXPECT_EQ(PathOf(topology, 5),
            "us-west-2/us-west-2d/nn-e50490a237cb0f01a/nn-44b5cb8e7a0ba7d1f/"
            "nn-3f8a2c6e9d1b4a7c2/nn-0d47ec1f8b6a5c2e5");
  EXPECT_THAT(topology.findings, IsEmpty());
}

TEST(ReadTopologyTest, AnUltraServerIsAnNvlinkDomain) {
  const Topology topology = ReadTopology(AwsUltraServers().nodes());
  EXPECT_THAT(topology.levels, ElementsAre("region", "zone", "core", "spine", "leaf", "nvlink"));
  EXPECT_EQ(topology.paths[2].back(), "cb-0123456789abcdef0");
  EXPECT_EQ(topology.paths[3].back(), "cb-0123456789abcdef1");
}

TEST(ReadTopologyTest, GoogleHasHostsOfSeveralNodes) {
  const Topology topology = ReadTopology(Google().nodes());
  EXPECT_THAT(topology.levels, ElementsAre("region", "zone", "spine", "leaf", "host"));
  EXPECT_EQ(topology.paths[0], topology.paths[1]);
  EXPECT_EQ(PathOf(topology, 8),
            "us-central1/us-central1-a/3e3056e23cf91/0fc09525cbd53/9ac7c1d4a8c57");
}

TEST(ReadTopologyTest, OciRunsFromIslandToLocalBlock) {
  const Topology topology = ReadTopology(Oci().nodes());
  EXPECT_THAT(topology.levels, ElementsAre("region", "core", "spine", "leaf"));
  EXPECT_EQ(PathOf(topology, 7), "us-ashburn-1/af6ubvouuyq/7xmzl4p4wb1/4tjxbt4s6u3");
}

TEST(ReadTopologyTest, CoreWeaveNumbersAreNamesWithinTheFabric) {
  const Topology topology = ReadTopology(CoreWeaveNvl72().nodes());
  EXPECT_THAT(topology.levels, ElementsAre("region", "zone", "core", "spine", "leaf", "nvlink"));
  EXPECT_EQ(PathOf(topology, 18),
            "US-EAST-02/US-EAST-02A/US-EAST-02A-NDR1/US-EAST-02A-NDR1.1/US-EAST-02A-NDR1.1.2/"
            "DH4-017-US-EAST-02A");
  EXPECT_THAT(topology.findings, IsEmpty());
}

TEST(ReadTopologyTest, TheOlderLabelsOfCoreWeaveSayTheSame) {
  Fixture fixture = CoreWeaveNvl72();
  for (auto& [name, labels] : fixture.labels) {
    for (const std::string level : {"fabric", "superpod", "leafgroup"}) {
      labels["ib.coreweave.cloud/" + level] = labels["backend.coreweave.cloud/" + level];
      labels.erase("backend.coreweave.cloud/" + level);
    }
  }
  EXPECT_EQ(ReadTopology(fixture.nodes()).paths, ReadTopology(CoreWeaveNvl72().nodes()).paths);
}

TEST(ReadTopologyTest, ACliqueIsAPartitionOfItsDomain) {
  const Topology topology = ReadTopology(Cliques().nodes());
  EXPECT_THAT(topology.levels, ElementsAre("nvlink", "nvlink-partition"));
  const std::string rack = "7b8a3c5e-0000-4f1d-9c56-1d2e3f4a5b61";
  EXPECT_THAT(topology.paths[4], ElementsAre(rack, rack + ".1"));
  EXPECT_THAT(topology.paths[5], ElementsAre(rack, rack + ".2"));
  // NVLink ends at the host if the UUID is all zeros.
  EXPECT_THAT(topology.paths[6], ElementsAre("", ""));
}

TEST(ReadTopologyTest, PartitionsThatAreDomainsAreNoLevel) {
  Fixture fixture = Cliques();
  fixture.labels["gb200-5"] = fixture.labels["gb200-4"];
  EXPECT_THAT(ReadTopology(fixture.nodes()).levels, ElementsAre("nvlink"));
}

TEST(ReadTopologyTest, EveryVersionOfTopographSaysTheSame) {
  const Topology topology = ReadTopology(Topograph10().nodes());
  EXPECT_THAT(topology.levels, ElementsAre("core", "spine", "leaf", "nvlink"));
  EXPECT_EQ(PathOf(topology, 5), "core/spine-1/leaf-2/nvl-leaf-2");
  EXPECT_EQ(ReadTopology(Topograph05().nodes()).levels, topology.levels);
  EXPECT_EQ(ReadTopology(Topograph05().nodes()).paths, topology.paths);
  EXPECT_EQ(ReadTopology(Topograph01().nodes()).levels, topology.levels);
  EXPECT_EQ(ReadTopology(Topograph01().nodes()).paths, topology.paths);
}

TEST(ReadTopologyTest, VersionsThatDisagreeAreReported) {
  Fixture fixture = Topograph10();
  fixture.labels["node-3"]["network.topology.nvidia.com/leaf"] = "leaf-7";
  const Topology topology = ReadTopology(fixture.nodes());
  EXPECT_EQ(PathOf(topology, 3), "core/spine-0/leaf-1/nvl-leaf-1");
  EXPECT_THAT(topology.findings,
              ElementsAre(TopologyFinding{
                  "node-3",
                  "network.topology.nvidia.com/leaf is leaf-7, but fabric.topograph.run/tier-0 is "
                  "leaf-1; the latter counts"}));
}

TEST(ReadTopologyTest, ANodeWhoseLeafIsElsewhereStandsApart) {
  Fixture fixture = Topograph05();
  fixture.labels["node-0"]["network.topology.nvidia.com/leaf"] = "leaf-2";
  fixture.labels["node-0"].erase("network.topology.nvidia.com/accelerator");
  const Topology topology = ReadTopology(fixture.nodes());
  EXPECT_EQ(PathOf(topology, 0), "core/spine-0/leaf-2/");
  EXPECT_THAT(topology.findings,
              ElementsAre(TopologyFinding{
                  "node-0",
                  "leaf leaf-2 lies in spine spine-0 here, but in spine-1 according to most of "
                  "its nodes"}));
}

TEST(ReadTopologyTest, WhatANodeDoesNotSayIsTakenFromItsNeighbours) {
  Fixture fixture = Topograph05();
  fixture.labels["node-1"].erase("network.topology.nvidia.com/spine");
  fixture.labels["node-1"].erase("network.topology.nvidia.com/leaf");
  const Topology topology = ReadTopology(fixture.nodes());
  EXPECT_EQ(PathOf(topology, 1), "core/spine-0/leaf-0/nvl-leaf-0");
  EXPECT_THAT(topology.findings, IsEmpty());
}

// Two nodes that differ in one label alone.
Topology OfTwo(const std::string& key, const std::string& first, const std::string& second,
               Labels common = {}) {
  Fixture fixture;
  for (const std::string& value : {first, second}) {
    common[key] = value;
    fixture.Add("node-" + std::to_string(fixture.names.size()), common);
  }
  return ReadTopology(fixture.nodes());
}

TEST(ReadTopologyTest, EveryLabelThatIsKnownPlacesNodesByItself) {
  Labels fabric;
  for (const char* tier : {"0", "1", "2"})
    fabric[std::string("fabric.topograph.run/tier-") + tier] = tier;
  const Topology tier = OfTwo("fabric.topograph.run/tier-3", "north", "north", fabric);
  EXPECT_EQ(PathOf(tier, 0), "north/2/1/0");
  const Topology ultra = OfTwo("topology.k8s.aws/ultraserver-id", "u-1", "u-2");
  EXPECT_THAT(ultra.levels, ElementsAre("nvlink"));
  EXPECT_EQ(PathOf(ultra, 1), "u-2");
  const Topology zone = OfTwo("topology.k8s.aws/zone-id", "usw2-az1", "usw2-az4");
  EXPECT_THAT(zone.levels, ElementsAre("zone"));
  EXPECT_EQ(PathOf(zone, 1), "usw2-az4");
  const Topology partition = OfTwo("accelerator.topograph.run/sub-domain", "p-1", "p-2",
                                   {{"accelerator.topograph.run/domain", "nvl-1"}});
  EXPECT_THAT(partition.levels, ElementsAre("nvlink", "nvlink-partition"));
  EXPECT_EQ(PathOf(partition, 1), "nvl-1/nvl-1.p-2");
}

TEST(ReadTopologyTest, PlainKubernetesHasZones) {
  const Topology topology = ReadTopology(PlainKubernetes().nodes());
  EXPECT_THAT(topology.levels, ElementsAre("region", "zone"));
  EXPECT_THAT(topology.paths[3], ElementsAre("eu-1", "eu-1b"));
}

TEST(ReadTopologyTest, NoLabelsAreNoLevels) {
  const LabelMap none;
  const Topology topology = ReadTopology({{"a", none}, {"b", none}});
  EXPECT_THAT(topology.levels, IsEmpty());
  EXPECT_EQ(topology.paths.size(), 2u);
  EXPECT_THAT(ReadTopology({}).paths, IsEmpty());
}

TEST(ReadTopologyTest, LevelsMayBeGiven) {
  Fixture fixture = Google();
  fixture.labels["gke-a3-pool-2"].erase("cloud.google.com/gce-topology-block");
  const std::vector<std::string> keys = {"cloud.google.com/gce-topology-block",
                                         "cloud.google.com/gce-topology-subblock"};
  const Topology topology = ReadTopology(fixture.nodes(), keys);
  EXPECT_EQ(topology.levels, keys);
  EXPECT_EQ(PathOf(topology, 0), "3e3056e23cf90/0fc09525cbd50");
  EXPECT_EQ(PathOf(topology, 2), "/0fc09525cbd50");
  EXPECT_THAT(topology.findings,
              ElementsAre(TopologyFinding{
                  "gke-a3-pool-2",
                  "has no label cloud.google.com/gce-topology-block, but one of the narrower level "
                  "cloud.google.com/gce-topology-subblock"}));
}

TEST(LevelOfLabelTest, KnowsTheDirectionOfEachSource) {
  EXPECT_EQ(LevelOfLabel("topology.k8s.aws/network-node-layer-1"), "core");
  EXPECT_EQ(LevelOfLabel("fabric.topograph.run/tier-0"), "leaf");
  EXPECT_EQ(LevelOfLabel("fabric.topograph.run/tier-4"), "tier-4");
  EXPECT_EQ(LevelOfLabel("cloud.google.com/gce-topology-block"), "spine");
  EXPECT_EQ(LevelOfLabel("muster.dev/fabric.leaf"), "leaf");
  EXPECT_EQ(LevelOfLabel("muster.dev/nvlink.clique"), "nvlink");
  EXPECT_EQ(LevelOfLabel("kubernetes.io/hostname"), "host");
  EXPECT_EQ(LevelOfLabel("example.com/row"), "");
}

Inventory InventoryOf(const Fixture& fixture, const Topology& topology) {
  Inventory inventory{topology.levels, {}};
  for (size_t i = 0; i < fixture.names.size(); ++i) {
    NodeInventory& node = inventory.nodes.emplace_back();
    node.name = fixture.names[i];
    node.free = {8, 64'000, int64_t{1} << 40, 100};
    node.domains = topology.paths[i];
  }
  return inventory;
}

GangRequest InOne(const std::string& level, int workers) {
  GangRequest request;
  request.per_worker = {8, 1000, 1 << 20, 1};
  request.min = request.max = workers;
  request.required_level = level;
  return request;
}

TEST(ReadTopologyTest, AnNvlinkDomainOverTwoLeavesIsBroaderThanALeaf) {
  const Fixture fixture = NvlinkOverTwoLeaves();
  const Topology topology = ReadTopology(fixture.nodes());
  EXPECT_THAT(topology.levels, ElementsAre("core", "spine", "nvlink", "leaf"));
  EXPECT_EQ(PathOf(topology, 4), "sw31/sw21/nvl1/sw12");
  EXPECT_THAT(topology.findings, IsEmpty());
  const Inventory inventory = InventoryOf(fixture, topology);
  const auto six = Place(inventory, InOne("nvlink", 6));
  ASSERT_TRUE(std::holds_alternative<Placement>(six)) << std::get<Unplaceable>(six).sentence;
  EXPECT_EQ(std::get<Placement>(six).domain, "sw31/sw21/nvl1");
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(Place(inventory, InOne("nvlink", 7))));
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(Place(inventory, InOne("leaf", 4))));
}

TEST(ReadTopologyTest, TheOrderOfLevelsThatAreGivenFollowsFromTheNodesToo) {
  const Fixture fixture = NvlinkOverTwoLeaves();
  const std::string prefix = "network.topology.nvidia.com/";
  const Topology topology =
      ReadTopology(fixture.nodes(), {prefix + "spine", prefix + "block", prefix + "accelerator"});
  EXPECT_THAT(topology.levels,
              ElementsAre(prefix + "spine", prefix + "accelerator", prefix + "block"));
  EXPECT_EQ(PathOf(topology, 4), "sw21/nvl1/sw12");
  // The keys claim that a rack's NVLink is broader than the leaf group it lies in.
  const std::vector<std::string> rack = {"ds.coreweave.com/nvlink.domain",
                                         "backend.coreweave.cloud/superpod"};
  EXPECT_THAT(ReadTopology(CoreWeaveNvl72().nodes(), rack).levels, ElementsAre(rack[1], rack[0]));
  const auto six = Place(InventoryOf(fixture, topology), InOne(prefix + "accelerator", 6));
  EXPECT_TRUE(std::holds_alternative<Placement>(six));
}

TEST(ReadTopologyTest, NvlinkAndLeavesThatDoNotNestKeepTheirOrder) {
  // nvl1 lies over two leaves, and one of these has nodes of another domain.
  Fixture fixture = NvlinkOverTwoLeaves();
  fixture.labels["n05"]["network.topology.nvidia.com/accelerator"] = "nvl3";
  EXPECT_THAT(ReadTopology(fixture.nodes()).levels, ElementsAre("core", "spine", "leaf", "nvlink"));
}

TEST(ReadTopologyTest, ANodeThatJoinsMayChangeTheOrder) {
  Fixture fixture;
  const auto add = [&](const std::string& name, const std::string& leaf, const std::string& nvl) {
    fixture.Add(name, {{"network.topology.nvidia.com/leaf", leaf},
                       {"network.topology.nvidia.com/accelerator", nvl}});
  };
  add("a", "l1", "nvl1");
  add("b", "l1", "nvl1");
  add("c", "l2", "nvl2");
  EXPECT_THAT(ReadTopology(fixture.nodes()).levels, ElementsAre("leaf", "nvlink"));
  add("d", "l3", "nvl1");
  EXPECT_THAT(ReadTopology(fixture.nodes()).levels, ElementsAre("nvlink", "leaf"));
  add("e", "l3", "nvl4");
  EXPECT_THAT(ReadTopology(fixture.nodes()).levels, ElementsAre("leaf", "nvlink"));
}

TEST(ReadTopologyTest, ANodeWithoutNvlinkIsNotTakenForOneOfItsLeafsDomain) {
  Fixture fixture = NvlinkOverTwoLeaves();
  fixture.labels["n02"].erase("network.topology.nvidia.com/accelerator");
  const Topology topology = ReadTopology(fixture.nodes());
  EXPECT_THAT(topology.levels, ElementsAre("core", "spine", "nvlink", "leaf"));
  EXPECT_EQ(PathOf(topology, 2), "sw31/sw21//sw11");
  EXPECT_THAT(topology.findings, IsEmpty());
  // Given levels behave the same: no label is missing.
  const std::string prefix = "network.topology.nvidia.com/";
  EXPECT_THAT(ReadTopology(fixture.nodes(), {prefix + "block", prefix + "accelerator"}).findings,
              IsEmpty());
}

TEST(ReadTopologyTest, CliquesOfZerosAreNoDomainOfGivenLevels) {
  Fixture fixture;
  for (int i = 0; i < 4; ++i) {
    fixture.Add("n" + std::to_string(i),
                {{"example.com/rack", "r" + std::to_string(i / 2)},
                 {"nvidia.com/gpu.clique", "00000000-0000-0000-0000-000000000000.0"}});
  }
  const std::vector<std::string> keys = {"example.com/rack", "nvidia.com/gpu.clique"};
  const Topology topology = ReadTopology(fixture.nodes(), keys);
  EXPECT_EQ(topology.levels, keys);
  EXPECT_EQ(PathOf(topology, 0), "r0/");
}

// Leads from labels to nodes: workers of four GPUs on NVL72 racks, one of them half full.
TEST(ReadTopologyTest, AGangStaysInARackOfItsOwnSize) {
  const Fixture fixture = CoreWeaveNvl72();
  const Topology topology = ReadTopology(fixture.nodes());
  Inventory inventory{topology.levels, {}};
  for (size_t i = 0; i < fixture.names.size(); ++i) {
    NodeInventory node{fixture.names[i], {i < 10 ? 0 : 4, 64'000, 1 << 30, 10}, true, {}, {}};
    node.domains = topology.paths[i];
    inventory.nodes.push_back(node);
  }
  GangRequest request;
  request.per_worker = {4, 1000, 1 << 20, 1};
  request.min = request.max = 8;
  request.required_level = "nvlink";
  const auto small = Place(inventory, request);
  EXPECT_THAT(std::get<Placement>(small).domain, ::testing::EndsWith("DH4-016-US-EAST-02A"));
  request.min = request.max = 18;
  const auto rack = Place(inventory, request);
  EXPECT_THAT(std::get<Placement>(rack).domain, ::testing::EndsWith("DH4-017-US-EAST-02A"));
  request.min = request.max = 19;
  EXPECT_TRUE(std::holds_alternative<Unplaceable>(Place(inventory, request)));
}

}  // namespace
}  // namespace muster::control
