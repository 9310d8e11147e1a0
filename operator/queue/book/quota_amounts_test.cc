#include "operator/queue/book/quota_amounts.h"

#include <string>

#include "base/json.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

SchedulingPod Pod(const std::string& resources, const std::string& more = "{}") {
  Json json = {{"metadata", {{"name", "p"}, {"namespace", "ns"}}}};
  json["spec"] = Json::parse(more);
  json["spec"]["containers"] = Json::parse(R"([{"name": "c"}])");
  json["spec"]["containers"][0]["resources"]["requests"] = Json::parse(resources);
  return ParseSchedulingPod(json).value();
}

SchedulingNode Node(const std::string& allocatable, const std::string& labels = "{}") {
  Json json = {{"metadata", {{"name", "n"}}}};
  json["metadata"]["labels"] = Json::parse(labels);
  json["status"]["allocatable"] = Json::parse(allocatable);
  return ParseSchedulingNode(json).value();
}

// Required node affinity with these alternatives.
std::string Affinity(const std::string& terms) {
  return R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms": [)" +
         terms + "]}}}}";
}

std::string Product(const std::string& op, const std::string& values) {
  return R"({"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": ")" + op +
         R"(", "values": )" + values + "}]}";
}

GpuKindSet KindsFor(const std::string& spec) {
  return GpuKindsFor(Pod("{}", spec).wants(), {"A100", "H100"});
}

TEST(QuotaAmountsTest, EveryRequestedResourceCountsUnderItsOwnName) {
  const SchedulingPod pod = Pod(R"({
    "cpu": "1500m", "memory": "2Gi", "ephemeral-storage": "1G", "hugepages-2Mi": "4Mi",
    "amd.com/gpu": "4", "nvidia.com/mig-1g.5gb": "2", "nvidia.com/gpu.shared": "1",
    "rdma/hca": "8"})");
  EXPECT_EQ(QuotaOf(pod, {"H100"}), (Amounts{{"cpu", 1500},
                                             {"memory", int64_t{2} << 30},
                                             {"ephemeral-storage", 1'000'000'000},
                                             {"hugepages-2Mi", 4 << 20},
                                             {"amd.com/gpu", 4},
                                             {"nvidia.com/mig-1g.5gb", 2},
                                             {"nvidia.com/gpu.shared", 1},
                                             {"rdma/hca", 8}}));
}

TEST(QuotaAmountsTest, WholeNvidiaGpusCountForTheirKindAsWell) {
  EXPECT_EQ(
      QuotaOf(Pod(R"({"nvidia.com/gpu": "8"})"), {"A100", "H100"}),
      (Amounts{{"nvidia.com/gpu", 8}, {"nvidia.com/gpu/A100", 8}, {"nvidia.com/gpu/H100", 8}}));
}

TEST(QuotaAmountsTest, AKindFollowsFromTheNodeSelectorOrRequiredAffinity) {
  const GpuKindSet h100 = {"H100"};
  EXPECT_EQ(KindsFor(R"({"nodeSelector": {"nvidia.com/gpu.product": "H100"}})"), h100);
  EXPECT_EQ(KindsFor(Affinity(Product("In", R"(["H100"])"))), h100);
  EXPECT_EQ(KindsFor(Affinity(Product("NotIn", R"(["A100"])"))), h100);
}

TEST(QuotaAmountsTest, AKindThatIsNamedCountsBeforeThereIsANodeOfIt) {
  EXPECT_EQ(KindsFor(R"({"nodeSelector": {"nvidia.com/gpu.product": "B200"}})"),
            GpuKindSet{"B200"});
  EXPECT_EQ(KindsFor(Affinity(Product("In", R"(["B200", "H100"])"))), (GpuKindSet{"B200", "H100"}));
}

TEST(QuotaAmountsTest, AJobThatNamesNoKindMayGetAny) {
  const GpuKindSet all = {"A100", "H100"};
  EXPECT_EQ(KindsFor("{}"), all);
  EXPECT_EQ(KindsFor(R"({"nodeSelector": {"zone": "a"}})"), all);
  // One of the alternatives lets every kind in.
  const std::string zone =
      R"({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]})";
  EXPECT_EQ(KindsFor(Affinity(Product("In", R"(["H100"])") + "," + zone)), all);
  EXPECT_EQ(KindsFor(Affinity(R"({"matchExpressions": [
      {"key": "nvidia.com/gpu.product", "operator": "DoesNotExist"}]})")),
            GpuKindSet{});
}

TEST(QuotaAmountsTest, CapacityIsCountedUnderTheSameNames) {
  Amounts capacity;
  AddCapacity(Node(R"({"cpu": "8", "nvidia.com/gpu": "8", "rdma/hca": "8", "pods": "10",
                       "hugepages-1Gi": "0"})",
                   R"({"nvidia.com/gpu.product": "H100"})"),
              capacity);
  AddCapacity(Node(R"({"cpu": "1", "amd.com/gpu": "4"})"), capacity);
  AddCapacity(Node(R"({"cpu": "-1", "amd.com/gpu": "4"})"), capacity);  // it lies
  EXPECT_EQ(capacity, (Amounts{{"amd.com/gpu", 4},
                               {"cpu", 9000},
                               {"nvidia.com/gpu", 8},
                               {"nvidia.com/gpu/H100", 8},
                               {"rdma/hca", 8}}));
}

}  // namespace
}  // namespace muster::control
