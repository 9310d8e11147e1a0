#include "operator/kube/proto/proto_object.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/proto/wire_reader.h"
#include "operator/kube/proto/wire_writer.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {
namespace {

std::unique_ptr<ProtoPlan> PodPlan(const std::vector<std::string_view>& paths) {
  return ProtoPlan::Make(FieldMask(paths).root(), *ProtoMessageOf(kPods));
}

// Returns a pod that has unselected fields among the selected ones.
std::string Pod() {
  const std::string owner = WireBytes(5, "v1") + WireBytes(1, "TrainingJob") + WireBytes(3, "j") +
                            WireBytes(4, "u-j") + WireInt(6, 1);
  const std::string meta = WireMeta("a", "5") + WireBytes(5, "u-a") + WireInt(7, 0) +
                           WireBytes(8, WireInt(1, 1'700'000'000) + WireInt(2, 0)) +
                           WireEntry(11, "app", "x") + WireEntry(11, "muster.dev/job", "j") +
                           WireBytes(13, owner) + WireBytes(17, std::string(1000, 'm'));
  const std::string container = WireBytes(1, "worker") + WireEntry(7, "K", "V") +
                                WireBytes(8, WireEntry(2, "cpu", WireBytes(1, "500m")) +
                                                 WireEntry(1, "memory", WireBytes(1, "1Gi")));
  const std::string spec = WireBytes(1, "volume") + WireBytes(2, container) +
                           WireBytes(2, container) + WireBytes(10, "n1") + WireInt(25, 0) +
                           WireEntry(7, "zone", "z");
  const std::string terminated = WireInt(1, 0) + WireInt(2, 0) + WireBytes(3, "Completed");
  const std::string status =
      WireBytes(1, "Failed") + WireBytes(3, "") +
      WireBytes(2, WireBytes(1, "Ready") + WireBytes(2, "False") + WireBytes(3, "")) +
      WireBytes(8, WireBytes(1, "worker") + WireBytes(2, WireBytes(3, terminated)));
  return WireBytes(1, meta) + WireBytes(2, spec) + WireBytes(3, status);
}

TEST(ProtoObjectTest, ReadsWhatJsonWouldHaveShown) {
  const auto plan = PodPlan(
      {"metadata.labels[muster.dev/job]", "metadata.ownerReferences", "metadata.creationTimestamp",
       "metadata.generation", "spec.containers.resources", "spec.nodeName", "spec.nodeSelector",
       "spec.priority", "status.phase", "status.message", "status.conditions.type",
       "status.conditions.lastTransitionTime", "status.containerStatuses.state.terminated"});
  ASSERT_NE(plan, nullptr);
  const auto pod = plan->Read(Pod());
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json resources = {
      {"resources", {{"requests", {{"cpu", "500m"}}}, {"limits", {{"memory", "1Gi"}}}}}};
  EXPECT_EQ(
      *pod,
      (Json{{"metadata",
             {{"name", "a"},
              {"namespace", "ns"},
              {"uid", "u-a"},
              {"resourceVersion", "5"},
              {"creationTimestamp", "2023-11-14T22:13:20Z"},
              {"labels", {{"muster.dev/job", "j"}}},
              {"ownerReferences", Json::array({{{"apiVersion", "v1"},
                                                {"kind", "TrainingJob"},
                                                {"name", "j"},
                                                {"uid", "u-j"},
                                                {"controller", true}}})}}},
            {"spec",
             {{"containers", Json::array({resources, resources})},
              {"nodeName", "n1"},
              {"nodeSelector", {{"zone", "z"}}},
              {"priority", 0}}},
            {"status",
             {{"phase", "Failed"},
              {"conditions", Json::array({{{"type", "Ready"}}})},
              {"containerStatuses",
               Json::array({{{"state",
                              {{"terminated", {{"exitCode", 0}, {"reason", "Completed"}}}}}}})}}}}))
      << pod->dump(1);
}

TEST(ProtoObjectTest, FieldsOutsideTheSchemaAreRequestedAsJson) {
  EXPECT_EQ(PodPlan({"spec"}), nullptr);
  EXPECT_EQ(PodPlan({"spec.volumes"}), nullptr);
  EXPECT_EQ(PodPlan({"spec.containers.lifecycle"}), nullptr);
  EXPECT_EQ(PodPlan({"status.phase.x"}), nullptr);
  EXPECT_EQ(PodPlan({"metadata.labels.a.b"}), nullptr);
  EXPECT_NE(PodPlan({"metadata"}), nullptr);
  EXPECT_EQ(ProtoMessageOf(kTrainingJobs), nullptr);
  EXPECT_EQ(ProtoMessageOf(kConfigMaps), nullptr);
}

TEST(ProtoObjectTest, CutAnywhereItIsRefusedOrWhole) {
  const auto plan = PodPlan({"metadata", "spec.containers.resources", "status.conditions"});
  const std::string whole = Pod();
  int read = 0;
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    const auto pod = plan->Read(std::string_view(whole).substr(0, cut));
    if (pod.ok()) ++read;  // between two fields of the outermost message
    if (!pod.ok()) {
      EXPECT_EQ(pod.status().code(), absl::StatusCode::kDataLoss);
    }
  }
  EXPECT_EQ(read, 3);
}

TEST(ProtoObjectTest, UnknownFieldsArePassedOver) {
  const auto plan = PodPlan({"spec.nodeName"});
  const std::string fixed = WireVarint(90 << 3 | 1) + std::string(8, 'x') +  // 64 bits
                            WireVarint(91 << 3 | 5) + std::string(4, 'y');   // 32 bits
  const std::string spec =
      fixed + WireInt(1000, 7) + WireBytes(10, "n") + WireBytes(536870911, "z");
  const auto pod = plan->Read(WireBytes(2, spec) + WireInt(99, 1));
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(*pod, (Json{{"spec", {{"nodeName", "n"}}}}));
}

TEST(ProtoObjectTest, WrongTypesAreRefused) {
  const auto plan = PodPlan({"spec.nodeName", "spec.priority", "metadata.creationTimestamp",
                             "metadata.labels", "spec.containers.resources"});
  for (const std::string& bad : {
           WireInt(2, 7),                        // no message
           WireBytes(2, WireInt(10, 7)),         // a name that is a number
           WireBytes(2, WireBytes(25, "x")),     // a number that is text
           WireBytes(2, WireBytes(10, "\xff")),  // no UTF-8
           WireBytes(2,
                     WireBytes(10, std::string_view("\xc3\xa9").substr(0, 1))),  // half a character
           WireBytes(1, WireEntry(11, "\xff", "v")), WireBytes(1, WireEntry(11, "k", "\xff")),
           WireBytes(1, WireBytes(11, "\x0a\x7f")),                    // an entry that is cut
           WireBytes(1, WireBytes(8, WireInt(1, uint64_t{1} << 60))),  // beyond year 9999
           WireBytes(2, WireBytes(2, WireBytes(8, WireEntry(1, "cpu", "\x0a\x7f")))),
           std::string("\x13"),         // a group
           std::string("\x00\x00", 2),  // field 0
           std::string(11, '\xff'),     // a varint without end
       }) {
    EXPECT_EQ(plan->Read(bad).status().code(), absl::StatusCode::kDataLoss) << bad.size();
  }
}

TEST(ProtoObjectTest, ALengthBeyondTheEndIsCut) {
  WireReader reader("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  WireField field;
  EXPECT_FALSE(reader.Next(field));
  EXPECT_FALSE(reader.ok());
  EXPECT_TRUE(reader.cut());
}

TEST(ProtoObjectTest, ManagedFieldsAreNeverAsked) {
  const auto plan = PodPlan({"metadata"});
  EXPECT_EQ((*plan->Read(Pod()))["metadata"].count("managedFields"), 0u);
}

TEST(ProtoObjectTest, ARefusalIsItsStatus) {
  const std::string status = WireBytes(1, "") + WireBytes(2, "Failure") +
                             WireBytes(3, "no such pod") + WireBytes(4, "NotFound") +
                             WireBytes(5, WireBytes(4, WireBytes(3, "metadata.uid"))) +
                             WireInt(6, 404);
  const auto json = ReadProtoStatus(WireEnvelope("Status", status));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*json, (Json{{"kind", "Status"},
                         {"status", "Failure"},
                         {"message", "no such pod"},
                         {"reason", "NotFound"},
                         {"details", {{"causes", Json::array({{{"field", "metadata.uid"}}})}}},
                         {"code", 404}}));
  EXPECT_FALSE(ReadProtoStatus("{}").ok());
  EXPECT_FALSE(ReadProtoStatus(std::string("k8s\0\x0a", 5)).ok());
}

}  // namespace
}  // namespace muster::kube
