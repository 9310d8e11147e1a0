// Asks an operator's HTTP API for every page that is JSON and prints the fields of the answers as
// `items[].name`, one a line after its kind and a tab. The operator's world has jobs, nodes and
// queues, so that no page is empty.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "operator/scheduler/cluster/scheduler_feed.h"
#include "operator/scheduler/record/decision_ring.h"
#include "operator/web/http/http_message.h"
#include "operator/web/routes.h"
#include "operator/web/test_deps.h"

namespace muster::control {
namespace {

// An honest agent is never refused.
void Must(const absl::Status& taken) {
  if (!taken.ok()) std::abort();
}

// The stream of an agent that is sent nothing.
class SilentStream : public AgentStream {
 public:
  absl::Status Send(EncodedMessage) override { return absl::OkStatus(); }
  void Close(const absl::Status&) override {}
};

// A world with a job that trains and one that waits.
class World {
 public:
  World() {
    page_.scheduler.FollowQueues(queues_, priorities_);
    Json node = kube::NewObject(kube::kNodes, {"", "node"});
    kube::SetLabel(node, "network.topology.nvidia.com/leaf", "rack");
    node["status"] = {{"allocatable", {{"cpu", "4"}, {"memory", "64Gi"}, {"pods", "100"}}},
                      {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
    page_.nodes.Upsert(node, ++version_);
    Json queue = kube::NewObject(kube::kTrainingQueues, {"", "research"});
    queue["metadata"]["uid"] = "research";
    queue["spec"] = {{"weight", 2}, {"quotas", {{{"resource", "cpu"}, {"nominal", "4"}}}}};
    queues_.Upsert(queue, ++version_);
    AddTrainingJob();
    AttachAgent();
    Train();
    AddWaitingJob();
    page_.scheduler.RunOnce();
    DecisionRing ring(page_.files, "/decisions");
    if (!ring.Add(1, EncodeRecord(1, {}, {})).ok()) std::abort();
  }

  Json Ask(const std::string& method, const std::string& target, const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    request.body = body;
    if (!ReadTarget(target, request)) std::abort();
    const HttpResponse response = AnswerRequest(page_.Deps(), Commands::kAnswered, request);
    return *ParseJson(response.body);
  }

 private:
  void AddTrainingJob() {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", "gpt"});
    job["spec"] = {{"workers", {{"count", 2}}},
                   {"trainer",
                    {{"model", {{"preset", "gpt2-nano"}}},
                     {"data", {{"uri", "/data/text"}}},
                     {"train", {{"steps", 10}}}}}};
    if (!page_.api->Create(kube::kTrainingJobs, job).ok()) std::abort();
    // Three decisions: the job is taken over, its pods are created, and then they are seen.
    for (int i = 0; i < 3; ++i) page_.Settle();
    if (!page_.trouble.ok()) std::abort();
  }
  void AttachAgent() {
    page_.registry.SetLeader();
    v1alpha1::AgentHello hello;
    hello.mutable_worker()->set_namespace_("default");
    hello.mutable_worker()->set_job("gpt");
    hello.mutable_worker()->set_job_uid(page_.jobs.List().front()->uid);
    hello.mutable_worker()->set_incarnation(1);
    hello.set_ranks(1);
    const auto attached = page_.registry.Attach(hello, std::make_shared<SilentStream>());
    if (!attached.ok() || *attached == 0) std::abort();
    v1alpha1::AgentMessage ready, joined, finished;
    ready.mutable_ready();
    joined.mutable_joined();
    finished.mutable_finished();
    for (const auto& message : {ready, joined, finished}) {
      Must(page_.registry.Receive(*attached, message));
    }
  }
  void Train() {
    const std::string uid = page_.jobs.List().front()->uid;
    v1alpha1::StepReports reports;
    v1alpha1::StepReport& step = *reports.add_steps();
    step.mutable_version()->set_step(1);
    step.set_loss(2.0);
    step.set_validation_loss(3.0);
    step.set_unigram_entropy(4.0);
    step.set_applied(true);
    page_.progress.RecordSteps(uid, reports);
    v1alpha1::CheckpointReport checkpoint;
    for (const auto phase :
         {v1alpha1::CheckpointReport::WRITTEN, v1alpha1::CheckpointReport::FAILED}) {
      checkpoint.set_phase(phase);
      page_.progress.RecordCheckpoint(uid, checkpoint);
    }
  }
  void AddWaitingJob() {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", "next"});
    job["metadata"]["uid"] = "next";
    job["spec"] = {{"queue", "research"}, {"workers", {{"count", 1}}}};
    page_.jobs.Upsert(job, ++version_);
    Json pod = kube::NewObject(kube::kPods, {"default", "next-0-1"});
    kube::SetLabel(pod, "muster.dev/job", "next");
    kube::SetLabel(pod, "muster.dev/index", "0");
    kube::SetLabel(pod, "muster.dev/incarnation", "1");
    kube::SetOwners(pod, {kube::ControllerReferenceTo(kube::kTrainingJobs, job)});
    pod["spec"] = {
        {"schedulerName", "muster"},
        {"containers",
         {{{"name", "worker"}, {"image", "x"}, {"resources", {{"requests", {{"cpu", "64"}}}}}}}}};
    page_.pods.Upsert(pod, ++version_);
  }

  PageWorld page_;
  QueueCache queues_{ParseTrainingQueue};
  PriorityCache priorities_{ParsePriorityClass};
  uint64_t version_ = 100;
};

void Collect(const Json& json, const std::string& path, std::set<std::string>& fields) {
  if (json.is_array()) {
    for (const Json& item : json) Collect(item, path + "[]", fields);
  } else if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      const std::string field = path.empty() ? key : absl::StrCat(path, ".", key);
      fields.insert(field);
      Collect(value, field, fields);
    }
  }
}

void Print(const std::string& request, const Json& answer) {
  std::set<std::string> fields;
  Collect(answer, "", fields);
  for (const std::string& field : fields) {
    std::printf("HTTP: fields of the answers\t%s: %s\n", request.c_str(), field.c_str());
  }
}

// A job whose workers want a CPU each, all within one leaf.
std::string Manifest(int workers) {
  const Json container = {{"name", "worker"},
                          {"image", "x"},
                          {"command", {"true"}},
                          {"resources", {{"requests", {{"cpu", "1"}}}}}};
  return DumpJson({{"apiVersion", "muster.dev/v1alpha1"},
                   {"kind", "TrainingJob"},
                   {"metadata", {{"name", "other"}, {"namespace", "default"}}},
                   {"spec",
                    {{"workers", {{"count", workers}}},
                     {"topology", {{"require", "leaf"}}},
                     {"template", {{"spec", {{"containers", Json::array({container})}}}}}}}});
}

}  // namespace
}  // namespace muster::control

int main() {
  using namespace muster::control;  // NOLINT
  World world;
  for (const std::string target :
       {"/debug/state", "/debug/state?job=default/gpt", "/api/v1/jobs",
        "/api/v1/jobs/default/gpt?curve=1", "/api/v1/jobs/default/gpt/placement",
        "/api/v1/jobs/default/next/placement", "/api/v1/topology", "/api/v1/queues",
        "/api/v1/queues/research", "/api/v1/decisions/1", "/api/v1/jobs/default/none"}) {
    Print("GET " + target, world.Ask("GET", target));
  }
  for (const char* command : {"save", "stop", "resume"}) {
    const std::string target = absl::StrCat("/api/v1/jobs/default/gpt/", command);
    Print("POST " + target, world.Ask("POST", target));
  }
  for (const int workers : {1, 100}) {
    Print("POST /api/v1/whatif", world.Ask("POST", "/api/v1/whatif", Manifest(workers)));
  }
}
