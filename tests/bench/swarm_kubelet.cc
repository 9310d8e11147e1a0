#include "tests/bench/swarm_kubelet.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/pod_worker.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kWatchWait = absl::Milliseconds(200);

}  // namespace

SwarmKubelet::SwarmKubelet(kube::Api& api, std::string name_space, Files& files, int threads)
    : api_(api), name_space_(std::move(name_space)), files_(files) {
  threads_.emplace_back([this] { Watch(); });
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
}

SwarmKubelet::~SwarmKubelet() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::Status SwarmKubelet::MakeNodes(kube::Api& api, int count, int pods) {
  for (int i = 0; i < count; ++i) {
    MUSTER_ASSIGN_OR_RETURN(
        Json node,
        api.Create(kube::kNodes, kube::NewObject(kube::kNodes, {"", absl::StrCat("swarm-", i)})));
    // A real server taints every new node; a controller normally removes the taint once it is
    // ready.
    if (kube::Find(node, {"spec", "taints"}) != nullptr) {
      node["spec"].erase("taints");
      MUSTER_ASSIGN_OR_RETURN(node, api.Update(kube::kNodes, node));
    }
    node["status"] = {
        {"allocatable", {{"cpu", "1000"}, {"memory", "1000Gi"}, {"pods", absl::StrCat(pods)}}},
        {"capacity", {{"cpu", "1000"}, {"memory", "1000Gi"}, {"pods", absl::StrCat(pods)}}},
        {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}}}};
    MUSTER_RETURN_IF_ERROR(api.UpdateStatus(kube::kNodes, node).status());
  }
  return absl::OkStatus();
}

std::vector<SwarmKubelet::Started> SwarmKubelet::Take() {
  MutexLock lock(mu_);
  return std::exchange(started_, {});
}

absl::Status SwarmKubelet::status() const {
  MutexLock lock(mu_);
  return status_;
}

void SwarmKubelet::Watch() {
  while (!stopping_) WatchOnce().IgnoreError();  // a watch that ended is reopened
}

absl::Status SwarmKubelet::WatchOnce() {
  kube::WatchOptions options;
  options.name_space = name_space_;
  MUSTER_ASSIGN_OR_RETURN(const auto watcher, api_.Watch(kube::kPods, options));
  while (!stopping_) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<kube::WatchEvent> event, watcher->Next(kWatchWait));
    if (event && event->type != kube::WatchEvent::Type::kBookmark) See(event->object);
  }
  return absl::OkStatus();
}

void SwarmKubelet::See(const Json& pod) {
  const bool bound = !kube::StringAt(pod, {"spec", "nodeName"}).empty();
  if (!bound || kube::IsTerminating(pod)) return;
  MutexLock lock(mu_);
  if (!seen_.insert(kube::UidOf(pod)).second) return;
  bound_.push_back(pod);
  changed_.NotifyOne();
}

void SwarmKubelet::Serve() {
  while (true) {
    Json pod;
    {
      MutexLock lock(mu_);
      while (bound_.empty() && !stopping_) changed_.Wait(mu_);
      if (stopping_) return;
      pod = std::move(bound_.front());
      bound_.pop_front();
    }
    absl::StatusOr<Started> started = Start(pod);
    absl::StatusOr<Json> newer = pod;
    if (absl::IsAborted(started.status())) newer = api_.Get(kube::kPods, kube::KeyOf(pod));
    MutexLock lock(mu_);
    if (started.ok()) {
      started_.push_back(*std::move(started));
    } else {
      status_ = started.status();
      if (newer.ok()) bound_.push_back(*std::move(newer));
    }
  }
}

absl::StatusOr<std::string> SwarmKubelet::MakeToken(const Json& pod) {
  const Json request = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"spec",
                         {{"expirationSeconds", 3600},
                          {"audiences", {"muster.dev/coordinator"}},
                          {"boundObjectRef",
                           {{"apiVersion", "v1"},
                            {"kind", "Pod"},
                            {"name", kube::NameOf(pod)},
                            {"uid", kube::UidOf(pod)}}}}}};
  MUSTER_ASSIGN_OR_RETURN(
      const Json answer,
      api_.CreateSubresource(kube::kServiceAccounts, {name_space_, "default"}, "token", request));
  return kube::StringAt(answer, {"status", "token"});
}

absl::StatusOr<SwarmKubelet::Started> SwarmKubelet::Start(Json pod) {
  control::PodWorker worker = control::ReadPodWorker(pod);
  std::map<std::string, std::string>& env = worker.env;
  Started started;
  started.worker = worker.id;
  started.ranks = worker.ranks;
  started.coordinator.addresses = absl::StrSplit(env["MUSTER_COORDINATOR"], ',');
  absl::ParseDuration(env["MUSTER_COORDINATOR_SILENCE"], &started.coordinator.silence);
  if (!env["MUSTER_COORDINATOR_CA"].empty()) {
    MUSTER_ASSIGN_OR_RETURN(const std::string token, MakeToken(pod));
    const std::string path = absl::StrCat("/token-", kube::UidOf(pod));
    MUSTER_RETURN_IF_ERROR(WriteFileAtomically(files_, path, token));
    started.coordinator.identity = {env["MUSTER_COORDINATOR_CA"], path};
  }
  pod["status"]["phase"] = "Running";
  pod["status"]["podIP"] = "127.0.0.1";
  pod["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
  MUSTER_RETURN_IF_ERROR(api_.UpdateStatus(kube::kPods, pod).status());
  return started;
}

}  // namespace muster::agent
