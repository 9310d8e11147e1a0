#ifndef MUSTER_OPERATOR_WEB_TEST_DEPS_H_
#define MUSTER_OPERATOR_WEB_TEST_DEPS_H_

#include <memory>
#include <random>
#include <string>

#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "operator/api/training_job.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/core/state/options.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/resource_type.h"
#include "operator/metrics/metrics.h"
#include "operator/objects/event_recorder.h"
#include "operator/objects/object_records.h"
#include "operator/reconcile/controller.h"
#include "operator/reconcile/executor.h"
#include "operator/reconcile/pod/pod_builder.h"
#include "operator/reconcile/work_queue.h"
#include "operator/scheduler/record/decision_ring.h"
#include "operator/scheduler/scheduler.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// A complete operator without threads for tests of the pages: the embedded API, the caches and the
// controller, driven by hand.
class PageWorld {
 public:
  PageWorld() { controller.Lead({}); }

  void AddJob(const std::string& name) {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
    job["spec"] = {{"workers", {{"count", 2}}},
                   {"trainer",
                    {{"model", {{"preset", "gpt2-nano"}}},
                     {"data", {{"path", "/data/text"}}},
                     {"train", {{"steps", 10}}}}}};
    const auto stored = api->Create(kube::kTrainingJobs, job);
    if (!stored.ok()) trouble = stored.status();
  }
  // Adds a job whose template has `value` in its environment.
  void AddSecretJob(const std::string& name, const std::string& value) {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
    job["spec"] = {{"workers", {{"count", 1}}}};
    const Json variable = {{"name", "API_KEY"}, {"value", value}};
    const Json container = {
        {"name", "worker"}, {"command", Json::array({"true"})}, {"env", Json::array({variable})}};
    job["spec"]["template"]["spec"]["containers"] = Json::array({container});
    const auto stored = api->Create(kube::kTrainingJobs, job);
    if (!stored.ok()) trouble = stored.status();
  }
  // Fills the caches from the API, then handles every waiting key once.
  void Settle() {
    jobs_reflector.RunOnce(absl::ZeroDuration());
    pods_reflector.RunOnce(absl::ZeroDuration());
    for (const auto& job : jobs.List()) queue.Add(job->ns + "/" + job->name);
    while (const auto key = queue.TryGet()) {
      const auto result = controller.RunOnce(*key);
      if (!result.ok()) trouble = result.status();
      metrics.Observe(result.ok() ? "success" : "error", absl::Milliseconds(1));
      queue.Done(*key);
    }
  }
  WebDeps Deps() {
    return {
        *api,
        jobs,
        pods,
        nodes,
        registry,
        progress,
        controller,
        scheduler,
        queue,
        metrics,
        [this] { return synced; },
        [this] { return leader; },
        [] { return std::map<std::string, int64_t>{{"Replaced", 2}}; },
        [] { return std::map<std::string, absl::Time>{{"serving", absl::FromUnixSeconds(1234)}}; },
        [this](uint64_t id) { return FindDecision(files, "/decisions", id); },
        false};
  }

  MemoryFiles files;  // holds the decisions
  bool synced = true;
  LeaderView leader;
  absl::Status trouble;

  ManualClock clock;
  std::mt19937_64 random{1};
  std::unique_ptr<kube::MemoryApi> api =
      *kube::MemoryApi::Open(clock, {.random = [this] { return random(); }});
  Metrics metrics;
  kube::ObservedApi observed{*api, clock, metrics, &metrics};
  WorkQueue queue{clock, WorkQueue::Options(), &metrics};
  JobCache jobs{ParseTrainingJob};
  PodCache pods{ParsePodRecord};
  NodeCache nodes{ParseNodeRecord};
  ProgressBoard progress;
  AgentRegistry registry{clock, &progress, [](const std::string&) {}};
  EventRecorder events{observed, clock, "test"};
  Scheduler scheduler{observed, clock, jobs, pods, nodes, [](const std::string&) {}};
  Executor executor{observed, registry, events, PodBuilderOptions{"unix:/nowhere", "image"}};
  Controller controller{
      {clock, jobs, pods, registry, progress, executor, events, scheduler.verdicts(), &metrics},
      DecideOptions{}};
  kube::Reflector jobs_reflector{observed, kube::kTrainingJobs, {}, jobs, clock};
  kube::Reflector pods_reflector{observed, kube::kPods, {}, pods, clock};
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_TEST_DEPS_H_
