#include "operator/placement/topology_fixtures.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

const char kRegion[] = "topology.kubernetes.io/region";
const char kZone[] = "topology.kubernetes.io/zone";
const char kHostname[] = "kubernetes.io/hostname";

std::string Layer(int layer) { return absl::StrCat("topology.k8s.aws/network-node-layer-", layer); }

Labels Aws(const std::string& name) {
  return {{kHostname, name},
          {kRegion, "us-west-2"},
          {kZone, "us-west-2d"},
          {"topology.k8s.aws/zone-id", "usw2-az4"},
          {Layer(1), "nn-e50490a237cb0f01a"}};
}

// A fat tree of two spines; `labels(spine, leaf)` are a node's.
template <typename F>
Fixture FatTree(F labels) {
  Fixture fixture;
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("node-", i);
    Labels of = labels(absl::StrCat("spine-", i / 4), absl::StrCat("leaf-", i / 2));
    of[kHostname] = name;
    fixture.Add(name, std::move(of));
  }
  return fixture;
}

}  // namespace

void Fixture::Add(const std::string& name, Labels of) {
  names.push_back(name);
  labels[name] = std::move(of);
}

std::vector<LabelledNode> Fixture::nodes() const {
  std::vector<LabelledNode> nodes;
  for (const std::string& name : names) nodes.push_back({name, labels.at(name)});
  return nodes;
}

Fixture AwsThreeAndFourLayers() {
  Fixture fixture;
  for (int i = 0; i < 6; ++i) {
    const std::string name = absl::StrCat("ip-10-0-0-", i, ".us-west-2.compute.internal");
    Labels of = Aws(name);
    of[Layer(2)] = "nn-44b5cb8e7a0ba7d1f";
    of[Layer(3)] = absl::StrCat("nn-3f8a2c6e9d1b4a7c", i / 2);
    if (i >= 4) of[Layer(4)] = absl::StrCat("nn-0d47ec1f8b6a5c2e", i);
    of["node.kubernetes.io/instance-type"] = i < 4 ? "p5.48xlarge" : "p6-b200.48xlarge";
    fixture.Add(name, std::move(of));
  }
  return fixture;
}

Fixture AwsUltraServers() {
  Fixture fixture;
  for (int i = 0; i < 6; ++i) {
    const std::string name = absl::StrCat("ip-10-0-1-", i, ".us-west-2.compute.internal");
    Labels of = Aws(name);
    of[Layer(2)] = "nn-44b5cb8e7a0ba7d1f";
    of[Layer(3)] = "nn-3f8a2c6e9d1b4a7c0";
    of["topology.k8s.aws/capacity-block-id"] = absl::StrCat("cb-0123456789abcdef", i / 3);
    of["node.kubernetes.io/instance-type"] = "p6e-gb200.36xlarge";
    fixture.Add(name, std::move(of));
  }
  return fixture;
}

Fixture Google() {
  Fixture fixture;
  for (int i = 0; i < 9; ++i) {
    // Two nodes on host 0.
    const int host = i == 0 ? 0 : i - 1;
    const std::string name = absl::StrCat("gke-a3-pool-", i);
    fixture.Add(name,
                {{kHostname, name},
                 {kRegion, "us-central1"},
                 {kZone, "us-central1-a"},
                 {"cloud.google.com/gce-topology-block", absl::StrCat("3e3056e23cf9", host / 4)},
                 {"cloud.google.com/gce-topology-subblock", absl::StrCat("0fc09525cbd5", host / 2)},
                 {"cloud.google.com/gce-topology-host", absl::StrCat("9ac7c1d4a8c5", host)}});
  }
  return fixture;
}

Fixture Oci() {
  Fixture fixture;
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("10.0.96.", i);
    fixture.Add(name,
                {{kHostname, name},
                 {kRegion, "us-ashburn-1"},
                 {"oci.oraclecloud.com/rdma.hpc_island_id", "af6ubvouuyq"},
                 {"oci.oraclecloud.com/rdma.network_block_id", absl::StrCat("7xmzl4p4wb", i / 4)},
                 {"oci.oraclecloud.com/rdma.local_block_id", absl::StrCat("4tjxbt4s6u", i / 2)},
                 {"oci.oraclecloud.com/rdma.host_id", absl::StrCat("ab3zs7y7v7", i)}});
  }
  return fixture;
}

Fixture CoreWeaveNvl72() {
  Fixture fixture;
  for (int i = 0; i < 36; ++i) {
    const int rack = i / 18;
    const std::string name = absl::StrCat("g", 100 + i);
    fixture.Add(name, {{kHostname, name},
                       {kRegion, "US-EAST-02"},
                       {kZone, "US-EAST-02A"},
                       {"backend.coreweave.cloud/flavor", "infiniband"},
                       {"backend.coreweave.cloud/fabric", "US-EAST-02A-NDR1"},
                       {"backend.coreweave.cloud/superpod", "1"},
                       {"backend.coreweave.cloud/leafgroup", absl::StrCat(rack + 1)},
                       {"ds.coreweave.com/nvlink.domain",
                        absl::StrCat("DH4-01", 6 + rack, "-US-EAST-02A")}});
  }
  return fixture;
}

Fixture Cliques() {
  const std::string uuid[] = {"7b8a3c5e-0000-4f1d-9c56-1d2e3f4a5b60",
                              "7b8a3c5e-0000-4f1d-9c56-1d2e3f4a5b61"};
  Fixture fixture;
  for (int i = 0; i < 6; ++i) {
    const std::string name = absl::StrCat("gb200-", i);
    const int clique = i == 5 ? 2 : 1;
    fixture.Add(name, {{kHostname, name},
                       {"nvidia.com/gpu.clique", absl::StrCat(uuid[i / 3], ".", clique)}});
  }
  fixture.Add("hgx-0", {{kHostname, "hgx-0"},
                        {"nvidia.com/gpu.clique", "00000000-0000-0000-0000-000000000000.0"}});
  return fixture;
}

Fixture Topograph10() {
  return FatTree([](const std::string& spine, const std::string& leaf) {
    return Labels{{"fabric.topograph.run/tier-0", leaf},
                  {"fabric.topograph.run/tier-1", spine},
                  {"fabric.topograph.run/tier-2", "core"},
                  {"accelerator.topograph.run/domain", "nvl-" + leaf}};
  });
}

Fixture Topograph05() {
  return FatTree([](const std::string& spine, const std::string& leaf) {
    return Labels{{"network.topology.nvidia.com/leaf", leaf},
                  {"network.topology.nvidia.com/spine", spine},
                  {"network.topology.nvidia.com/core", "core"},
                  {"network.topology.nvidia.com/accelerator", "nvl-" + leaf}};
  });
}

Fixture Topograph01() {
  return FatTree([](const std::string& spine, const std::string& leaf) {
    return Labels{{"network.topology.nvidia.com/block", leaf},
                  {"network.topology.nvidia.com/spine", spine},
                  {"network.topology.nvidia.com/datacenter", "core"},
                  {"network.topology.nvidia.com/accelerator", "nvl-" + leaf}};
  });
}

Fixture NvlinkOverTwoLeaves() {
  Fixture fixture;
  for (int i = 0; i < 12; ++i) {
    fixture.Add(absl::StrCat("n", i / 10, i % 10),
                {{"network.topology.nvidia.com/accelerator", absl::StrCat("nvl", 1 + i / 6)},
                 {"network.topology.nvidia.com/block", absl::StrCat("sw1", 1 + i / 3)},
                 {"network.topology.nvidia.com/spine", absl::StrCat("sw2", 1 + i / 6)},
                 {"network.topology.nvidia.com/datacenter", "sw31"}});
  }
  return fixture;
}

Fixture PlainKubernetes() {
  Fixture fixture;
  for (int i = 0; i < 4; ++i) {
    const std::string name = absl::StrCat("worker-", i);
    fixture.Add(
        name,
        {{kHostname, name}, {kRegion, "eu-1"}, {kZone, absl::StrCat("eu-1", i < 2 ? "a" : "b")}});
  }
  return fixture;
}

}  // namespace muster::control
