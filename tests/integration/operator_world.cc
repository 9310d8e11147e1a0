#include "tests/integration/operator_world.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/scheduler/cluster/kueue_topology.h"
#include "tests/integration/pod_worker.h"

namespace muster::control {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(5);

void Pause() {
  Mutex mu;
  CondVar never;
  MutexLock lock(mu);
  never.WaitFor(mu, kTick);
}

}  // namespace

OperatorWorld::OperatorWorld() {
  char folder[] = "/tmp/muster-world-XXXXXX";
  folder_ = ::mkdtemp(folder);
  socket = absl::StrCat("unix:", folder_, "/run/c.sock");
  http = absl::StrCat("unix:", folder_, "/run/http.sock");
  kube::MemoryApiOptions options;
  options.random = [engine = std::mt19937_64(7)]() mutable { return engine(); };
  options.resources.push_back({kKueueTopologies[0]});
  auto opened = kube::MemoryApi::Open(clock, std::move(options));
  EXPECT_TRUE(opened.ok()) << opened.status();
  memory = *std::move(opened);
  api = std::make_unique<kube::FaultyApi>(*memory, kube::FaultPolicy{});
}

OperatorWorld::~OperatorWorld() {
  containers_.clear();
  StopOperator();
  ::unlink((folder_ + "/run/c.sock").c_str());
  ::unlink(http_token_file().c_str());
  ::rmdir((folder_ + "/run").c_str());
  ::rmdir(folder_.c_str());
}

void OperatorWorld::StartOperator() {
  OperatorOptions options;
  options.coordinator_addresses = {socket};
  options.http.address = http;
  options.http.token_file = http_token_file();
  options.decision_log_dir = decision_log_dir;
  options.kueue_topology = kueue_topology;
  options.prepare_deadline = prepare_deadline;
  options.join_deadline = join_deadline;
  options.alert_receivers = alert_receivers;
  options.alert_interval = alert_interval;
  auto created = OperatorApp::Create(*api, clock, options);
  ASSERT_TRUE(created.ok()) << created.status();
  app = *std::move(created);
  const absl::Status started = app->Start();
  ASSERT_TRUE(started.ok()) << started;
}

void OperatorWorld::StopOperator() { app.reset(); }

void OperatorWorld::CreateJob(const std::string& manifest_json) {
  const auto json = ParseJson(manifest_json);
  ASSERT_TRUE(json.ok()) << json.status();
  const auto stored = memory->Create(kube::kTrainingJobs, *json);
  ASSERT_TRUE(stored.ok()) << stored.status();
}

void OperatorWorld::AddNode(const std::string& name, int pods, const kube::Labels& labels) {
  Json node = kube::NewObject(kube::kNodes, {"", name});
  for (const auto& [key, value] : labels) kube::SetLabel(node, key, value);
  const auto made = memory->Create(kube::kNodes, node);
  ASSERT_TRUE(made.ok()) << made.status();
  node = *made;
  node["status"] = {
      {"allocatable", {{"cpu", "64"}, {"memory", "64Gi"}, {"pods", absl::StrCat(pods)}}},
      {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
  const auto stored = memory->UpdateStatus(kube::kNodes, node);
  ASSERT_TRUE(stored.ok()) << stored.status();
}

TrainingJob OperatorWorld::Job() {
  const auto json = memory->Get(kube::kTrainingJobs, {"default", "gpt"});
  if (!json.ok()) return {};
  auto job = ParseTrainingJob(*json);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? *std::move(job) : TrainingJob{};
}

std::vector<Json> OperatorWorld::Pods() {
  const auto list = memory->List(kube::kPods, {});
  return list.ok() ? list->items : std::vector<Json>{};
}

void OperatorWorld::SetPhase(Json pod, const std::string& phase, std::optional<int> exit_code) {
  pod["status"]["phase"] = phase;
  if (exit_code) {
    pod["status"]["containerStatuses"] = {
        {{"name", "worker"}, {"state", {{"terminated", {{"exitCode", *exit_code}}}}}}};
  }
  memory->UpdateStatus(kube::kPods, pod).status().IgnoreError();
}

void OperatorWorld::StartPod(const Json& pod) {
  PodWorker worker = ReadPodWorker(pod);
  Container& container = containers_[kube::UidOf(pod)];
  container.index = worker.id.index();
  container.incarnation = worker.id.incarnation();
  if (start_agent != nullptr) {
    start_agent(worker);
  } else {
    container.agent = std::make_unique<ScriptedAgent>(worker.env["MUSTER_COORDINATOR"], worker.id,
                                                      worker.ranks, unanswered[container.index]);
  }
  SetPhase(pod, "Running", std::nullopt);
}

void OperatorWorld::RunKubelet() {
  for (const Json& pod : Pods()) {
    const std::string uid = kube::UidOf(pod);
    const std::string phase = kube::StringAt(pod, {"status", "phase"});
    if (kube::IsTerminating(pod)) {
      containers_.erase(uid);
      kube::DeleteOptions now;
      now.grace_period_seconds = 0;
      memory->Delete(kube::kPods, kube::KeyOf(pod), now).IgnoreError();
      continue;
    }
    if (kube::StringAt(pod, {"spec", "nodeName"}).empty()) continue;
    if (phase == "Succeeded" || phase == "Failed") continue;
    const auto container = containers_.find(uid);
    if (container == containers_.end()) {
      StartPod(pod);
    } else if (container->second.killed) {
      SetPhase(pod, "Failed", 137);
    } else if (container->second.agent != nullptr && container->second.agent->stopped()) {
      SetPhase(pod, "Succeeded", 0);
    }
  }
}

bool OperatorWorld::Until(const std::function<bool()>& done) {
  const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
  while (Clock::Real().Monotonic() < deadline) {
    RunKubelet();
    if (done()) return true;
    Pause();
  }
  return false;
}

void OperatorWorld::Settle() {
  for (int i = 0; i < 40; ++i) {
    RunKubelet();
    Pause();
  }
}

ScriptedAgent* OperatorWorld::Agent(int index) {
  Container* newest = nullptr;
  for (auto& [uid, container] : containers_) {
    if (container.index != index || container.killed) continue;
    if (newest == nullptr || container.incarnation > newest->incarnation) newest = &container;
  }
  return newest == nullptr ? nullptr : newest->agent.get();
}

void OperatorWorld::KillAgent(int index) {
  ScriptedAgent* agent = Agent(index);
  ASSERT_NE(agent, nullptr);
  for (auto& [uid, container] : containers_) {
    if (container.agent.get() != agent) continue;
    agent->Kill();
    container.killed = true;
  }
}

int OperatorWorld::ActiveIn(int64_t round) const {
  return static_cast<int>(
      std::count_if(containers_.begin(), containers_.end(), [round](const auto& entry) {
        const Container& container = entry.second;
        return !container.killed && container.agent->active().round() == round;
      }));
}

}  // namespace muster::control
