// Tests the whole operator with a TCP port: the pods that it creates get everything their agents
// need to attach.
#include <poll.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/memory_files.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/app/operator_app.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/coordinator/identity/fake_token_api.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/http/server_url.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/tls_client.h"
#include "operator/web/http/http_client.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::control {
namespace {

TEST(IdentityAppTest, APodsAgentAttachesWithWhatThePodWasGiven) {
  kube::MemoryApiOptions memory_options;
  memory_options.random = [engine = std::mt19937_64(7)]() mutable { return engine(); };
  const auto memory = *kube::MemoryApi::Open(Clock::Real(), std::move(memory_options));
  FakeTokenApi api(*memory, Clock::Real());
  OperatorOptions options;
  options.coordinator_addresses = {"127.0.0.1:0"};
  options.http.address = "127.0.0.1:0";
  options.http.cluster = true;
  options.http.probe_address = "127.0.0.1:0";
  const auto app = *OperatorApp::Create(api, Clock::Real(), options);
  const absl::Status started = app->Start();
  ASSERT_TRUE(started.ok()) << started;
  Json job = kube::NewObject(kube::kTrainingJobs, {"default", "gpt"});
  job["spec"] = {
      {"workers", {{"count", 1}}},
      {"template", {{"spec", {{"containers", {{{"name", "worker"}, {"command", {"true"}}}}}}}}}};
  ASSERT_TRUE(memory->Create(kube::kTrainingJobs, job).ok());

  const absl::Time deadline = absl::Now() + kPatience;
  absl::StatusOr<Json> pod = absl::NotFoundError("none yet");
  while (!pod.ok() && absl::Now() < deadline) {
    poll(nullptr, 0, 5);
    pod = memory->Get(kube::kPods, {"default", "gpt-0-1"});
  }
  ASSERT_TRUE(pod.ok()) << pod.status();
  std::map<std::string, std::string> env;
  for (const Json& entry : (*pod)["spec"]["containers"][0]["env"]) {
    env[kube::StringAt(entry, {"name"})] = kube::StringAt(entry, {"value"});
  }

  MemoryFiles files;
  const std::string& token_path = env["MUSTER_COORDINATOR_TOKEN"];
  ASSERT_TRUE(files.MakeDirectories(ParentPath(token_path)).ok());
  const std::string token = api.Issue({"default", "gpt-0-1", kube::UidOf(*pod)});
  ASSERT_TRUE(WriteFileAtomically(files, token_path, token).ok());
  agent::CoordinatorClientOptions client_options;
  client_options.addresses = {env["MUSTER_COORDINATOR"]};
  client_options.identity = {env["MUSTER_COORDINATOR_CA"], token_path};
  agent::CoordinatorClient client(std::move(client_options), files);
  v1alpha1::AgentMessage hello;
  v1alpha1::WorkerId& worker = *hello.mutable_hello()->mutable_worker();
  worker.set_namespace_("default");
  worker.set_job("gpt");
  worker.set_job_uid(env["MUSTER_JOB_UID"]);
  worker.set_incarnation(1);
  worker.set_pod_uid(kube::UidOf(*pod));
  while (app->agents().attached() == 0 && absl::Now() < deadline) {
    pollfd fd = {client.poll_fd(), POLLIN, 0};
    poll(&fd, 1, 10);
    for (const agent::Event& event : client.Collect(absl::Now())) {
      if (std::holds_alternative<agent::StreamOpened>(event)) client.Send(hello);
    }
  }
  EXPECT_EQ(app->agents().attached(), 1);
  EXPECT_EQ(app->coordinator_identity()->counters().certificates_signed, 1);
  // HTTP on a cluster uses TLS with the same authority and serves callers whom the API server
  // allows; probes are plain HTTP.
  kube::RestConfig trust;
  trust.tls_server_name = kCoordinatorServerName;
  const auto http = *kube::MakeTlsClient(
      trust, *kube::ParseServerUrl(absl::StrCat("https://", app->http_address())),
      {.ca = app->coordinator_identity()->authority_pem()});
  const auto ask = [&](const std::string& bearer, const char* path) {
    return http->Get(path, {{"Authorization", "Bearer " + bearer}});
  };
  const std::string scraper = api.Issue({.ns = "monitoring", .audience = ""});
  ASSERT_TRUE(http->Get("/metrics")) << "no TLS connection";
  EXPECT_EQ(http->Get("/metrics")->status, 401);
  EXPECT_EQ(ask(token, "/metrics")->status, 401) << "a worker's token is for the coordinator";
  EXPECT_EQ(ask(scraper, "/metrics")->status, 403);
  const auto probes = MakeHttpClient(app->probe_address());
  EXPECT_EQ(probes->Get("/readyz")->status, 200);
  EXPECT_EQ(probes->Get("/metrics")->status, 404);
  EXPECT_EQ(httplib::Client("http://" + app->http_address()).Get("/metrics"), nullptr);

  const std::string reader = api.Issue({.ns = "reader", .audience = ""});
  api.Allow("system:serviceaccount:reader:default",
            *ParseJson(R"({"nonResourceAttributes": {"path": "/metrics", "verb": "get"}})"));
  api.Allow("system:serviceaccount:reader:default",
            *ParseJson(R"({"resourceAttributes": {"group": "muster.dev", "verb": "get",
                "resource": "trainingjobs", "namespace": "default", "name": "gpt"}})"));
  const auto stop = http->Post("/api/v1/jobs/default/gpt/stop",
                               {{"Authorization", "Bearer " + reader}}, "", "application/json");
  EXPECT_EQ(stop->status, 403);
  EXPECT_THAT(stop->body, testing::HasSubstr("change the TrainingJob itself"));
  EXPECT_FALSE((*memory->Get(kube::kTrainingJobs, {"default", "gpt"}))["spec"].contains("suspend"));
  const httplib::Result metrics = ask(reader, "/metrics");
  ASSERT_TRUE(metrics);
  for (const char* line :
       {"muster_api_requests_total{verb=\"create\",resource=\"tokenreviews\",code=\"201\"} ",
        "muster_api_requests_total{verb=\"create\",resource=\"secrets\",code=\"201\"} 1",
        "muster_certificate_expiration_timestamp_seconds{certificate=\"authority\"} ",
        "muster_certificate_expiration_timestamp_seconds{certificate=\"serving\"} "}) {
    EXPECT_THAT(metrics->body, testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace muster::control
