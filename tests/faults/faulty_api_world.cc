#include "tests/faults/faulty_api_world.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/status_macros.h"
#include "base/testing/patience.h"
#include "httplib.h"
#include "operator/kube/object_meta.h"
#include "operator/web/http/http_client.h"

namespace muster::tests {
namespace {

using kube::Find;
using kube::StringAt;

constexpr int kLookMillis = 30;
constexpr size_t kLogShown = 6000;

// Only pods made for this node go there, and it stays ready for the whole test.
constexpr char kNode[] = R"({"apiVersion": "v1", "kind": "Node",
  "metadata": {"name": "NAME", "labels": {"muster.dev/test": "NAME"}},
  "spec": {"taints": [{"key": "muster.dev/test", "value": "NAME", "effect": "NoSchedule"}]}})";
constexpr char kNodeStatus[] = R"({
  "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "100"},
  "capacity": {"cpu": "64", "memory": "64Gi", "pods": "100"},
  "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]})";

absl::Status Check(const absl::StatusOr<CommandResult>& result) {
  if (!result.ok()) return result.status();
  return result->ok() ? absl::OkStatus() : absl::InternalError(result->err);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FaultyApiWorld>> FaultyApiWorld::Create() {
  auto world = std::unique_ptr<FaultyApiWorld>(new FaultyApiWorld);
  const std::string temporary = std::getenv("TEST_TMPDIR");
  setenv("KUBECACHEDIR", (temporary + "/kube-cache").c_str(), 1);
  MUSTER_ASSIGN_OR_RETURN(world->cluster_, TestCluster::Create("faults"));
  world->folder_ = absl::StrCat(temporary, "/", world->cluster_->name_space());
  MUSTER_RETURN_IF_ERROR(FileSystem().MakeDirectories(world->folder_));
  char short_folder[] = "/tmp/muster-faults-XXXXXX";
  if (mkdtemp(short_folder) == nullptr)
    return absl::InternalError("cannot make a folder for the socket");
  world->socket_folder_ = short_folder;
  MUSTER_RETURN_IF_ERROR(world->cluster_->InstallCrd());
  MUSTER_ASSIGN_OR_RETURN(world->proxy_, ApiProxy::Start(*world->cluster_));
  return world;
}

absl::Status FaultyApiWorld::MakeNode(const std::string& name) {
  if (!nodes_.insert(name).second) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(const Json wanted,
                          ParseJson(absl::StrReplaceAll(kNode, {{"NAME", name.c_str()}})));
  MUSTER_RETURN_IF_ERROR(cluster_->api().Create(kube::kNodes, wanted).status());
  // Leaves out the resourceVersion, so that a write by somebody else in between does no harm.
  Json ready = wanted;
  MUSTER_ASSIGN_OR_RETURN(ready["status"], ParseJson(kNodeStatus));
  return cluster_->api().UpdateStatus(kube::kNodes, ready).status();
}

// The name is hashed because the length of a label's value is limited.
std::string FaultyApiWorld::NodeOf(const std::string& job) const {
  return absl::StrCat(cluster_->name_space(), "-", absl::Hex(absl::HashOf(job), absl::kZeroPad16));
}

FaultyApiWorld::~FaultyApiWorld() {
  if (operator_ != nullptr) {
    (void)operator_->Signal(SIGKILL);
    (void)WaitForOperatorEnd();
  }
  if (!socket_folder_.empty()) (void)RemoveAll(FileSystem(), socket_folder_);
  if (cluster_ == nullptr) return;
  // The operator is gone, so finalizers must be removed and pods ended here.
  for (const Json& job : Listed(kube::kTrainingJobs)) {
    (void)cluster_->api().PatchMetadata(kube::kTrainingJobs, kube::KeyOf(job),
                                        {{"finalizers", nullptr}});
  }
  for (const Json& pod : Listed(kube::kPods)) EndPod(pod);
  for (const std::string& node : nodes_) (void)cluster_->api().Delete(kube::kNodes, {"", node});
}

std::vector<Json> FaultyApiWorld::Listed(const kube::ResourceType& type,
                                         const std::string& selector) {
  return cluster_->List(type, selector).value_or(std::vector<Json>());
}

void FaultyApiWorld::EndPod(const Json& pod) {
  (void)cluster_->api().Delete(kube::kPods, kube::KeyOf(pod), {.grace_period_seconds = 0});
}

absl::Status FaultyApiWorld::LaunchOperator(const std::vector<std::string>& more_flags,
                                            const std::string& kubeconfig) {
  const std::string path = folder_ + "/operator.log";
  const int log = open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  if (log < 0) return absl::InternalError(absl::StrCat("cannot open ", path));
  const std::string source =
      absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"));
  ProcessSpec spec;
  spec.argv = {
      source + "/operator/muster-operator",
      absl::StrCat("--kubeconfig=", kubeconfig.empty() ? proxy_->kubeconfig() : kubeconfig),
      absl::StrCat("--namespace=", cluster_->name_space()),
      absl::StrCat("--lease-namespace=", cluster_->name_space()),
      "--lease-duration=6s",
      "--renew-deadline=5s",
      "--retry-period=500ms",
      "--coordinator=127.0.0.1:0",
      absl::StrCat("--http=unix:", socket_folder_, "/http.sock"),
      "--probes="};
  spec.argv.insert(spec.argv.end(), more_flags.begin(), more_flags.end());
  spec.env = {"PATH=/usr/bin:/bin"};
  spec.cwd = folder_;
  spec.fds = {{log, 1}, {log, 2}};
  spec.die_with_parent = true;
  auto process = ProcessLauncher::Real().Launch(spec);
  close(log);
  if (!process.ok()) return process.status();
  operator_ = *std::move(process);
  return absl::OkStatus();
}

absl::Status FaultyApiWorld::StartOperator(const std::vector<std::string>& more_flags,
                                           const std::string& kubeconfig) {
  const size_t before = OperatorLog().size();
  MUSTER_RETURN_IF_ERROR(LaunchOperator(more_flags, kubeconfig));
  return WaitFor("the operator leads", [&] {
    return absl::StrContains(OperatorLog().substr(before), " leading ") ||
           OperatorEnd().has_value();
  });
}

std::optional<ExitStatus> FaultyApiWorld::OperatorEnd() {
  if (operator_ == nullptr) return std::nullopt;
  const auto end = operator_->Poll();
  return end.ok() ? *end : std::nullopt;
}

absl::StatusOr<ExitStatus> FaultyApiWorld::WaitForOperatorEnd() {
  std::optional<ExitStatus> end;
  const auto ended = [&] { return (end = OperatorEnd()).has_value(); };
  MUSTER_RETURN_IF_ERROR(WaitFor("the operator ends", ended));
  return *end;
}

std::string FaultyApiWorld::OperatorLog() const {
  return ReadFile(FileSystem(), folder_ + "/operator.log").value_or("");
}

double FaultyApiWorld::Metric(const std::string& name, const std::string& labels) const {
  const std::string log = OperatorLog();
  const size_t at = log.rfind("\nhttp ");
  if (at == std::string::npos) return 0;
  const auto client = control::MakeHttpClient(log.substr(at + 6, log.find('\n', at + 1) - at - 6));
  const httplib::Result page = client->Get("/metrics");
  if (!page) return 0;
  double sum = 0;
  std::istringstream lines(page->body);
  for (std::string line; std::getline(lines, line);) {
    double value = 0;
    const std::string key = line.substr(0, line.find_first_of("{ "));
    if (key != name || !absl::StrContains(line, labels)) continue;
    if (absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value)) sum += value;
  }
  return sum;
}

absl::Status FaultyApiWorld::InjectFaults(const std::string& rules) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, ParseJson(rules));
  MUSTER_RETURN_IF_ERROR(proxy_->SetRules(json));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<ProxiedRequest> log, proxy_->Log());
  faults_from_ = log.size();
  return absl::OkStatus();
}

std::vector<ProxiedRequest> FaultyApiWorld::Requests(const std::string& rule) const {
  std::vector<ProxiedRequest> requests = proxy_->Log().value();
  requests.erase(requests.begin(), requests.begin() + static_cast<ptrdiff_t>(faults_from_));
  std::erase_if(requests, [&](const auto& one) { return !rule.empty() && one.rule != rule; });
  return requests;
}

int FaultyApiWorld::MostRequestsInASecond() const {
  const std::vector<ProxiedRequest> requests = Requests();
  size_t most = 0;
  for (size_t from = 0, to = 0; from < requests.size(); ++from) {
    while (to < requests.size() && requests[to].seconds < requests[from].seconds + 1) ++to;
    most = std::max(most, to - from);
  }
  return static_cast<int>(most);
}

absl::Status FaultyApiWorld::ApplyJob(const std::string& name, int workers, const std::string& more,
                                      const std::string& env) {
  MUSTER_RETURN_IF_ERROR(MakeNode(NodeOf(name)));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<ProxiedRequest> log, proxy_->Log());
  applied_at_ = log.size();
  return Check(cluster_->Kubectl(
      {"apply", "--server-side", "--filename=-"},
      absl::StrCat(
          "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", name,
          "}\nspec:\n  workers: {count: ", workers,
          "}\n  template:\n    spec:\n      nodeSelector: {muster.dev/test: ", NodeOf(name),
          "}\n      tolerations: [{operator: Exists}]\n"
          "      containers: [{name: worker, command: [sleep], env: ",
          env, "}]\n", more)));
}

absl::Status FaultyApiWorld::RemoveJob(const std::string& name) {
  MUSTER_RETURN_IF_ERROR(
      cluster_->api().Delete(kube::kTrainingJobs, {cluster_->name_space(), name}));
  return WaitFor(name + " is gone", [&] {
    // No kubelet runs that would end these pods.
    for (const Json& pod : Pods(name)) {
      if (kube::IsTerminating(pod)) EndPod(pod);
    }
    return absl::IsNotFound(cluster_->Get(kube::kTrainingJobs, name).status());
  });
}

std::vector<Json> FaultyApiWorld::Pods(const std::string& job) {
  return Listed(kube::kPods, "muster.dev/job=" + job);
}

std::string FaultyApiWorld::Condition(const std::string& job, const std::string& type) {
  const auto json = cluster_->Get(kube::kTrainingJobs, job);
  const Json* conditions = json.ok() ? Find(*json, {"status", "conditions"}) : nullptr;
  if (conditions == nullptr) return "";
  for (const Json& condition : *conditions) {
    if (StringAt(condition, {"type"}) != type) continue;
    return absl::StrCat(StringAt(condition, {"status"}), "/", StringAt(condition, {"reason"}), ": ",
                        StringAt(condition, {"message"}));
  }
  return "";
}

bool FaultyApiWorld::IsServed(const std::string& name, int workers, std::string& why) {
  const std::vector<Json> pods = Pods(name);
  std::set<std::string> indexes;
  for (const Json& pod : pods) {
    indexes.insert(kube::LabelOf(pod, "muster.dev/index"));
    if (kube::IsTerminating(pod)) return why = kube::NameOf(pod) + " is being deleted", false;
    if (StringAt(pod, {"spec", "nodeName"}) != NodeOf(name)) {
      return why = kube::NameOf(pod) + " is not bound", false;
    }
  }
  const size_t wanted = static_cast<size_t>(workers);
  if (pods.size() != wanted || indexes.size() != wanted) {
    return why = absl::StrCat(pods.size(), " pods of ", indexes.size(), " indexes"), false;
  }
  const std::string scheduled = Condition(name, "Scheduled");
  why = "Scheduled is " + scheduled;
  return absl::StartsWith(scheduled, "True/PodsBound");
}

absl::Status FaultyApiWorld::WaitUntilServed(const std::string& name, int workers) {
  std::string why;
  const absl::Status status =
      WaitFor(name + " is served", [&] { return IsServed(name, workers, why); });
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(status.message(), "\n", why));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<ProxiedRequest> log, proxy_->Log());
  const int made = static_cast<int>(std::count_if(
      log.begin() + static_cast<ptrdiff_t>(applied_at_), log.end(), [](const auto& request) {
        return request.method == "POST" && request.status == 201 &&
               absl::EndsWith(request.path, "/pods");
      }));
  if (made <= workers) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(made, " pods were made"));
}

absl::Status FaultyApiWorld::WaitForLog(const std::string& text) {
  return WaitFor(absl::StrCat("the log says ", text),
                 [&] { return absl::StrContains(OperatorLog(), text); });
}

absl::Status FaultyApiWorld::WaitForEvent(const std::string& reason, const std::string& text) {
  return WaitFor(absl::StrCat("an event says ", reason, ": ", text), [&] {
    const auto events = cluster_->List(kube::kEvents);
    if (!events.ok()) return false;
    return std::any_of(events->begin(), events->end(), [&](const Json& one) {
      return StringAt(one, {"reason"}) == reason &&
             absl::StrContains(StringAt(one, {"message"}), text);
    });
  });
}

absl::Status FaultyApiWorld::WaitFor(const std::string& what, const std::function<bool()>& done) {
  const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
  while (!done()) {
    if (Clock::Real().Monotonic() > deadline) {
      const std::string log = OperatorLog();
      return absl::DeadlineExceededError(
          absl::StrCat("timed out waiting until ", what, "\n",
                       log.substr(log.size() - std::min(log.size(), kLogShown))));
    }
    poll(nullptr, 0, kLookMillis);
  }
  return absl::OkStatus();
}

}  // namespace muster::tests
