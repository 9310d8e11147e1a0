#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/yaml/yaml_adapter.h"
#include "operator/api/codec.h"
#include "operator/api/training_queue.h"
#include "operator/kube/resource_type.h"
#include "tests/crd/refused_manifests.h"
#include "tests/testenv/test_cluster.h"

// Tests the TrainingQueue's CustomResourceDefinition on a real API server: what it refuses and with
// which messages, and that it agrees with the local validation.

namespace muster::control {
namespace {

using tests::ExpectRefused;
using tests::Manifests;
using tests::ReadText;
using tests::TestNameOf;

tests::TestCluster& Cluster() {
  static tests::TestCluster* const cluster = [] {
    auto made = tests::TestCluster::Create("queue-crd").value();
    EXPECT_EQ(made->InstallCrd(), absl::OkStatus());
    return made.release();
  }();
  return *cluster;
}

class RefusedQueue : public testing::TestWithParam<std::string> {};

TEST_P(RefusedQueue, IsRefusedByTheServerAndLocally) {
  ExpectRefused(Cluster()
                    .Kubectl({"create", "--dry-run=server", "--validate=strict", "-f", GetParam()})
                    .value(),
                GetParam());
  TrainingQueue queue;
  const YamlDocument document = ParseYaml(ReadText(GetParam()));
  ASSERT_TRUE(document.readable);
  EXPECT_FALSE(DecodeTrainingQueue(document.json, UnknownFields::kReport, queue).empty());
}

INSTANTIATE_TEST_SUITE_P(QueueCrd, RefusedQueue,
                         testing::ValuesIn(Manifests("tests/crd/refused_queues")), TestNameOf);

// Both come from one source, so the server's defaults equal the local ones.
TEST(QueueCrd, ExamplesGetTheSameDefaultsFromBoth) {
  int queues = 0;
  for (const auto text : absl::StrSplit(ReadText("examples/queues/queues.yaml"), "\n---\n")) {
    const std::string manifest(text);
    const tests::CommandResult applied =
        Cluster()
            .Kubectl({"create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"},
                     manifest)
            .value();
    ASSERT_TRUE(applied.ok()) << applied.err;
    TrainingQueue queue;
    const FieldErrors errors =
        DecodeTrainingQueue(ParseYaml(manifest).json, UnknownFields::kReport, queue);
    ASSERT_TRUE(errors.empty()) << ToStatus(errors);
    const Json server = ParseJson(applied.out).value()["spec"];
    EXPECT_TRUE(server == EncodeMessage(queue.spec)) << DumpJson(server);
    ++queues;
  }
  EXPECT_EQ(queues, 3);
}

TEST(QueueCrd, IsClusterScopedAndHasAShortName) {
  const tests::CommandResult listed = Cluster().Kubectl({"get", "tq"}).value();
  EXPECT_TRUE(listed.ok()) << listed.err;
  const Json crd =
      Cluster().Get(kube::kCustomResourceDefinitions, "trainingqueues.muster.dev").value();
  EXPECT_EQ(crd["spec"]["scope"], "Cluster");
  EXPECT_FALSE(crd["spec"]["versions"][0]["subresources"].contains("scale"));
  for (const Json& condition : crd["status"]["conditions"]) {
    EXPECT_NE(condition.value("type", ""), "NonStructuralSchema");
  }
}

}  // namespace
}  // namespace muster::control
