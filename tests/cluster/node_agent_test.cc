// The chart's node agents on nodes without a GPU: they report what there is, and cost little.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kMostOfACore = 0.005;
constexpr double kMostBytes = 40e6;
// It changes with each reading.
constexpr char kReading[] = "muster_node_agent_reading_seconds";

class NodeAgentTest : public testing::Test {
 protected:
  void TearDown() override {
    at_.ReplaceOperator("rollback muster --namespace=muster-system");
    at_.Shell("kubectl wait --for=delete namespace/muster-node-agents --timeout=120s");
  }

  std::string OfPod(const std::string& node, const std::string& path) {
    return at_.Shell(absl::StrCat(
        "kubectl get pods --namespace=muster-node-agents --field-selector=spec.nodeName=", node,
        " --output=jsonpath='{.items[0].", path, "}'"));
  }
  // Reads a value of the page that the agent of the node serves.
  double Metric(const std::string& node, const std::string& name) {
    const std::string address = OfPod(node, "status.podIP");
    return std::atof(at_.OnNode(node, absl::StrCat("curl -sf http://", address,
                                                   ":9402/metrics | sed -n 's/^", name, " //p'"))
                         .c_str());
  }
  // Waits for so many readings of the node's hardware, and asks seldom, because each answer costs.
  void AwaitReadings(const std::string& node, int count) {
    const absl::Time deadline = absl::Now() + absl::Minutes(4);
    double last = Metric(node, kReading);
    while (count > 0) {
      ASSERT_LT(absl::Now(), deadline) << "no reading after that of " << last << " s";
      absl::SleepFor(absl::Seconds(5));
      const double now = Metric(node, kReading);
      if (now != last) --count;
      last = now;
    }
  }

  InstalledOperator& at_ = InstalledOperator::Get();
};

TEST_F(NodeAgentTest, AgentsOnNodesWithoutGpusReportWhatThereIsAndCostLittle) {
  at_.ImportImage("node-agent");
  // There is no DNS.
  const std::string address = at_.Shell(
      "kubectl get service/muster-operator --namespace=muster-system"
      " --output=jsonpath='{.spec.clusterIP}'");
  at_.ReplaceOperator(absl::StrCat(
      "upgrade muster charts/muster --namespace=muster-system --reset-then-reuse-values"
      " --set=nodeAgent.enabled=true,nodeAgent.openMetrics=true,nodeAgent.coordinator=",
      address,
      ":7443"
      " --set=nodeAgent.image.repository=muster.test/node-agent,nodeAgent.image.tag=test"));
  at_.Shell(
      "kubectl rollout status daemonset/muster-node-agent --namespace=muster-node-agents"
      " --timeout=180s");
  for (const char* node : {"node-0", "node-1"}) {
    at_.Shell(absl::StrCat(
        "kubectl wait --for=jsonpath='{.metadata.annotations.muster\\.dev/hardware}' node/", node,
        " --timeout=120s"));
    EXPECT_THAT(at_.Shell(absl::StrCat("kubectl describe node ", node)),
                AllOf(HasSubstr("muster.dev/hardware"), Not(HasSubstr("muster.dev/gpu")),
                      Not(HasSubstr("GPUHealthy"))));
    EXPECT_THAT(at_.Shell(absl::StrCat("kubectl logs --namespace=muster-node-agents ",
                                       OfPod(node, "metadata.name"))),
                HasSubstr("not found what=GPUs"));
    EXPECT_EQ(Metric(node, "muster_node_gpus"), 0);
  }

  // The first readings are those of the start.
  AwaitReadings("node-0", 2);
  EXPECT_EQ(Metric("node-0", "muster_node_agent_connected"), 1);
  const absl::Time begin = absl::Now();
  const double before = Metric("node-0", "muster_node_agent_cpu_seconds_total");
  AwaitReadings("node-0", 6);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  const double used = Metric("node-0", "muster_node_agent_cpu_seconds_total") - before;
  const double of_a_core = used / seconds;
  const double bytes = Metric("node-0", "muster_node_agent_resident_bytes");
  std::printf("node agent: %.3f %% of a core over %.0f s, %.1f MB\n", 100 * of_a_core, seconds,
              bytes / 1e6);
  EXPECT_LE(of_a_core, kMostOfACore);
  EXPECT_LE(bytes, kMostBytes);
  EXPECT_GT(bytes, 0);
}

}  // namespace
}  // namespace muster::tests
