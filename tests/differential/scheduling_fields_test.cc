// Tests that placement reads only the fields that scheduling_pod.h and scheduling_node.h declare.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/field_mask.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/refusal.h"
#include "tests/differential/load_cluster.h"
#include "tests/differential/random_cluster.h"

namespace muster::control {
namespace {

template <size_t N>
kube::FieldMask MaskOf(const std::string_view (&fields)[N]) {
  return kube::FieldMask(std::vector<std::string_view>(std::begin(fields), std::end(fields)));
}

// The filters' verdicts on all waiting pods of the cluster.
std::vector<std::string> Verdicts(const Json& objects) {
  std::vector<std::string> verdicts;
  const ClusterSnapshot snapshot = LoadCluster(objects);
  for (const Json& json : objects.at("waiting")) {
    const SchedulingPod pod = ParseSchedulingPod(json).value();
    const NodeFilter filter(pod, snapshot);
    for (const Json& node : objects.at("nodes")) {
      std::string said =
          std::to_string(filter.Copies(*snapshot.FindNode(node.at("metadata").at("name"))));
      for (const NodeRefusal& refusal :
           filter.Explain(*snapshot.FindNode(node.at("metadata").at("name")))) {
        said += "; " + Sentence(refusal);
      }
      verdicts.push_back(said);
    }
  }
  return verdicts;
}

TEST(SchedulingFieldsTest, AreAllThatTheFiltersRead) {
  const kube::FieldMask pods = MaskOf(kSchedulingPodFields);
  const kube::FieldMask nodes = MaskOf(kSchedulingNodeFields);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Json whole = RandomCluster(seed).objects();
    Json masked = whole;
    for (const char* list : {"pods", "waiting"}) {
      for (Json& pod : masked[list]) pod = pods.Select(pod);
    }
    for (Json& node : masked["nodes"]) node = nodes.Select(node);
    ASSERT_EQ(Verdicts(masked), Verdicts(whole)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace muster::control
