#include "operator/kube/proto/proto_writer.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/proto/proto_object.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/proto/wire_writer.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {
namespace {

std::optional<std::string> Write(std::string_view json) {
  return WriteProto(Json::parse(json), *ProtoMessageOf(kPods));
}

TEST(ProtoWriterTest, WritesFieldsUnderTheirNumbers) {
  EXPECT_EQ(Write(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})"),
            WireBytes(1, WireBytes(1, "a")));
  EXPECT_EQ(Write(R"({"spec": {"priority": -1, "hostNetwork": true, "nodeName": null}})"),
            WireBytes(2, WireInt(11, 1) + WireInt(25, ~uint64_t{0})));
  EXPECT_EQ(Write(R"({"metadata": {"labels": {"a": "1", "b": ""}, "finalizers": ["x", "y"]}})"),
            WireBytes(1, WireBytes(14, "x") + WireBytes(14, "y") + WireEntry(11, "a", "1") +
                             WireEntry(11, "b", "")));
  EXPECT_EQ(Write(R"({"spec": {"overhead": {"cpu": "1"}}})"),
            WireBytes(2, WireEntry(32, "cpu", WireBytes(1, "1"))));
}

// An empty value of a pointer in Go differs from an absent one.
TEST(ProtoWriterTest, EmptyMessagesAndZerosAreWritten) {
  EXPECT_EQ(Write(R"({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}})"),
            WireBytes(2, WireBytes(1, WireBytes(1, "v") + WireBytes(2, WireBytes(2, "")))));
  EXPECT_EQ(Write(R"({"spec": {"automountServiceAccountToken": false}})"),
            WireBytes(2, WireInt(21, 0)));
}

TEST(ProtoWriterTest, FieldsOfOneMessageAmongAnothersGoTogether) {
  const std::string key = R"({"spec": {"containers": [{"env": [{"name": "K",
      "valueFrom": {"secretKeyRef": {"key": "k", "name": "s", "optional": false}}}]}]}})";
  const std::string ref = WireBytes(2, "k") + WireInt(3, 0) + WireBytes(1, WireBytes(1, "s"));
  const std::string env = WireBytes(1, "K") + WireBytes(3, WireBytes(4, ref));
  EXPECT_EQ(Write(key), WireBytes(2, WireBytes(2, WireBytes(7, env))));
}

TEST(ProtoWriterTest, ValuesOutsideTheSchemaAreLeftToJson) {
  for (const char* json : {
           R"({"spec": {"nobodysField": 1}})",
           R"({"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": 80}}}]}})",
           R"({"spec": {"priority": "1"}})",
           R"({"spec": {"priority": 1.5}})",
           R"({"spec": {"priority": 2147483648}})",
           R"({"spec": {"priority": -2147483649}})",
           R"({"spec": {"hostNetwork": 1}})",
           R"({"spec": {"nodeName": 1}})",
           R"({"spec": {"containers": {"name": "worker"}}})",
           R"({"spec": {"containers": ["worker"]}})",
           R"({"spec": {"containers": [null]}})",
           R"({"spec": {"containers": [{"resources": {"limits": {"cpu": 1}}}]}})",
           R"({"spec": []})",
           R"({"spec": {"nodeSelector": {"a": null}}})",
           R"({"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"}})",
           R"({"spec": {"kind": "Pod"}})",
           R"([])",
       }) {
    EXPECT_EQ(Write(json), std::nullopt) << json;
  }
  Json pod = {{"spec", {{"nodeName", "\xff"}}}};
  EXPECT_EQ(WriteProto(pod, *ProtoMessageOf(kPods)), std::nullopt);
  pod["spec"]["nodeName"] = "n";
  pod["spec"]["priority"] = int64_t{1} << 40;
  EXPECT_EQ(WriteProto(pod, *ProtoMessageOf(kPods)), std::nullopt);
}

TEST(ProtoWriterTest, IsWrappedInAnEnvelope) {
  const Json binding = Json::parse(R"({"metadata": {"name": "a", "namespace": "ns", "uid": "u"},
                                       "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}})");
  const auto body = WriteProtoEnvelope("v1", "Binding", binding, ProtoBinding());
  ASSERT_TRUE(body.has_value());
  const auto envelope = OpenEnvelope(*body);
  ASSERT_TRUE(envelope.ok()) << envelope.status();
  EXPECT_EQ(envelope->kind, "Binding");
  EXPECT_EQ(envelope->object,
            WireBytes(1, WireBytes(1, "a") + WireBytes(3, "ns") + WireBytes(5, "u")) +
                WireBytes(2, WireBytes(5, "v1") + WireBytes(1, "Node") + WireBytes(3, "n")));
}

}  // namespace
}  // namespace muster::kube
