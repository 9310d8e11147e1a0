#include "tests/e2e/e2e_world.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/status_macros.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/e2e/logged_process.h"
#include "tests/testenv/page_blocks.h"

namespace muster::tests {
namespace {

using kube::Find;
using kube::StringAt;

// The interval at which conditions without a notification are polled.
constexpr int kLookMillis = 50;
constexpr char kMark[] = "E2E_NODE";

// Generates text, so that the test needs no corpus.
std::string Corpus() {
  std::mt19937_64 random(11);
  const std::vector<std::string> words = {"the",  "gang", "of",   "ranks", "meets", "again", "and",
                                          "goes", "on",   "from", "where", "it",    "was"};
  std::string text;
  while (text.size() < 100'000) absl::StrAppend(&text, words[random() % words.size()], " ");
  return text;
}

std::string Tail(const std::string& path, size_t bytes) {
  const std::string text = ReadFile(FileSystem(), path).value_or("(none)");
  return text.substr(text.size() - std::min(text.size(), bytes));
}

}  // namespace

int64_t StepOf(const Json& job) { return control::JobNumber(job, {"status", "progress", "step"}); }

int64_t RoundOf(const Json& job) { return control::JobNumber(job, {"status", "round"}); }

std::string ConditionOf(const Json& object, const std::string& type) {
  const Json* conditions = Find(object, {"status", "conditions"});
  if (conditions == nullptr) return "";
  for (const Json& condition : *conditions) {
    if (StringAt(condition, {"type"}) != type) continue;
    return absl::StrCat(StringAt(condition, {"status"}), "/", StringAt(condition, {"reason"}));
  }
  return "";
}

absl::StatusOr<std::unique_ptr<E2eWorld>> E2eWorld::Create(const E2eOptions& options) {
  auto world = std::unique_ptr<E2eWorld>(new E2eWorld(options));
  MUSTER_RETURN_IF_ERROR(world->Install());
  return world;
}

absl::Status E2eWorld::Install() {
  // kubectl caches what it learns of a server under its address, which is the same for all control
  // planes here.
  setenv("KUBECACHEDIR", absl::StrCat(std::getenv("TEST_TMPDIR"), "/kube-cache").c_str(), 1);
  MUSTER_ASSIGN_OR_RETURN(cluster_, TestCluster::Create("e2e"));
  folder_ = absl::StrCat(std::getenv("TEST_TMPDIR"), "/world");
  MUSTER_RETURN_IF_ERROR(RemoveAll(FileSystem(), folder_));
  MUSTER_RETURN_IF_ERROR(FileSystem().MakeDirectories(folder_));
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(FileSystem(), folder_ + "/text.txt", Corpus()));
  // The documented commands run in folder_ and expect deploy/ there.
  const std::string deploy = folder_ + "/deploy";
  if (symlink(SourcePath("deploy").c_str(), deploy.c_str()) != 0) {
    return absl::InternalError(absl::StrCat("cannot link ", deploy));
  }
  for (const char* block : {"install", "kubeconfig"}) {
    MUSTER_RETURN_IF_ERROR(RunDocumented(block).status());
  }
  OperatorReplicasOptions replicas;
  replicas.folder = folder_;
  replicas.kubeconfig = folder_ + "/operator.kubeconfig";
  replicas.count = options_.replicas;
  if (!options_.lease_flags.empty()) replicas.lease_flags = options_.lease_flags;
  replicas.env = options_.env;
  operators_ = std::make_unique<OperatorReplicas>(std::move(replicas));
  return absl::OkStatus();
}

absl::StatusOr<std::string> E2eWorld::Documented(const std::string& block) {
  for (const char* name : {"docs/operator-process.md", "docs/operations.md", "docs/queues.md"}) {
    MUSTER_ASSIGN_OR_RETURN(const std::string page, ReadFile(FileSystem(), SourcePath(name)));
    for (const char* mark : {"run: ", "run in background: "}) {
      const std::string commands = BlockAfter(page, absl::StrCat(mark, block));
      if (!commands.empty()) return commands;
    }
  }
  return absl::NotFoundError(block);
}

absl::StatusOr<std::string> E2eWorld::RunDocumented(const std::string& block,
                                                    const std::vector<std::string>& env) {
  MUSTER_ASSIGN_OR_RETURN(const std::string commands, Documented(block));
  std::vector<std::string> argv = {"/usr/bin/env", "--chdir=" + folder_};
  argv.insert(argv.end(), env.begin(), env.end());
  argv.insert(argv.end(), {"bash", "-euxo", "pipefail", "-c", commands});
  MUSTER_ASSIGN_OR_RETURN(const CommandResult result,
                          TestCluster::Run(argv, "", absl::Minutes(12)));
  if (result.ok()) return result.out;
  return absl::InternalError(
      absl::StrCat(block, ": ", DescribeExit(result.exit), "\n", result.out, result.err, Logs()));
}

E2eWorld::~E2eWorld() {
  operators_.reset();
  while (!nodes_.empty()) KillNode(nodes_.begin()->first);
}

absl::Status E2eWorld::StartOperator() {
  MUSTER_RETURN_IF_ERROR(operators_->Launch(0));
  return WaitFor("the operator leads", [&] { return operators_->LeadingSince(0).has_value(); });
}

absl::Status E2eWorld::StopOperator() {
  MUSTER_RETURN_IF_ERROR(operators_->Signal(0, SIGTERM));
  return WaitFor("the operator ends", [this] { return operators_->End(0).has_value(); });
}

absl::Status E2eWorld::StartOperators() {
  for (int i = 0; i < operators_->count(); ++i) {
    MUSTER_RETURN_IF_ERROR(operators_->Launch(i));
  }
  for (int i = 0; i < operators_->count(); ++i) {
    MUSTER_RETURN_IF_ERROR(WaitFor(absl::StrCat("operator ", i, " has started"),
                                   [&] { return operators_->HasStarted(i); }));
  }
  return WaitFor("an operator leads", [&] { return operators_->Leader().has_value(); });
}

absl::Status E2eWorld::StartNode(const std::string& name, int cpus) {
  MUSTER_ASSIGN_OR_RETURN(
      const std::string kubeconfig,
      cluster_->UserKubeconfig(absl::StrCat("system:node:", name), {"system:nodes"}));
  std::vector<std::string> env = options_.env;
  env.push_back(MarkOf(name));
  std::vector<std::string> argv = {"/usr/bin/nice",  // leaves CPU time to the control plane
                                   SourcePath("operator/local/muster-local-nodes"),
                                   "--kubeconfig=" + kubeconfig,
                                   "--node=" + name,
                                   absl::StrCat("--cpus=", cpus),
                                   "--renew-interval=1s",
                                   absl::StrCat("--state-dir=", folder_, "/", name),
                                   "--agent=" + SourcePath("agent/muster-agent"),
                                   "--trainer=" + SourcePath("trainer/muster-trainer")};
  MUSTER_ASSIGN_OR_RETURN(nodes_[name], LaunchLogged(folder_, name, std::move(argv), env));
  return WaitFor(absl::StrCat("node ", name, " takes pods"), [&] {
    const auto node = cluster_->Get(kube::kNodes, name);
    // The taint of a new node is removed once the node is Ready.
    return node.ok() && absl::StartsWith(ConditionOf(*node, "Ready"), "True") &&
           Find(*node, {"spec", "taints"}) == nullptr;
  });
}

// The mark holds the folder's path, because other tests on this machine use the same node names.
std::string E2eWorld::MarkOf(const std::string& name) const {
  return absl::StrCat(kMark, "=", folder_, "/", name);
}

void E2eWorld::KillNode(const std::string& name) {
  KillKubelet(name);
  (void)ProcessLauncher::Real().EndMarked(MarkOf(name), absl::Minutes(1));
}

void E2eWorld::KillKubelet(const std::string& name) {
  const auto node = nodes_.extract(name);
  if (node.empty()) return;
  (void)node.mapped()->Signal(SIGKILL);
  (void)WaitFor("it ends", [&] {
    const auto end = node.mapped()->Poll();
    return !end.ok() || end->has_value();
  });
}

void E2eWorld::SignalKubelet(const std::string& name, int signal) {
  (void)nodes_.at(name)->Signal(signal);
}

std::string E2eWorld::Checkpoints(const std::string& job) const {
  return absl::StrCat(folder_, "/checkpoints/", job);
}

std::string E2eWorld::Manifest(const std::string& name, int workers, int steps,
                               const std::string& more) const {
  const std::string pace =
      steps < kEndless
          ? ""
          : ", env: [{name: MUSTER_FAILPOINTS, value: \"trainer.before_vote=sleep:150\"}]";
  return absl::StrCat(
      "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", name,
      "}\nspec:\n"
      "  workers: {count: ",
      workers, ", min: 1, max: ", std::max(workers, 3),
      ", ranks: 1}\n"
      "  trainer:\n"
      "    model: {preset: gpt2-nano}\n"
      "    data: {uri: ",
      folder_,
      "/text.txt, format: Text, tokenizer: {kind: Byte}}\n"
      "    train: {steps: ",
      steps,
      ", globalBatch: 8, microBatch: 2, sequence: 64, precision: fp32, seed: 7}\n"
      "  checkpoint: {uri: ",
      Checkpoints(name), ", interval: {mode: Steps, steps: ", checkpoint_interval_,
      "}}\n"
      "  template: {spec: {terminationGracePeriodSeconds: 5, containers: [{name: worker, "
      "resources: {requests: {cpu: 1}}",
      pace, "}]}}\n", more);
}

absl::Status E2eWorld::ApplyJob(const std::string& name, int workers, int steps,
                                const std::string& more) {
  const auto result =
      cluster_->Kubectl({"apply", "--filename=-"}, Manifest(name, workers, steps, more));
  if (!result.ok()) return result.status();
  return result->ok() ? absl::OkStatus() : absl::InternalError(result->err);
}

absl::Status E2eWorld::DeleteJob(const std::string& name) {
  const auto result = cluster_->Kubectl({"delete", "trainingjob", name, "--wait=false"});
  if (!result.ok()) return result.status();
  if (!result->ok()) return absl::InternalError(result->err);
  return WaitFor("the job and its pods are gone", [&] {
    const auto jobs = cluster_->List(kube::kTrainingJobs);
    const auto pods = cluster_->List(kube::kPods);
    return jobs.ok() && jobs->empty() && pods.ok() && pods->empty();
  });
}

absl::Status E2eWorld::WaitFor(const std::string& what, const std::function<bool()>& done,
                               absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  while (!done()) {
    if (options_.supervise && operators_ != nullptr) operators_->RestartEnded();
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("timed out waiting until ", what, Logs()));
    }
    poll(nullptr, 0, kLookMillis);
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> E2eWorld::WaitForJob(const std::string& name, const std::string& what,
                                          const std::function<bool(const Json&)>& done,
                                          absl::Duration within) {
  absl::StatusOr<Json> job;
  const absl::Status status = WaitFor(
      what,
      [&] {
        job = cluster_->Get(kube::kTrainingJobs, name);
        return job.ok() && done(*job);
      },
      within);
  if (status.ok()) return job;
  return absl::DeadlineExceededError(
      absl::StrCat(status.message(), "\n", job.ok() ? DumpJson(*job, 1) : job.status().ToString()));
}

absl::StatusOr<Json> E2eWorld::WaitForRound(const std::string& name, int workers,
                                            int64_t after_round, absl::Duration within) {
  return WaitForJob(
      name, absl::StrCat("a round of ", workers, " workers after ", after_round, " is active"),
      [&](const Json& job) {
        return RoundOf(job) > after_round &&
               control::JobNumber(job, {"status", "workers", "ready"}) == workers &&
               absl::StartsWith(ConditionOf(job, "Running"), "True");
      },
      within);
}

absl::Status E2eWorld::WaitForMoreSteps(const std::string& name) {
  MUSTER_ASSIGN_OR_RETURN(const Json before, cluster_->Get(kube::kTrainingJobs, name));
  return WaitForJob(name, "more steps are reported",
                    [&](const Json& job) { return StepOf(job) > StepOf(before); })
      .status();
}

std::map<std::string, Json> E2eWorld::Pods(const std::string& job) {
  std::map<std::string, Json> pods;
  const auto list = cluster_->List(kube::kPods, "muster.dev/job=" + job);
  if (!list.ok()) return pods;
  for (const Json& pod : *list) {
    const std::string phase = StringAt(pod, {"status", "phase"});
    if (phase != "Succeeded" && phase != "Failed") pods[kube::NameOf(pod)] = pod;
  }
  return pods;
}

std::vector<pid_t> E2eWorld::TrainersOf(const Json& pod) const {
  return ProcessesOf(pod, "muster-trainer");
}

std::vector<pid_t> E2eWorld::ProcessesOf(const Json& pod, const std::string& program) const {
  std::vector<pid_t> found;
  const std::string mark = absl::StrCat("MUSTER_POD_UID=", kube::UidOf(pod));
  const auto processes = FileSystem().List("/proc");
  if (!processes.ok()) return found;
  for (const DirectoryEntry& entry : *processes) {
    const pid_t pid = std::atoi(entry.name.c_str());
    if (pid <= 0) continue;
    std::ifstream name(absl::StrCat("/proc/", pid, "/comm"));
    std::string comm;
    std::getline(name, comm);
    if (comm != program) continue;
    std::ifstream environment(absl::StrCat("/proc/", pid, "/environ"));
    const std::string text{std::istreambuf_iterator<char>(environment), {}};
    if (absl::StrContains(text, mark)) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::map<std::string, std::string> E2eWorld::PodLogs(const Json& pod) const {
  std::map<std::string, std::string> logs;
  const std::string folder =
      absl::StrCat(folder_, "/", StringAt(pod, {"spec", "nodeName"}), "/pods/",
                   kube::NamespaceOf(pod), "_", kube::NameOf(pod), "_", kube::UidOf(pod), "/logs");
  const auto files = FileSystem().List(folder);
  if (!files.ok()) return logs;
  for (const DirectoryEntry& file : *files) {
    logs[file.name] = ReadFile(FileSystem(), JoinPath(folder, file.name)).value_or("");
  }
  return logs;
}

std::string E2eWorld::Logs() const {
  std::string logs = absl::StrCat("\n-- operator\n", Tail(folder_ + "/operator.log", 6000));
  const auto files = FileSystem().List(folder_);
  if (!files.ok()) return logs;
  for (const DirectoryEntry& file : *files) {
    if (!absl::EndsWith(file.name, ".log") || file.name == "operator.log") continue;
    absl::StrAppend(&logs, "\n-- ", file.name, "\n", Tail(JoinPath(folder_, file.name), 1500));
  }
  const auto pods = cluster_->Kubectl({"get", "pods,nodes", "--output=wide"});
  if (pods.ok()) absl::StrAppend(&logs, "\n", pods->out);
  return logs;
}

}  // namespace muster::tests
