#include "operator/scheduler/scheduler_fixture.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"

namespace muster::control {

SchedulerFixture::SchedulerFixture() {
  kube::MemoryApiOptions options;
  options.random = [engine = std::mt19937_64(3)]() mutable { return engine(); };
  memory_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
  api_ = std::make_unique<kube::FaultyApi>(*memory_, kube::FaultPolicy{});
  scheduler_ = std::make_unique<Scheduler>(
      *api_, clock_, jobs_, pods_, nodes_,
      [this](const std::string& key) { verdict_changes_.push_back(key); });
  scheduler_->FollowQueues(queues_, priorities_);
  kube::ReflectorSink* const sinks[] = {&jobs_, &pods_, &nodes_, &queues_};
  const kube::ResourceType types[] = {kube::kTrainingJobs, kube::kPods, kube::kNodes,
                                      kube::kTrainingQueues};
  for (int i = 0; i < 4; ++i) {
    reflectors_.push_back(std::make_unique<kube::Reflector>(
        *memory_, types[i], kube::ReflectorOptions{}, *sinks[i], clock_));
  }
}

void SchedulerFixture::AddNode(const std::string& name, int gpus, const Json& labels,
                               const Json& spec) {
  Json node = kube::NewObject(kube::kNodes, {"", name});
  kube::SetLabel(node, "kubernetes.io/hostname", name);
  for (const auto& [key, value] : labels.items()) {
    kube::SetLabel(node, key, value.get<std::string>());
  }
  if (!spec.empty()) node["spec"] = spec;
  node = memory_->Create(kube::kNodes, node).value();
  node["status"] = Json::parse(R"({
    "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"},
    "conditions": [{"type": "Ready", "status": "True"}]})");
  node["status"]["allocatable"]["nvidia.com/gpu"] = absl::StrCat(gpus);
  ASSERT_TRUE(memory_->UpdateStatus(kube::kNodes, node).ok());
}

void SchedulerFixture::Cordon(const std::string& name, bool cordoned) {
  Json node = memory_->Get(kube::kNodes, {"", name}).value();
  node["spec"]["unschedulable"] = cordoned;
  ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
}

void SchedulerFixture::AddZones(int gpus) {
  for (const char* node : {"a0", "a1", "b0", "b1"}) {
    AddNode(node, gpus, {{"zone", std::string(1, node[0])}});
  }
}

void SchedulerFixture::AddQueue(const std::string& name, int gpus) {
  Json queue = kube::NewObject(kube::kTrainingQueues, {"", name});
  queue["spec"] = Json::parse(R"({"quotas": [{"resource": "nvidia.com/gpu"}]})");
  queue["spec"]["quotas"][0]["nominal"] = absl::StrCat(gpus);
  const auto made = memory_->Create(kube::kTrainingQueues, queue);
  ASSERT_TRUE(made.ok()) << made.status();
}

void SchedulerFixture::AddJob(const std::string& name, int count, int min, const Json& topology,
                              const std::string& queue, const Json& more) {
  Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
  job["spec"]["workers"] = {{"count", count}, {"min", min}, {"gpus", 1}};
  if (!topology.is_null()) job["spec"]["topology"] = topology;
  if (!queue.empty()) job["spec"]["queue"] = queue;
  job["spec"].update(more);
  const Json stored = memory_->Create(kube::kTrainingJobs, job).value();
  owner_ = kube::ControllerReferenceTo(kube::kTrainingJobs, stored);
}

Json SchedulerFixture::PodSpec(const Json& more) {
  Json spec = Json::parse(R"({"containers": [
    {"name": "worker", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]})");
  spec.update(more);
  return spec;
}

void SchedulerFixture::AddPod(const std::string& job, int index, int incarnation,
                              const Json& more) {
  Json pod =
      kube::NewObject(kube::kPods, {"default", absl::StrCat(job, "-", index, "-", incarnation)});
  kube::SetLabel(pod, "muster.dev/job", job);
  kube::SetLabel(pod, "muster.dev/index", absl::StrCat(index));
  kube::SetLabel(pod, "muster.dev/incarnation", absl::StrCat(incarnation));
  kube::SetOwners(pod, {owner_});
  pod["spec"] = PodSpec(more);
  pod["spec"]["schedulerName"] = "muster";
  const auto stored = memory_->Create(kube::kPods, pod);
  ASSERT_TRUE(stored.ok()) << stored.status();
}

void SchedulerFixture::AddJobWithPods(const std::string& name, int count, const Json& more,
                                      const Json& topology, int min) {
  AddJob(name, count, min > 0 ? min : count, topology);
  for (int i = 0; i < count; ++i) AddPod(name, i, 1, more);
}

void SchedulerFixture::AddForeign(const std::string& name, const std::string& node,
                                  const std::string& app, const Json& more) {
  Json pod = kube::NewObject(kube::kPods, {"default", name});
  kube::SetLabel(pod, "app", app);
  pod["spec"] = Json::parse(R"({"containers": [{"name": "c", "image": "x"}]})");
  pod["spec"]["nodeName"] = node;
  pod["spec"].update(more);
  ASSERT_TRUE(memory_->Create(kube::kPods, pod).ok());
}

void SchedulerFixture::DeletePod(const std::string& name) {
  kube::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  ASSERT_TRUE(memory_->Delete(kube::kPods, {"default", name}, at_once).ok());
}

int SchedulerFixture::RunOnce() {
  for (const auto& reflector : reflectors_) {
    while (reflector->RunOnce(absl::ZeroDuration()) > 0) {
    }
  }
  return scheduler_->RunOnce();
}

std::string SchedulerFixture::NodeOf(const std::string& pod) {
  return kube::StringAt(memory_->Get(kube::kPods, {"default", pod}).value(), {"spec", "nodeName"});
}

int SchedulerFixture::PodsOn(const std::string& job, int count, const std::string& prefix) {
  int on = 0;
  for (int i = 0; i < count; ++i) {
    on += NodeOf(absl::StrCat(job, "-", i, "-1")).rfind(prefix, 0) == 0;
  }
  return on;
}

}  // namespace muster::control
