#include "operator/placement/cluster/scheduling_node.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/placement/cluster/condition_faults.h"

namespace muster::control {
namespace {

SchedulingNode Node(Json allocatable, Json capacity = Json::object(),
                    Json labels = Json::object()) {
  const Json json = {{"metadata", {{"name", "n"}, {"labels", std::move(labels)}}},
                     {"status",
                      {{"allocatable", std::move(allocatable)},
                       {"capacity", std::move(capacity)},
                       {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
  return ParseSchedulingNode(json).value();
}

std::optional<NodeFault> FaultOf(const SchedulingNode& node) {
  return node.complaint ? std::optional(node.complaint->fault) : std::nullopt;
}

TEST(SchedulingNodeTest, ReadsWhatItHas) {
  const SchedulingNode node =
      Node({{"cpu", "3920m"}, {"memory", "1Gi"}, {"pods", "110"}, {"nvidia.com/gpu", 8}},
           {{"cpu", "4"}, {"nvidia.com/gpu", "8"}});
  EXPECT_EQ(FaultOf(node), std::nullopt);
  EXPECT_EQ(node.allocatable.cpu_millis, 3920);
  EXPECT_EQ(node.allocatable.scalar("nvidia.com/gpu"), 8);
  EXPECT_EQ(node.allowed_pods, 110);
  EXPECT_TRUE(node.ready);
}

TEST(SchedulingNodeTest, FaultyNodesAreSetAside) {
  EXPECT_EQ(FaultOf(Node({{"cpu", "-1"}})), NodeFault::kNegativeAmount);
  EXPECT_EQ(FaultOf(Node({{"memory", "lots"}})), NodeFault::kUnreadable);
  EXPECT_EQ(FaultOf(Node({{"memory", "1e40"}})), NodeFault::kAbsurdAmount);
  EXPECT_EQ(FaultOf(Node({{"memory", "4Ei"}})), NodeFault::kAbsurdAmount);
  EXPECT_EQ(FaultOf(Node({{"nvidia.com/gpu", "2000000"}})), NodeFault::kAbsurdAmount);
  EXPECT_EQ(FaultOf(Node({{"cpu", "5"}}, {{"cpu", "4"}})), NodeFault::kContradiction);
  EXPECT_EQ(Node({{"cpu", "5"}}, {{"cpu", "4"}}).complaint->sentence, "allocatable cpu is 5 of 4");
}

TEST(SchedulingNodeTest, ANodeWhoseGpusAreUnhealthyIsSetAside) {
  const auto with = [](const char* status) {
    return ParseSchedulingNode({{"metadata", {{"name", "a"}}},
                                {"status",
                                 {{"conditions",
                                   {{{"type", "Ready"}, {"status", "True"}},
                                    {{"type", "muster.dev/GPUHealthy"},
                                     {"status", status},
                                     {"reason", "FatalXid"}}}}}}})
        .value();
  };
  EXPECT_EQ(with("False").complaint,
            (NodeComplaint{NodeFault::kUnhealthyGpu, "muster.dev/GPUHealthy is False (FatalXid)"}));
  EXPECT_EQ(with("True").complaint, std::nullopt);
  EXPECT_EQ(with("Unknown").complaint, std::nullopt);
}

TEST(ConditionFaultsTest, TheConditionsOfOtherProgramsCountInTheirOwnSense) {
  const auto faults = [](const char* type, const char* status, const char* reason) {
    ConditionFaults found;
    NoteCondition(type, status, reason, found);
    return found;
  };
  EXPECT_EQ(faults("AcceleratedHardwareReady", "False", "NvidiaXID79Error"),
            (ConditionFaults{.gpus = "AcceleratedHardwareReady is False (NvidiaXID79Error)",
                             .network = "",
                             .rdma = "",
                             .machine = ""}));
  EXPECT_EQ(faults("NetworkingReady", "False", "InterfaceNotUp").network,
            "NetworkingReady is False (InterfaceNotUp)");
  EXPECT_EQ(faults("IBLinkFlapping", "True", "IBLinkFlapping").rdma,
            "IBLinkFlapping is True (IBLinkFlapping)");
  EXPECT_EQ(faults("ReadonlyFilesystem", "True", "FilesystemIsReadOnly").machine,
            "ReadonlyFilesystem is True (FilesystemIsReadOnly)");
  EXPECT_EQ(faults("AcceleratedHardwareReady", "True", ""), ConditionFaults());
  EXPECT_EQ(faults("GPUMissing", "True", "GPUsMissing").gpus, "GPUMissing is True (GPUsMissing)");
  EXPECT_EQ(faults("GPUMissing", "False", ""), ConditionFaults());
  EXPECT_EQ(faults("SysLogsGPUFallenOff", "Unknown", ""), ConditionFaults());
  EXPECT_EQ(faults("DiskPressure", "True", ""), ConditionFaults());
}

TEST(ConditionFaultsTest, OneNodeMayHaveFaultsOfEachKindAndItsGpusAreNamedFirst) {
  const SchedulingNode node =
      ParseSchedulingNode(
          {{"metadata", {{"name", "a"}}},
           {"status",
            {{"conditions",
              {{{"type", "muster.dev/DisksHealthy"}, {"status", "False"}, {"reason", "DiskFailed"}},
               {{"type", "muster.dev/InfinibandHealthy"},
                {"status", "False"},
                {"reason", "LinkFlaps"}}}}}}})
          .value();
  EXPECT_EQ(node.faults.rdma, "muster.dev/InfinibandHealthy is False (LinkFlaps)");
  EXPECT_EQ(node.faults.machine, "muster.dev/DisksHealthy is False (DiskFailed)");
  EXPECT_EQ(node.complaint, (NodeComplaint{NodeFault::kUnhealthyMachine, node.faults.machine}))
      << "ports concern only pods that use them";
}

TEST(SchedulingNodeTest, MoreGpusThanItsLabelCountsAreBelievedOnlyOfSharedOnes) {
  const Json gpus = {{"nvidia.com/gpu", "16"}};
  EXPECT_EQ(FaultOf(Node(gpus, gpus, {{"nvidia.com/gpu.count", "8"}})), NodeFault::kContradiction);
  EXPECT_EQ(FaultOf(Node(gpus, gpus, {{"nvidia.com/gpu.count", "16"}})), std::nullopt);
  EXPECT_EQ(FaultOf(Node(gpus, gpus,
                         {{"nvidia.com/gpu.count", "8"},
                          {"nvidia.com/gpu.sharing-strategy", "time-slicing"}})),
            std::nullopt);
}

TEST(SchedulingNodeTest, TwoWordsOnReadinessAreNone) {
  Json json = {{"metadata", {{"name", "n"}}},
               {"status",
                {{"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}},
                                             {{"type", "Ready"}, {"status", "False"}}})}}}};
  EXPECT_FALSE(ParseSchedulingNode(json)->ready);
  json["status"]["conditions"] = Json::array();
  EXPECT_FALSE(ParseSchedulingNode(json)->ready);
}

TEST(SchedulingNodeTest, GpusByKind) {
  const Json has = {{"nvidia.com/gpu", "0"},
                    {"nvidia.com/mig-1g.10gb", "7"},
                    {"amd.com/gpu", "8"},
                    {"rdma/hca", "2"}};
  EXPECT_EQ(GpuKinds(Node(has, has, {{"nvidia.com/gpu.product", "H100"}})),
            (std::vector<std::string>{"amd.com/gpu", "nvidia.com/mig-1g.10gb H100"}));
}

TEST(SchedulingNodeTest, EveryFaultHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kNodeFaults; ++i) names.insert(Name(static_cast<NodeFault>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kNodeFaults));
}

}  // namespace
}  // namespace muster::control
