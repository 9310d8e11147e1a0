// A node agent as a process of its own, with a fake driver and a folder in place of /sys, beside a
// live operator with a TCP port: the Node gets labels and its condition, and reports about another
// node than the agent's own are refused.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/notices/fake_metadata.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "base/testing/reserved_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/app/operator_app.h"
#include "operator/coordinator/identity/fake_token_api.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/core/state/view.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::control {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr char kGpu[] =
    "driver 550.90.07\n"
    "gpu uuid=GPU-a name=NVIDIA_H100_80GB_HBM3 pci=00000000:1B:00.0 memory=85520809984 used=1 "
    "util=97 power=412500 temp=61 ecc_corrected=0 ecc_uncorrected=0 links=2 clique=7 "
    "cluster=00112233445566778899aabbccddeeff\n";

class NodeAgentTest : public testing::Test {
 protected:
  NodeAgentTest() {
    char folder[] = "/tmp/muster-node-XXXXXX";
    folder_ = ::mkdtemp(folder);
    kube::MemoryApiOptions memory;
    memory.random = [engine = std::mt19937_64(7)]() mutable { return engine(); };
    memory_ = *kube::MemoryApi::Open(Clock::Real(), std::move(memory));
    api_ = std::make_unique<FakeTokenApi>(*memory_, Clock::Real());
    Json node = kube::NewObject(kube::kNodes, {"", "gpu-7"});
    EXPECT_TRUE(memory_->Create(kube::kNodes, node).ok());
    node = Node();
    node["status"] = {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}},
                      {"allocatable",
                       {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "10"}, {"nvidia.com/gpu", "1"}}}};
    EXPECT_TRUE(memory_->UpdateStatus(kube::kNodes, node).ok());
    OperatorOptions options;
    options.coordinator_addresses = {"127.0.0.1:0"};
    options.node_agents = {"muster-node-agents", "muster-node-agent"};
    app_ = *OperatorApp::Create(*api_, Clock::Real(), std::move(options));
    const absl::Status started = app_->Start();
    EXPECT_TRUE(started.ok()) << started;
    Write("ca.pem", app_->coordinator_identity()->authority_pem());
    Write("token", api_->Issue({.ns = "muster-node-agents",
                                .pod = "agent-x",
                                .pod_uid = "u1",
                                .account = "muster-node-agent",
                                .node = "gpu-7"}));
    Write("sys/bus/pci/devices/0000:1b:00.0/numa_node", "1\n");
    Write("sys/class/infiniband/mlx5_0/node_guid", "0000:0000:0010:0002\n");
    Write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    Write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    Write("nvml", kGpu);
    // The tool is replaced by what it printed about a simulated fabric.
    Write("ibnetdiscover", absl::StrCat("#!/bin/sh\nexec cat ", fs::current_path().string(),
                                        "/agent/hardware/testdata/ibnetdiscover.txt\n"));
    fs::permissions(folder_ + "/ibnetdiscover", fs::perms::owner_all);
    fs::create_directories(folder_ + "/state");
  }
  ~NodeAgentTest() override {
    StopAgent(SIGKILL);
    app_->Stop();
    fs::remove_all(folder_);
  }

  void Write(const std::string& path, const std::string& text) {
    const fs::path full = folder_ + "/" + path;
    fs::create_directories(full.parent_path());
    std::ofstream(full.string() + ".new") << text;
    fs::rename(full.string() + ".new", full);
  }
  void StartAgent(const std::vector<std::string>& flags = {"--notices=off"}) {
    const std::string root = fs::current_path().string();
    ProcessSpec spec;
    spec.argv = {root + "/agent/muster-node-agent",
                 "--node=gpu-7",
                 "--pod-uid=u1",
                 "--coordinator=" + app_->coordinator_address(),
                 "--coordinator-ca=" + folder_ + "/ca.pem",
                 "--coordinator-token=" + folder_ + "/token",
                 "--sys=" + folder_ + "/sys",
                 "--nvml=" + root + "/agent/hardware/libfake_nvml.so",
                 "--ibnetdiscover=" + folder_ + "/ibnetdiscover",
                 "--state-dir=" + folder_ + "/state",
                 "--metrics=" + port_.address(),
                 "--period=1s"};
    spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
    spec.env = {"PATH=/usr/bin:/bin", "FAKE_NVML=" + folder_ + "/nvml"};
    agent_ = *ProcessLauncher::Real().Launch(spec);
  }
  int StopAgent(int signal) {
    if (agent_ == nullptr) return -1;
    agent_->Signal(signal).IgnoreError();
    pollfd fd = {agent_->poll_fd(), POLLIN, 0};
    ::poll(&fd, 1, -1);
    const int code = (*agent_->Poll())->code;
    agent_.reset();
    return code;
  }

  Json Node() { return *memory_->Get(kube::kNodes, {"", "gpu-7"}); }
  Json Job() { return *memory_->Get(kube::kTrainingJobs, {"default", "job"}); }
  // Changes the job's spec in a way that changes nothing else, and waits for the status of it.
  bool TouchJob() {
    int64_t generation = 0;
    return Eventually([&] {
             Json job = Job();
             Json& limit = job["spec"]["failurePolicy"]["maxFailures"];
             limit = limit.is_number() ? limit.get<int>() % 100 + 1 : 1;
             const auto updated = memory_->Update(kube::kTrainingJobs, job);
             if (updated.ok()) generation = (*updated)["metadata"]["generation"];
             return updated.ok();
           }) &&
           Eventually([&] {
             return Job().value("/status/observedGeneration"_json_pointer, int64_t{0}) >=
                    generation;
           });
  }
  std::string Label(const std::string& key) { return kube::LabelOf(Node(), key); }
  std::string Health() {
    const Json node = Node();
    for (const Json& condition : node["status"]["conditions"]) {
      if (condition["type"] != "muster.dev/GPUHealthy") continue;
      return absl::StrCat(kube::StringAt(condition, {"status"}), " ",
                          kube::StringAt(condition, {"reason"}), ": ",
                          kube::StringAt(condition, {"message"}));
    }
    return "";
  }
  bool Eventually(const std::function<bool()>& holds) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (!holds()) {
      if (absl::Now() > deadline) return false;
      ::poll(nullptr, 0, 20);
    }
    return true;
  }
  const ReservedPort port_ = *ReservedPort::Reserve();
  std::string folder_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<FakeTokenApi> api_;
  std::unique_ptr<OperatorApp> app_;
  std::unique_ptr<Process> agent_;
};

TEST_F(NodeAgentTest, TheNodeSaysWhatItsAgentFinds) {
  StartAgent();
  ASSERT_TRUE(Eventually([&] { return absl::StartsWith(Health(), "True"); })) << Health();
  EXPECT_EQ(Label("muster.dev/gpu.product"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(Label("muster.dev/gpu.count"), "1");
  EXPECT_EQ(Label("muster.dev/nvlink.clique"), "00112233-4455-6677-8899-aabbccddeeff.7");
  ASSERT_TRUE(Eventually([&] { return !Label("muster.dev/fabric.leaf").empty(); }));
  EXPECT_EQ(Label("muster.dev/fabric.leaf"), "0000000000200000");
  const Json hardware = *ParseJson(kube::AnnotationOf(Node(), "muster.dev/hardware"));
  EXPECT_EQ(hardware["gpus"][0]["numa"], 1);
  EXPECT_EQ(hardware["infiniband"][0]["switchName"], "leaf-0");

  httplib::Client client("http://" + port_.address());
  std::string page;
  ASSERT_TRUE(Eventually([&] {
    const auto answer = client.Get("/metrics");
    page = answer ? answer->body : "";
    return absl::StrContains(page, "\nmuster_node_agent_connected 1");
  })) << page;
  EXPECT_THAT(page, HasSubstr("\nmuster_node_gpu_power_watts{gpu=\"0\",uuid=\"GPU-a\"} 412.5"));
  EXPECT_EQ(StopAgent(SIGTERM), 0);
}

TEST_F(NodeAgentTest, TheMeasuredPowerOfItsGpusIsInTheCostOfAJob) {
  StartAgent();
  Json job = kube::NewObject(kube::kTrainingJobs, {"default", "job"});
  job["spec"] = Json::parse(R"({"workers": {"count": 1, "gpus": 1},
      "checkpoint": {"uri": "/checkpoints"}, "template": {"spec": {"containers": [
        {"name": "worker", "image": "own", "command": ["train"]}]}}})");
  ASSERT_TRUE(memory_->Create(kube::kTrainingJobs, job).ok());
  Json cost = Json::object();
  ASSERT_TRUE(Eventually([&] {
    if (!TouchJob()) return true;
    cost = Job().value("/status/cost"_json_pointer, Json::object());
    return cost.value("meteredSeconds", 0.0) > 0;
  }));
  const double seconds = cost.value("meteredSeconds", 0.0);
  ASSERT_GT(seconds, 0) << Job().dump(1);
  EXPECT_NEAR(cost.value("energyKwh", 0.0) * 3.6e6 / seconds, 412.5, 1e-3);
  EXPECT_EQ(cost.value("pricedSeconds", 0.0), 0);
}

TEST_F(NodeAgentTest, AFatalErrorStaysOverARestartOfTheAgent) {
  StartAgent();
  ASSERT_TRUE(Eventually([&] { return absl::StartsWith(Health(), "True"); })) << Health();
  Write("nvml", absl::StrCat(kGpu, "xid gpu=0 code=79\n"));
  ASSERT_TRUE(Eventually([&] { return absl::StartsWith(Health(), "False"); })) << Health();
  EXPECT_EQ(Health(), "False FatalXid: GPU 0 (GPU-a): XID 79: the GPU has fallen off the bus");
  StopAgent(SIGKILL);
  // The driver tells an error once: a new process does not get it again.
  Write("nvml", absl::StrCat(kGpu, "gpu uuid=GPU-b memory=1\n"));
  StartAgent();
  ASSERT_TRUE(Eventually([&] { return Label("muster.dev/gpu.count") == "2"; }));
  EXPECT_THAT(Health(), HasSubstr("False FatalXid"));
}

TEST_F(NodeAgentTest, ANoticeOfTheCloudReachesTheNode) {
  agent::FakeAws aws;
  StartAgent({"--notices-address=" + aws.base(), "--notices-rebalance=true"});
  ASSERT_TRUE(Eventually([&] { return absl::StartsWith(Health(), "True"); })) << Health();
  EXPECT_EQ(Label(kNoticeLabel), "");
  aws.Rebalance(true);
  ASSERT_TRUE(Eventually([&] { return Label(kNoticeLabel) == "Rebalance"; }));
  EXPECT_EQ(Label(kNoticeDeadlineLabel), "");
  aws.Action(R"({"action": "terminate", "time": "2027-01-15T08:02:00Z"})");
  ASSERT_TRUE(Eventually([&] { return Label(kNoticeLabel) == "Reclaim"; }));
  EXPECT_EQ(Label(kNoticeWhoLabel), "AWS");
  EXPECT_EQ(Label(kNoticeDeadlineLabel), "1800000120");
  aws.ExpireTokens();
  aws.Action("");
  aws.Rebalance(false);
  ASSERT_TRUE(Eventually([&] { return Label(kNoticeLabel).empty(); }));
  EXPECT_EQ(Label(kNoticeWhoLabel), "");
}

TEST_F(NodeAgentTest, AnAgentReportsAboutItsOwnNodeAlone) {
  ASSERT_TRUE(memory_->Create(kube::kNodes, kube::NewObject(kube::kNodes, {"", "gpu-8"})).ok());
  agent::CoordinatorClientOptions options;
  options.addresses = {app_->coordinator_address()};
  options.identity = {app_->coordinator_identity()->authority_pem(), folder_ + "/token"};
  agent::CoordinatorClient client(std::move(options), FileSystem());
  v1alpha1::AgentMessage hello;
  hello.mutable_node_hello()->set_node("gpu-8");
  hello.mutable_node_hello()->set_pod_uid("u1");
  const auto refused = [&] {
    return app_->coordinator_identity()->counters().Of(Refusal::kOtherNode);
  };
  ASSERT_TRUE(Eventually([&] {
    for (const agent::Event& event : client.Collect(absl::Now())) {
      if (std::holds_alternative<agent::StreamOpened>(event)) client.Send(hello);
    }
    return refused() > 0;
  }));
  // Nor may it speak for a worker.
  hello.mutable_hello()->mutable_worker()->set_job("gpt");
  ASSERT_TRUE(Eventually([&] {
    for (const agent::Event& event : client.Collect(absl::Now())) {
      if (std::holds_alternative<agent::StreamOpened>(event)) client.Send(hello);
    }
    return app_->coordinator_identity()->counters().Of(Refusal::kOtherWorker) > 0;
  }));
}

TEST_F(NodeAgentTest, ANodeWithoutAnythingReportsThat) {
  fs::remove_all(folder_ + "/sys");
  Write("nvml", "init 9\n");
  StartAgent();
  httplib::Client client("http://" + port_.address());
  ASSERT_TRUE(Eventually([&] {
    const auto page = client.Get("/metrics");
    return page && absl::StrContains(page->body, "\nmuster_node_agent_reports_total 1\n");
  }));
  ASSERT_TRUE(
      Eventually([&] { return kube::AnnotationOf(Node(), "muster.dev/hardware") == "{}"; }));
  EXPECT_EQ(Health(), "");
  EXPECT_EQ(Label("muster.dev/gpu.count"), "");
}

TEST_F(NodeAgentTest, TheAuthorityIsPublishedForNodeAgents) {
  const auto config =
      memory_->Get(kube::kConfigMaps, {"muster-node-agents", "muster-coordinator-ca"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(kube::StringAt(*config, {"data", "ca.crt"}),
            app_->coordinator_identity()->authority_pem());
}

}  // namespace
}  // namespace muster::control
