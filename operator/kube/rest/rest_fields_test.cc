#include <atomic>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/api.h"
#include "operator/kube/api_error.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/http/tls_test_server.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/proto/wire_writer.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api_fixture.h"

// Tests of RestApi calls for some fields only: protobuf and partial objects.
namespace muster::kube {
namespace {

TEST_F(RestApiTest, FieldsThatAreAskedForComeAsProtobuf) {
  const FieldMask fields({"spec.nodeName"});
  std::string seen;
  bool json = false;
  Start([&](const std::string& request, Peer& peer) {
    seen = request;
    if (json) return peer.Answer(200, R"({"metadata":{"name":"a"},"spec":{"nodeName":"j"}})");
    return peer.Answer(200,
                       WireEnvelope("Pod", WirePod("a", "7", WireBytes(2, WireBytes(10, "n")))));
  });
  auto pod = api_->Get(kPods, kKey, {.fields = &fields});
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(*pod,
            (Json{{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", {{"name", "a"}, {"namespace", "ns"}, {"resourceVersion", "7"}}},
                  {"spec", {{"nodeName", "n"}}}}));
  EXPECT_TRUE(
      absl::StrContains(seen, "Accept: application/vnd.kubernetes.protobuf, application/json\r\n"));
  json = true;  // a server may answer in JSON
  pod = api_->Get(kPods, kKey, {.fields = &fields});
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(StringAt(*pod, {"spec", "nodeName"}), "j");
  ASSERT_TRUE(api_->Get(kPods, kKey).ok());
  EXPECT_TRUE(absl::StrContains(seen, "Accept: application/json\r\n"));
  config_.protobuf = false;
  Connect();
  ASSERT_TRUE(api_->Get(kPods, kKey, {.fields = &fields}).ok());
  EXPECT_TRUE(absl::StrContains(seen, "Accept: application/json\r\n"));
}

TEST_F(RestApiTest, OnlyMetadataIsRequestedWhereOnlyMetadataIsNeeded) {
  std::string seen;
  Start([&](const std::string& request, Peer& peer) {
    seen = request;
    return peer.Answer(200, R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)"
                            R"("metadata":{"name":"a","resourceVersion":"8"}})");
  });
  const CallOptions call{.fields = &IdentityFields()};
  for (const ResourceType& type : {kPods, kTrainingJobs}) {
    const auto stored = api_->UpdateStatus(type, NewObject(type, kKey), call);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(ResourceVersionOf(*stored), "8");
    EXPECT_EQ(StringAt(*stored, {"kind"}), type.kind);
    EXPECT_TRUE(absl::StrContains(
        seen,
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json\r\n"));
    EXPECT_EQ(absl::StrContains(seen, "application/vnd.kubernetes.protobuf;as="), type == kPods);
  }
}

TEST_F(RestApiTest, PodsAndBindingsAreSentAsProtobufWhereItHoldsAllTheirFields) {
  std::string seen;
  Start([&](const std::string& request, Peer& peer) {
    seen = request;
    return peer.Answer(201, kPod);
  });
  const auto is_protobuf = [&] {
    return absl::StrContains(seen, "Content-Type: application/vnd.kubernetes.protobuf\r\n") &&
           absl::StrContains(seen, std::string("\r\n\r\nk8s\0", 8));
  };
  Json pod = NewObject(kPods, kKey);
  pod["spec"] = {{"nodeName", "n"}};
  ASSERT_TRUE(api_->Create(kPods, pod).ok());
  EXPECT_TRUE(is_protobuf()) << seen;
  const Binding binding{kKey, "n", {"u"}};
  ASSERT_TRUE(api_->Bind(binding).ok());
  EXPECT_TRUE(is_protobuf()) << seen;
  // An unknown field is left to the server: it may know the field, or reports what is wrong.
  pod["spec"]["nobodysField"] = 1;
  ASSERT_TRUE(api_->Create(kPods, pod).ok());
  EXPECT_TRUE(absl::StrContains(seen, "Content-Type: application/json\r\n"));
  EXPECT_TRUE(absl::StrContains(seen, "\"nobodysField\":1"));
  config_.protobuf = false;
  Connect();
  ASSERT_TRUE(api_->Bind(binding).ok());
  EXPECT_TRUE(absl::StrContains(seen, "Content-Type: application/json\r\n"));
  EXPECT_TRUE(absl::StrContains(seen, "\"kind\":\"Binding\""));
}

TEST_F(RestApiTest, ADamagedProtobufAnswerIsNoAnswer) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(200, WireEnvelope("Pod", std::string("\x0a\x7f")));
  });
  const CallOptions call{.fields = &IdentityFields()};
  EXPECT_EQ(ReasonOf(GetStatus(call)), Reason::kInternalError);
  EXPECT_EQ(GetStatus(call).message(),
            server_->Url() + ": the answer to get of pods is a damaged protobuf object");
  // The write may have been carried out.
  EXPECT_EQ(ReasonOf(api_->Create(kPods, NewObject(kPods, kKey), call).status()), Reason::kTimeout);
}

TEST_F(RestApiTest, AListIsHandedOutAsItArrives) {
  std::atomic<int> seen{0};
  Start([&](const std::string&, Peer& peer) {
    const std::string list =
        WireEnvelope("PodList", WireBytes(1, WireBytes(2, "9")) + WireBytes(2, WirePod("a", "1")) +
                                    WireBytes(2, WirePod("b", "2")));
    peer.Write(TlsTestServer::kChunked);
    peer.Chunk(list.substr(0, list.size() - 20));
    // The second half is sent only after the first item was handed out.
    for (int i = 0; seen == 0 && i < 20000; ++i) absl::SleepFor(absl::Milliseconds(1));
    peer.Chunk(list.substr(list.size() - 20));
    peer.Write("0\r\n\r\n");
    return false;
  });
  ListOptions options;
  options.on_item = [&](const Json&) { ++seen; };
  const auto list =
      api_->List(kPods, options, {.timeout = absl::Seconds(30), .fields = &IdentityFields()});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(list->resource_version, "9");
}

TEST_F(RestApiTest, HalfAListIsNoList) {
  const std::string body =
      WireEnvelope("PodList", WireBytes(1, WireBytes(2, "9")) + WireBytes(2, WirePod("a", "1")));
  Start([&](const std::string&, Peer& peer) {
    return peer.Answer(200, body.substr(0, body.size() - 8));
  });
  const auto list = api_->List(kPods, {}, {.fields = &IdentityFields()});
  EXPECT_EQ(list.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(list.status().message(),
            server_->Url() + ": the answer to list of pods is a damaged list: it ends too early");
}

TEST_F(RestApiTest, ARefusalInProtobufKeepsTheServersWords) {
  Start([](const std::string&, Peer& peer) {
    return peer.Answer(404, WireEnvelope("Status", WireBytes(3, "no such pod") +
                                                       WireBytes(4, "NotFound") + WireInt(6, 404)));
  });
  const absl::Status status = GetStatus({.fields = &IdentityFields()});
  EXPECT_EQ(ReasonOf(status), Reason::kNotFound);
  EXPECT_EQ(status.message(), "no such pod");
}

}  // namespace
}  // namespace muster::kube
