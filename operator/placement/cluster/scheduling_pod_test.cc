#include "operator/placement/cluster/scheduling_pod.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

SchedulingPod Parse(std::string spec, std::string status = "{}") {
  std::replace(spec.begin(), spec.end(), '\'', '"');
  std::replace(status.begin(), status.end(), '\'', '"');
  const Json json = {{"metadata", {{"name", "p"}, {"namespace", "default"}, {"uid", "u"}}},
                     {"spec", ParseJson(spec).value()},
                     {"status", ParseJson(status).value()}};
  return ParseSchedulingPod(json).value();
}

std::string Container(const std::string& cpu, const std::string& more = "") {
  return "{'name':'c" + cpu + "','resources':{'requests':{'cpu':'" + cpu + "'}}" + more + "}";
}

TEST(SchedulingPodTest, ContainersTogetherOrTheLargestInitContainer) {
  const std::string containers = "'containers':[" + Container("1") + "," + Container("2") + "]";
  EXPECT_EQ(Parse("{" + containers + "}").requests.cpu_millis, 3000);
  EXPECT_EQ(
      Parse("{" + containers + ",'initContainers':[" + Container("4") + "]}").requests.cpu_millis,
      4000);
}

// A sidecar runs beside the containers, and beside the init containers that come after it.
TEST(SchedulingPodTest, RestartableInitContainersCountWithBoth) {
  const std::string sidecar = Container("1", ",'restartPolicy':'Always'");
  const std::string pod = "{'containers':[" + Container("2") + "],'initContainers':[";
  EXPECT_EQ(Parse(pod + sidecar + "]}").requests.cpu_millis, 3000);
  EXPECT_EQ(Parse(pod + sidecar + "," + Container("5") + "]}").requests.cpu_millis, 6000);
  EXPECT_EQ(Parse(pod + Container("5") + "," + sidecar + "]}").requests.cpu_millis, 5000);
}

TEST(SchedulingPodTest, OverheadAndPodLevelRequests) {
  const std::string pod = "{'containers':[" + Container("2") + "],'overhead':{'cpu':'100m'}";
  EXPECT_EQ(Parse(pod + "}").requests.cpu_millis, 2100);
  EXPECT_EQ(Parse(pod + ",'resources':{'requests':{'cpu':'3'}}}").requests.cpu_millis, 3100);
  EXPECT_EQ(Parse(pod + ",'resources':{'requests':{'nvidia.com/gpu':'3'}}}")
                .requests.scalar("nvidia.com/gpu"),
            0);
}

TEST(SchedulingPodTest, ALimitIsARequestWhereNoneIsGiven) {
  const SchedulingPod pod = Parse(
      "{'containers':[{'name':'c','resources':{'limits':{'nvidia.com/"
      "gpu':'8','cpu':'2'},'requests':{'cpu':'1'}}}]}");
  EXPECT_EQ(pod.requests.scalar("nvidia.com/gpu"), 8);
  EXPECT_EQ(pod.requests.cpu_millis, 1000);
}

TEST(SchedulingPodTest, AResizeInPlaceHoldsTheMost) {
  const std::string spec = "{'nodeName':'n','containers':[" + Container("1") + "]}";
  const std::string status =
      "{'containerStatuses':[{'name':'c1','allocatedResources':{'cpu':'2'},'resources':{'requests':"
      "{'cpu':'1500m'}}}]";
  EXPECT_EQ(Parse(spec, status + "}").holds.cpu_millis, 2000);
  EXPECT_EQ(Parse(spec, status + "}").requests.cpu_millis, 1000);
  const std::string grows =
      "{'nodeName':'n','containers':[{'name':'c1','resources':{'requests':{'cpu':'9'}}}]}";
  EXPECT_EQ(Parse(grows, status + "}").holds.cpu_millis, 9000);
  const std::string infeasible =
      ",'conditions':[{'type':'PodResizePending','status':'True','reason':'Infeasible'}]}";
  EXPECT_EQ(Parse(grows, status + infeasible).holds.cpu_millis, 2000);
}

TEST(SchedulingPodTest, ResourcesThatNoSchedulerCounts) {
  const SchedulingPod pod = Parse(
      "{'containers':[{'name':'c','resources':{'requests':{'storage':'1Gi','requests.a/"
      "b':'1','rdma/hca':'2',"
      "'hugepages-2Mi':'4Mi','memory':'1Gi'}}}]}");
  EXPECT_EQ(pod.requests.scalars, (std::vector<std::pair<std::string, int64_t>>{
                                      {"hugepages-2Mi", int64_t{4} << 20}, {"rdma/hca", 2}}));
  EXPECT_EQ(pod.requests.memory_bytes, int64_t{1} << 30);
}

TEST(SchedulingPodTest, MostPodsConstrainNothing) {
  EXPECT_EQ(Parse("{'containers':[]}").constraints, nullptr);
  EXPECT_NE(Parse("{'tolerations':[{'operator':'Exists'}]}").constraints, nullptr);
}

TEST(SchedulingPodTest, ASelectorThatCannotBeIsRemembered) {
  const std::string term =
      "{'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{'"
      "topologyKey':'k',"
      "'labelSelector':{'matchExpressions':[{'key':'a','operator':'In'}]}}]}}}";
  EXPECT_TRUE(Parse(term).wants().affinity_invalid);
  EXPECT_TRUE(Parse(term).wants().anti_affinity.empty());
}

TEST(SchedulingPodTest, RefusesWhatIsNoPodAndReadsWrongTypesAsAbsent) {
  EXPECT_EQ(ParseSchedulingPod(Json::array()).status().code(), absl::StatusCode::kInvalidArgument);
  const Json odd = {{"metadata", {{"name", "p"}, {"labels", 3}}},
                    {"spec",
                     {{"containers", "none"},
                      {"volumes", {1, "x"}},
                      {"priority", "high"},
                      {"affinity", Json::array()}}}};
  const auto pod = ParseSchedulingPod(odd);
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->requests, ResourceAmounts());
}

}  // namespace
}  // namespace muster::control
