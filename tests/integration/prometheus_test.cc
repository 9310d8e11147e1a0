// Tests that a real Prometheus scrapes the operator's /metrics.
#include <signal.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/process/process.h"
#include "base/testing/installed_folder.h"
#include "base/testing/reserved_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "tests/integration/operator_world.h"
#include "tests/testenv/test_cluster.h"

namespace muster::control {
namespace {

std::string Program(const std::string& name) {
  return absl::StrCat(InstalledFolder("prometheus"), "/usr/bin/", name);
}

// Fixture with a real operator and a training job of two workers; worker 0 has reported a step.
class PrometheusTest : public testing::Test {
 protected:
  void SetUp() override {
    world_.AddNode("node-1", 8);
    world_.http = "127.0.0.1:0";
    world_.StartOperator();
    world_.CreateJob(R"({
      "apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
      "metadata": {"namespace": "default", "name": "gpt"},
      "spec": {
        "workers": {"count": 2},
        "trainer": {"model": {"preset": "gpt2-nano"}, "data": {"uri": "/data/text"},
                    "train": {"steps": 100, "globalBatch": 8, "microBatch": 4, "sequence": 64}},
        "template": {"spec": {"containers": [{"name": "worker"}]}}
      }})");
    ASSERT_TRUE(world_.Until([&] { return world_.ActiveIn(1) == 2; }));
    world_.Agent(0)->ReportStep(1, 4.5);
    const std::string uid = world_.Job().uid;
    ASSERT_TRUE(world_.Until([&] { return world_.app->progress().Snapshot(uid).steps_seen == 1; }));
  }
  void TearDown() override {
    if (prometheus_ != nullptr) {
      EXPECT_TRUE(prometheus_->Signal(SIGKILL).ok());
    }
  }

  void StartPrometheus() {
    const std::string folder = absl::StrCat(testing::TempDir(), "/prometheus");
    const std::string config = absl::StrCat(testing::TempDir(), "/prometheus.yml");
    std::ofstream(config)
        << "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n"
        << "scrape_configs:\n- job_name: muster\n  authorization: {credentials_file: '"
        << world_.http_token_file() << "'}\n  static_configs:\n"
        << "  - targets: ['" << world_.app->http_address() << "']\n";
    auto launched = ProcessLauncher::Real().Launch(
        {.argv = {Program("prometheus"), "--config.file=" + config, "--storage.tsdb.path=" + folder,
                  "--web.listen-address=" + port_.address(), "--log.level=warn"},
         .env = {"HOME=" + testing::TempDir()},
         .die_with_parent = true});
    ASSERT_TRUE(launched.ok()) << launched.status() << "; tools/setup --test brings it";
    prometheus_ = *std::move(launched);
    http_ = std::make_unique<httplib::Client>("http://" + port_.address());
  }
  // The "data" of Prometheus's answer; null without an answer or without data.
  Json Data(const std::string& path) {
    const auto answer = http_->Get(path);
    if (!answer) return nullptr;
    const auto json = ParseJson(answer->body);
    return json.ok() && json->contains("data") ? (*json)["data"] : Json();
  }

  OperatorWorld world_;
  const ReservedPort port_ = *ReservedPort::Reserve();
  std::unique_ptr<Process> prometheus_;
  std::unique_ptr<httplib::Client> http_;
};

TEST_F(PrometheusTest, ScrapesOpenMetrics) {
  StartPrometheus();
  Json targets;
  ASSERT_TRUE(world_.Until([&] {
    targets = Data("/api/v1/targets");
    return !targets.is_null() && targets["activeTargets"].size() == 1 &&
           targets["activeTargets"][0]["health"] != "unknown";
  }));
  EXPECT_EQ(targets["activeTargets"][0]["health"], "up") << targets.dump(2);
  EXPECT_EQ(targets["activeTargets"][0]["lastError"], "");
  Json agents;
  ASSERT_TRUE(world_.Until([&] {
    agents = Data("/api/v1/query?query=muster_agents_attached");
    return !agents.is_null() && !agents["result"].empty();
  }));
  EXPECT_EQ(agents["result"][0]["value"][1], "2");
  const Json loss = Data("/api/v1/query?query=muster_job_loss");
  EXPECT_EQ(loss["result"][0]["metric"]["training_job"], "default/gpt") << loss.dump(2);
  const Json metadata = Data("/api/v1/metadata");
  EXPECT_EQ(metadata["muster_reconcile"][0]["type"], "counter") << metadata.dump(2);
  EXPECT_EQ(metadata["muster_reconcile_duration_seconds"][0]["type"], "histogram");
}

TEST_F(PrometheusTest, PromtoolAcceptsTheTextFormat) {
  httplib::Client http("http://" + world_.app->http_address());
  const std::string token = ReadFile(FileSystem(), world_.http_token_file()).value_or("");
  const auto text =
      http.Get("/metrics", {{"Accept", "text/plain"}, {"Authorization", "Bearer " + token}});
  ASSERT_TRUE(text);
  ASSERT_EQ(text->status, 200) << text->body;
  const std::string file = absl::StrCat(testing::TempDir(), "/metrics.txt");
  std::ofstream(file) << text->body;
  const auto checked = tests::TestCluster::Run(
      {"/bin/sh", "-c", absl::StrCat(Program("promtool"), " check metrics < ", file)});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->exit.code, 0) << checked->err;
  EXPECT_EQ(checked->err, "");
}

}  // namespace
}  // namespace muster::control
