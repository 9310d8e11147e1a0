#include "cli/plan/cluster_wiring.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace muster::cli {
namespace {

absl::StatusOr<ClusterGpus> Read(const std::string& yaml) {
  const auto cluster = ParseCluster(yaml, "cluster.yaml");
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return cluster.ok() ? GpusOf(*cluster) : cluster.status();
}

TEST(ClusterWiring, NodesAndLeavesAreCounted) {
  const auto gpus = Read(R"(
levels: [spine, rack]
pools:
- {name: h100, nodes: 16, perDomain: [8, 4], gpus: 8, cpu: "192", memory: 2Ti, labels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}
- {name: cpu, nodes: 4, perDomain: [8, 4], cpu: "64", memory: 1Ti}
)");
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  EXPECT_EQ(gpus->count, 128);
  EXPECT_EQ(gpus->of_node, 8);
  EXPECT_EQ(gpus->product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(gpus->wiring.joined, 8);
  EXPECT_EQ(gpus->wiring.leaf, 32);
}

TEST(ClusterWiring, ALevelOfNvlinkJoinsNodes) {
  const auto gpus = Read(R"(
levels: [leaf, nvlink]
pools:
- {name: gb200, nodes: 36, perDomain: [36, 18], gpus: 4, cpu: "64", memory: 1Ti}
)");
  ASSERT_TRUE(gpus.ok()) << gpus.status();
  EXPECT_EQ(gpus->wiring.machine, 4);
  EXPECT_EQ(gpus->wiring.joined, 72);
  EXPECT_EQ(gpus->wiring.leaf, 144);
  EXPECT_EQ(gpus->product, "");
}

TEST(ClusterWiring, RefusesNoneAndSeveralKinds) {
  EXPECT_EQ(Read("levels: [rack]\npools:\n"
                 "- {name: cpu, nodes: 2, perDomain: [2], cpu: \"8\", memory: 1Gi}\n")
                .status()
                .message(),
            "the cluster has no GPUs");
  const auto mixed = Read(R"(
levels: [rack]
pools:
- {name: a, nodes: 2, perDomain: [2], gpus: 8, cpu: "8", memory: 1Gi, labels: {nvidia.com/gpu.product: A}}
- {name: b, nodes: 2, perDomain: [2], gpus: 8, cpu: "8", memory: 1Gi, labels: {nvidia.com/gpu.product: B}}
)");
  EXPECT_TRUE(absl::IsInvalidArgument(mixed.status())) << mixed.status();
}

}  // namespace
}  // namespace muster::cli
