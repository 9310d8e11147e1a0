#include "operator/nodes/node_wish.h"

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "operator/kube/name_rules.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

v1alpha1::NodeReport Report(const std::string& text) {
  v1alpha1::NodeReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &report));
  return report;
}

constexpr char kTwoGpus[] = R"(
  driver_version: "550.90.07"
  gpus {
    index: 0 uuid: "GPU-a" product: "NVIDIA H100 80GB HBM3" pci_address: "0000:1b:00.0" numa_node: 0
    memory_bytes: 85520809984 nvlink_cluster: "c1" nvlink_clique: 7 nvlinks: 18 nvlinks_active: 18
  }
  gpus {
    index: 1 uuid: "GPU-b" product: "NVIDIA H100 80GB HBM3" pci_address: "0000:43:00.0" numa_node: 1
    memory_bytes: 85520809984 nvlink_cluster: "c1" nvlink_clique: 7 nvlinks: 18 nvlinks_active: 18
  }
  infiniband_ports { device: "mlx5_1" port: 1 link_layer: "InfiniBand" switch_guid: "00b2" }
  infiniband_ports { device: "mlx5_0" port: 1 link_layer: "InfiniBand" switch_guid: "00a1" }
  infiniband_ports { device: "mlx5_2" port: 1 link_layer: "Ethernet" }
)";

Json NodeOf(const Json& labels = Json::object()) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", "a"}, {"labels", labels}}},
          {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

Json Patched(Json node, const Json& patch) {
  node["metadata"].merge_patch(patch);
  return node;
}

TEST(NodeWishTest, AReportBecomesLabelsAndAnAnnotation) {
  const NodeWish wish = WishOf(Report(kTwoGpus));
  const Json patch = MetadataPatch(wish, NodeOf({{"kept", "yes"}}));
  EXPECT_EQ(patch["labels"], (Json{{"muster.dev/gpu.count", "2"},
                                   {"muster.dev/gpu.product", "NVIDIA-H100-80GB-HBM3"},
                                   {"muster.dev/gpu.memory-mib", "81559"},
                                   {"muster.dev/gpu.driver", "550.90.07"},
                                   {"muster.dev/nvlink.clique", "c1.7"},
                                   {"muster.dev/fabric.leaf", "00a1"},
                                   {"muster.dev/infiniband.ports", "2"}}));
  const Json hardware = Json::parse(patch["annotations"]["muster.dev/hardware"].get<std::string>());
  EXPECT_EQ(hardware["gpus"][1], (Json{{"pci", "0000:43:00.0"},
                                       {"numa", 1},
                                       {"uuid", "GPU-b"},
                                       {"product", "NVIDIA H100 80GB HBM3"},
                                       {"nvlinks", 18}}));
  EXPECT_EQ(hardware["infiniband"][0]["port"], "mlx5_1:1");
}

TEST(NodeWishTest, NothingIsWrittenTwice) {
  const NodeWish wish = WishOf(Report(kTwoGpus));
  const Json node = Patched(NodeOf(), MetadataPatch(wish, NodeOf()));
  EXPECT_EQ(MetadataPatch(wish, node), Json::object());
  const auto healthy = WithHealth(wish, node, kNow);
  ASSERT_TRUE(healthy.has_value());
  EXPECT_EQ(WithHealth(wish, *healthy, kNow + absl::Hours(1)), std::nullopt);
}

TEST(NodeWishTest, OnlyOwnLabelsAreRemoved) {
  const Json node = NodeOf({{"muster.dev/gpu.count", "8"},
                            {"muster.dev/fabric.leaf", "00a1"},
                            {"nvidia.com/gpu.count", "8"},
                            {"muster.dev/somebody-elses", "x"}});
  const Json patch = MetadataPatch(WishOf({}), node);
  EXPECT_EQ(patch["labels"],
            (Json{{"muster.dev/gpu.count", nullptr}, {"muster.dev/fabric.leaf", nullptr}}));
}

TEST(NodeWishTest, GpusThatDifferHaveNoCommonLabel) {
  v1alpha1::NodeReport report = Report(kTwoGpus);
  report.mutable_gpus(1)->set_product("NVIDIA A100");
  report.mutable_gpus(1)->set_nvlink_clique(8);
  const NodeWish wish = WishOf(report);
  EXPECT_EQ(wish.labels.at(kGpuProductLabel), std::nullopt);
  EXPECT_EQ(wish.labels.at(kNvlinkCliqueLabel), std::nullopt);
  EXPECT_EQ(wish.labels.at(kGpuCountLabel), "2");
}

TEST(NodeWishTest, EveryLabelValueIsOneThatTheServerTakes) {
  for (const std::string& text :
       {std::string("Tesla V100-SXM2-16GB"), std::string("  --x/y!! "), std::string("..."),
        std::string(200, 'a'), std::string(62, 'a') + "-" + std::string(9, 'b'),
        std::string("GPU \xc3\xa9\x01\x7f"), std::string()}) {
    EXPECT_TRUE(kube::IsLabelValue(LabelValueOf(text))) << text << " " << LabelValueOf(text);
  }
  EXPECT_EQ(LabelValueOf("NVIDIA  GB200 (x)"), "NVIDIA-GB200-x");
}

TEST(NodeWishTest, AFaultMakesTheConditionFalseWithItsReasonAndSentence) {
  v1alpha1::NodeReport report = Report(kTwoGpus);
  auto& fault = *report.mutable_gpus(1)->add_faults();
  fault.set_reason("FatalXid");
  fault.set_detail("XID 79: the GPU has fallen off the bus");
  const auto node = WithHealth(WishOf(report), NodeOf(), kNow);
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ((*node)["status"]["conditions"][0]["type"], "Ready");
  const Json* condition = FindCondition(*node, kGpuHealthyCondition);
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(*condition, (Json{{"type", "muster.dev/GPUHealthy"},
                              {"status", "False"},
                              {"reason", "FatalXid"},
                              {"message", "GPU 1 (GPU-b): XID 79: the GPU has fallen off the bus"},
                              {"lastHeartbeatTime", "2027-01-15T08:00:00Z"},
                              {"lastTransitionTime", "2027-01-15T08:00:00Z"}}));
}

TEST(NodeWishTest, PortsAndDisksHaveConditionsOfTheirOwn) {
  v1alpha1::NodeReport report = Report(kTwoGpus);
  auto& port = *report.add_infiniband_ports();
  port.set_device("mlx5_9");
  port.set_port(1);
  auto& fault = *port.add_faults();
  fault.set_reason("LinkFlaps");
  fault.set_detail("the link went down 2 times");
  report.add_disks()->set_name("nvme0n1");
  const auto node = WithHealth(WishOf(report), NodeOf(), kNow);
  ASSERT_TRUE(node.has_value());
  const Json* link = FindCondition(*node, kInfinibandHealthyCondition);
  ASSERT_NE(link, nullptr);
  EXPECT_EQ((*link)["status"], "False");
  EXPECT_EQ((*link)["reason"], "LinkFlaps");
  EXPECT_EQ((*link)["message"], "port mlx5_9:1: the link went down 2 times");
  const Json* disks = FindCondition(*node, kDisksHealthyCondition);
  ASSERT_NE(disks, nullptr);
  EXPECT_EQ((*disks)["status"], "True");
  EXPECT_EQ(FindCondition(*node, kGpuHealthyCondition)->at("status"), "True");
}

TEST(NodeWishTest, TheTransitionTimeChangesWithTheStatusOnly) {
  v1alpha1::NodeReport report = Report(kTwoGpus);
  const Json well = *WithHealth(WishOf(report), NodeOf(), kNow);
  report.mutable_gpus()->RemoveLast();
  const Json fewer = *WithHealth(WishOf(report), well, kNow + absl::Hours(1));
  EXPECT_EQ(fewer["status"]["conditions"][1]["message"], "1 GPU");
  EXPECT_EQ(fewer["status"]["conditions"][1]["lastTransitionTime"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(fewer["status"]["conditions"][1]["lastHeartbeatTime"], "2027-01-15T09:00:00Z");
}

TEST(NodeWishTest, ANodeWithoutGpusGetsNoConditionUnlessItHadOne) {
  v1alpha1::NodeReport none;
  none.set_gpu_absence("libnvidia-ml.so.1 is not installed");
  EXPECT_EQ(WithHealth(WishOf(none), NodeOf(), kNow), std::nullopt);
  const Json had = *WithHealth(WishOf(Report(kTwoGpus)), NodeOf(), kNow);
  const Json now = *WithHealth(WishOf(none), had, kNow);
  const Json& condition = now["status"]["conditions"][1];
  EXPECT_EQ(condition["status"], "Unknown");
  EXPECT_EQ(condition["reason"], "NoGpuSeen");
  EXPECT_EQ(condition["message"], "the node agent sees no GPU: libnvidia-ml.so.1 is not installed");
}

TEST(NodeWishTest, SilenceMakesTheConditionUnknownAndLeavesTheRest) {
  const Json had = *WithHealth(WishOf(Report(kTwoGpus)), NodeOf(), kNow);
  const NodeWish silent = WishOfSilence(absl::Minutes(5));
  EXPECT_EQ(MetadataPatch(silent, had), Json::object());
  const Json now = *WithHealth(silent, had, kNow);
  EXPECT_EQ(now["status"]["conditions"][1]["status"], "Unknown");
  EXPECT_EQ(now["status"]["conditions"][1]["reason"], "NodeAgentSilent");
  EXPECT_EQ(WithHealth(silent, NodeOf(), kNow), std::nullopt);
}

TEST(NodeWishTest, AnAbsurdReportIsCutShort) {
  v1alpha1::NodeReport report;
  for (int i = 0; i < 2000; ++i) {
    auto& gpu = *report.add_gpus();
    gpu.set_uuid(std::string(50, 'x'));
    gpu.add_faults()->set_detail("broken");
  }
  const NodeWish wish = WishOf(report);
  EXPECT_LE(wish.health.at(kGpuHealthyCondition).known->message.size(), 1024u);
  EXPECT_THAT(*wish.hardware, HasSubstr("omitted"));
}

}  // namespace
}  // namespace muster::control
