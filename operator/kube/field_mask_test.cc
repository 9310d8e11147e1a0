#include "operator/kube/field_mask.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace muster::kube {
namespace {

TEST(FieldMaskTest, SelectsThroughObjectsAndLists) {
  const FieldMask mask({"spec.containers.resources", "metadata.labels[muster.dev/job]", "status"});
  const Json pod = *ParseJson(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5",
                 "labels": {"muster.dev/job": "j", "app": "x"}, "managedFields": [{"a": 1}]},
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}},
                                              {"name": "d"}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready"}]}})");
  EXPECT_EQ(mask.Select(pod), *ParseJson(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5",
                 "labels": {"muster.dev/job": "j"}},
    "spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready"}]}})"));
}

TEST(FieldMaskTest, AWholeFieldTakesInItsParts) {
  for (const FieldMask& mask :
       {FieldMask({"spec", "spec.nodeName"}), FieldMask({"spec.nodeName", "spec"})}) {
    const Json pod = {{"spec", {{"nodeName", "n"}, {"hostname", "h"}}}};
    EXPECT_EQ(mask.Select(pod), pod);
  }
}

TEST(FieldMaskTest, IdentityIsAlwaysThere) {
  const Json object = {{"kind", "Pod"}, {"metadata", {{"name", "a"}, {"labels", {{"a", "b"}}}}}};
  EXPECT_EQ(IdentityFields().Select(object),
            (Json{{"kind", "Pod"}, {"metadata", {{"name", "a"}}}}));
}

TEST(FieldMaskTest, FieldsOfAnotherTypeAreLeftOut) {
  const FieldMask mask({"spec.a.b", "status.c"});
  EXPECT_EQ(mask.Select({{"spec", "text"}, {"status", {{"c", nullptr}}}}),
            (Json{{"status", {{"c", nullptr}}}}));
  EXPECT_EQ(mask.Select({{"spec", {{"a", 7}}}}), Json::object());
}

}  // namespace
}  // namespace muster::kube
