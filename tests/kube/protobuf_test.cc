// Tests objects in protobuf, read and written by muster's own schema, against a real API server.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/proto/proto_schema.h"
#include "operator/kube/proto/proto_writer.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "tests/kube/rest_api_cluster.h"

namespace muster::kube {
namespace {

using ProtobufTest = RestApiClusterTest;

// Collects the paths of all fields that the schema can read.
void AddPaths(const ProtoMessage& message, const std::string& prefix,
              std::set<std::string>& paths) {
  for (const ProtoField& field : message) {
    const std::string path = absl::StrCat(prefix, std::string(field.name));
    if (field.name.empty()) {
      AddPaths(*field.message, prefix, paths);
    } else if (field.message != nullptr) {
      AddPaths(*field.message, path + ".", paths);
    } else {
      paths.insert(path);
    }
  }
}

// Returns true if any object reached by the path, through every element of lists, has the field.
bool Has(const Json& json, std::string_view path) {
  if (path.empty()) return true;
  if (json.is_array()) {
    return std::any_of(json.begin(), json.end(), [&](const Json& one) { return Has(one, path); });
  }
  const size_t dot = path.find('.');
  const auto field = json.find(std::string(path.substr(0, dot)));
  return field != json.end() &&
         Has(*field, dot == std::string_view::npos ? "" : path.substr(dot + 1));
}

// Expects that the server's pod has every field that placement reads; otherwise the comparison
// would not cover it.
void ExpectSchedulingFieldsThere(const std::set<std::string>& paths, const Json& pod) {
  for (const std::string& path : paths) {
    const bool read =
        std::any_of(std::begin(control::kSchedulingPodFields),
                    std::end(control::kSchedulingPodFields), [&](std::string_view field) {
                      return path == field || path.rfind(std::string(field) + ".", 0) == 0;
                    });
    // Fields that this pod cannot have: it is not being deleted, has no node, and its containers
    // have not started.
    const bool cannot_be = path == "metadata.deletionTimestamp" || path == "spec.nodeName" ||
                           path == "spec.overhead" ||
                           path.rfind("status.initContainerStatuses.", 0) == 0 ||
                           path.find(".claims.") != std::string::npos ||
                           path.find("Affinity.preferred") != std::string::npos ||
                           path.find("ntiAffinity.required") != std::string::npos;
    EXPECT_TRUE(!read || cannot_be || Has(pod, path)) << path;
  }
}

// Removes nulls, empty strings and empty containers: JSON includes some unset fields.
Json WithoutEmptyValues(const Json& json) {
  if (!json.is_structured()) return json;
  Json kept = json.is_array() ? Json::array() : Json::object();
  for (const auto& [name, value] : json.items()) {
    const Json part = WithoutEmptyValues(value);
    if (part.is_null() || part == "" || (part.is_structured() && part.empty())) continue;
    json.is_array() ? kept.push_back(part) : void(kept[name] = part);
  }
  return kept;
}

constexpr char kFullPod[] = R"json({
    "metadata": {"labels": {"app": "x"}, "annotations": {"n": "é😀"}, "finalizers": ["a.b/c"],
                 "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1",
                                      "controller": true, "blockOwnerDeletion": false}]},
    "spec": {"schedulerName": "none", "nodeSelector": {"zone": "a"}, "hostname": "h", "subdomain": "s",
      "terminationGracePeriodSeconds": 0, "activeDeadlineSeconds": 3600, "restartPolicy": "Never",
      "schedulingGates": [{"name": "a.b/gate"}],
      "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute",
                       "tolerationSeconds": 0}, {"operator": "Exists"}],
      "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always",
                          "ports": [{"name": "q", "containerPort": 82, "hostPort": 82, "protocol": "TCP", "hostIP": "10.0.0.9"}],
                          "resources": {"requests": {"cpu": "3"}, "limits": {"memory": "1Gi"}}}],
      "hostNetwork": true, "priority": 0, "dnsPolicy": "Default", "hostPID": true, "hostIPC": true,
      "shareProcessNamespace": false, "automountServiceAccountToken": false, "enableServiceLinks": false,
      "imagePullSecrets": [{"name": "pull"}],
      "securityContext": {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3, "runAsNonRoot": true,
                          "fsGroupChangePolicy": "Always", "seccompProfile": {"type": "RuntimeDefault"},
                          "appArmorProfile": {"type": "Localhost", "localhostProfile": "l"}},
      "resourceClaims": [{"name": "g", "resourceClaimName": "gpus"},
                         {"name": "h", "resourceClaimTemplateName": "t"}],
      "resources": {"requests": {"cpu": "5"}, "limits": {"memory": "8Gi"}},
      "affinity": {
        "nodeAffinity": {
          "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}],
             "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
          "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 3, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]},
        "podAffinity": {
          "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "namespaces": ["n1"], "matchLabelKeys": ["app"],
             "mismatchLabelKeys": ["tier"],
             "labelSelector": {"matchLabels": {"x": "y"},
                               "matchExpressions": [{"key": "z", "operator": "NotIn", "values": ["w"]}]},
             "namespaceSelector": {"matchLabels": {"team": "a"},
               "matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}}],
          "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {}}}]},
        "podAntiAffinity": {
          "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "host", "namespaceSelector": {}, "labelSelector": {}}]}},
      "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3,
         "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["app"],
         "labelSelector": {"matchLabels": {"x": "y"}}}],
      "volumes": [
        {"name": "a", "persistentVolumeClaim": {"claimName": "c", "readOnly": true}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {
          "accessModes": ["ReadWriteOnce"], "storageClassName": "s", "volumeMode": "Block",
          "resources": {"requests": {"storage": "1Gi"}}}}}},
        {"name": "c", "gcePersistentDisk": {"pdName": "p", "fsType": "ext4", "partition": 1, "readOnly": true}},
        {"name": "d", "awsElasticBlockStore": {"volumeID": "v", "fsType": "ext4", "partition": 2, "readOnly": true}},
        {"name": "e", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0, "readOnly": true}},
        {"name": "f", "rbd": {"monitors": ["m1", "m2"], "image": "i", "pool": "q", "readOnly": true}},
        {"name": "g", "hostPath": {"path": "/h", "type": "Directory"}},
        {"name": "h", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, {"name": "i", "emptyDir": {}},
        {"name": "j", "secret": {"secretName": "s", "optional": false, "defaultMode": 256,
                                 "items": [{"key": "k", "path": "p", "mode": 0}]}},
        {"name": "k", "nfs": {"server": "s", "path": "/p", "readOnly": true}},
        {"name": "l", "configMap": {"name": "m", "optional": true, "items": [{"key": "k", "path": "p"}]}},
        {"name": "m", "projected": {"defaultMode": 292, "sources": [
          {"secret": {"name": "s", "items": [{"key": "k", "path": "a"}], "optional": true}},
          {"configMap": {"name": "m", "items": [{"key": "k", "path": "b"}]}},
          {"serviceAccountToken": {"audience": "u", "expirationSeconds": 3600, "path": "t"}},
          {"downwardAPI": {"items": [
            {"path": "n", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}, "mode": 256},
            {"path": "c", "resourceFieldRef": {"containerName": "worker", "resource": "limits.cpu",
                                               "divisor": "1m"}}]}}]}}],
      "containers": [
        {"name": "worker", "image": "x:1", "command": ["a"], "args": ["b", "c"], "workingDir": "/w",
         "env": [{"name": "A", "value": "$(B) é"}, {"name": "E"},
                 {"name": "B", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
                 {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k", "optional": true}}},
                 {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                 {"name": "F", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1m"}}}],
         "envFrom": [{"prefix": "P_", "configMapRef": {"name": "m", "optional": false}}, {"secretRef": {"name": "s"}}],
         "volumeMounts": [{"name": "h", "mountPath": "/m", "readOnly": true, "subPath": "s",
                           "mountPropagation": "None", "recursiveReadOnly": "Disabled"},
                          {"name": "i", "mountPath": "/i", "subPathExpr": "$(A)"}],
         "imagePullPolicy": "Always", "terminationMessagePath": "/t", "terminationMessagePolicy": "FallbackToLogsOnError",
         "stdin": true, "stdinOnce": true, "tty": true,
         "securityContext": {"capabilities": {"add": ["SYS_PTRACE"], "drop": ["ALL"]}, "privileged": false,
                             "runAsUser": 0, "runAsGroup": 7, "runAsNonRoot": false, "procMount": "Default",
                             "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
                             "seccompProfile": {"type": "Localhost", "localhostProfile": "x"},
                             "appArmorProfile": {"type": "RuntimeDefault"}},
         "ports": [{"name": "p", "containerPort": 81, "hostPort": 81, "protocol": "UDP", "hostIP": "10.0.0.9"}],
         "resources": {"requests": {"cpu": "500m", "example.com/a": "2"},
                       "limits": {"memory": "1Gi", "example.com/a": "2"}}},
        {"name": "side", "image": "y"}]}})json";
constexpr char kFullStatus[] = R"({
    "phase": "Failed", "reason": "Evicted", "message": "low", "hostIP": "10.0.0.1", "podIP": "10.1.0.1",
    "startTime": "2026-01-02T03:04:05Z", "nominatedNodeName": "n",
    "conditions": [{"type": "Ready", "status": "False", "reason": "r", "message": "m",
                    "observedGeneration": 1, "lastTransitionTime": "2026-01-02T03:04:05Z"}],
    "containerStatuses": [
      {"name": "worker", "image": "x:1", "imageID": "", "ready": false, "restartCount": 2,
       "started": false, "containerID": "c://1", "allocatedResources": {"cpu": "2"},
       "resources": {"requests": {"cpu": "3"}, "limits": {"memory": "2Gi"}},
       "state": {"terminated": {"exitCode": 0, "signal": 9, "reason": "OOMKilled", "message": "m",
                                "startedAt": "2026-01-02T03:04:05Z", "finishedAt": null}},
       "lastState": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}},
      {"name": "side", "image": "y", "imageID": "", "ready": true, "restartCount": 0,
       "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}]})";

// The pod has every field that the schema has.
TEST_F(ProtobufTest, APodWrittenAsProtobufIsTheOneWrittenAsJson) {
  Json pod = *ParseJson(kFullPod);
  pod["metadata"]["namespace"] = cluster_->name_space();
  pod["metadata"].erase("ownerReferences");
  pod["metadata"].erase("finalizers");
  EXPECT_TRUE(WriteProto(pod, ProtoPod()).has_value());
  config_.protobuf = false;
  const auto json_api = *RestApi::Create(config_);
  SetName(pod, "in-protobuf");
  const auto in_protobuf = api_->Create(kPods, pod);
  SetName(pod, "in-json");
  const auto in_json = json_api->Create(kPods, pod);
  ASSERT_TRUE(in_protobuf.ok() && in_json.ok()) << in_protobuf.status() << in_json.status();
  EXPECT_EQ(in_protobuf->at("spec"), in_json->at("spec"));
  EXPECT_EQ(in_protobuf->at("metadata").at("labels"), in_json->at("metadata").at("labels"));
  EXPECT_EQ(in_protobuf->at("metadata").at("annotations"),
            in_json->at("metadata").at("annotations"));
}

// Compares the schema's field numbers and names with the server's: requests every field of the
// schema in both encodings.
TEST_F(ProtobufTest, ProtobufAndJsonHoldTheSameFields) {
  Json pod = *ParseJson(kFullPod);
  SetName(pod, "full");
  pod["metadata"]["namespace"] = cluster_->name_space();
  // The garbage collector would delete the pod without its owner.
  const auto owner = api_->Create(kConfigMaps, ConfigMap("o"));
  ASSERT_TRUE(owner.ok()) << owner.status();
  pod["metadata"]["ownerReferences"][0]["uid"] = UidOf(*owner);
  auto made = api_->Create(kPods, pod);
  ASSERT_TRUE(made.ok()) << made.status();
  (*made)["status"] = *ParseJson(kFullStatus);
  made = api_->UpdateStatus(kPods, *made);
  ASSERT_TRUE(made.ok()) << made.status();
  Json node = NewObject(kNodes, {"", cluster_->Unique("node")});
  node["spec"] = {{"unschedulable", true},
                  {"providerID", "p"},
                  {"taints", {{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}}}};
  node["status"] = {{"allocatable", {{"cpu", "4"}, {"nvidia.com/gpu", "8"}}},
                    {"capacity", {{"cpu", "5"}}},
                    {"addresses", {{{"type", "Hostname"}, {"address", "h"}}}},
                    {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "é"}}}}};
  ASSERT_TRUE(api_->Create(kNodes, node).ok());
  config_.protobuf = false;
  const auto json_api = *RestApi::Create(config_);
  for (const auto& [type, key] : {std::pair(kPods, Key("full")), std::pair(kNodes, KeyOf(node))}) {
    std::set<std::string> paths;
    AddPaths(*ProtoMessageOf(type), "", paths);
    const FieldMask fields(std::vector<std::string_view>(paths.begin(), paths.end()));
    auto from_proto = api_->Get(type, key, {.fields = &fields});
    auto from_json = json_api->Get(type, key, {.fields = &fields});
    ASSERT_TRUE(from_proto.ok() && from_json.ok()) << from_proto.status() << from_json.status();
    // The node's controllers may write between the two reads.
    while (ResourceVersionOf(*from_proto) != ResourceVersionOf(*from_json)) {
      from_proto = api_->Get(type, key, {.fields = &fields});
      from_json = json_api->Get(type, key, {.fields = &fields});
      ASSERT_TRUE(from_proto.ok() && from_json.ok()) << from_proto.status() << from_json.status();
    }
    EXPECT_EQ(WithoutEmptyValues(*from_proto), WithoutEmptyValues(fields.Select(*from_json)));
    EXPECT_FALSE(from_proto->contains("managedFields"));
    if (type == kPods) {
      ExpectSchedulingFieldsThere(paths, *from_json);
      // An empty selector selects everything, an absent one nothing.
      const Json& kept = from_proto->at("spec")
                             .at("affinity")
                             .at("podAntiAffinity")
                             .at("requiredDuringSchedulingIgnoredDuringExecution")[0];
      EXPECT_EQ(kept.at("labelSelector"), Json::object());
      EXPECT_EQ(kept.at("namespaceSelector"), Json::object());
    }
  }
  EXPECT_TRUE(api_->Delete(kNodes, KeyOf(node)).ok());
  EXPECT_TRUE(api_->PatchMetadata(kPods, Key("full"), {{"finalizers", nullptr}}).ok());
  EXPECT_EQ(ReasonOf(api_->Get(kPods, Key("nobody"), {.fields = &IdentityFields()}).status()),
            Reason::kNotFound);
}

}  // namespace
}  // namespace muster::kube
