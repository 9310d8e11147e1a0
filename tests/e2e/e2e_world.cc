#include "tests/e2e/e2e_world.h"

#include <fcntl.h>
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
#include "base/files.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"

namespace muster::tests {
namespace {

using kube::Find;
using kube::StringAt;

// Between two looks at something that sends no signal.
constexpr int kLookMillis = 50;
constexpr char kMark[] = "E2E_NODE";

std::string Source(const std::string& name) {
  return absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/", name);
}

// Text of its own making, so that the test needs no corpus.
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

int64_t StepOf(const Json& job) {
  const Json* step = Find(job, {"status", "progress", "step"});
  return step == nullptr ? 0 : step->get<int64_t>();
}

int64_t RoundOf(const Json& job) {
  const Json* round = Find(job, {"status", "round"});
  return round == nullptr ? 0 : round->get<int64_t>();
}

std::string ConditionOf(const Json& object, const std::string& type) {
  const Json* conditions = Find(object, {"status", "conditions"});
  if (conditions == nullptr) return "";
  for (const Json& condition : *conditions) {
    if (StringAt(condition, {"type"}) != type) continue;
    return absl::StrCat(StringAt(condition, {"status"}), "/", StringAt(condition, {"reason"}));
  }
  return "";
}

absl::StatusOr<std::unique_ptr<E2eWorld>> E2eWorld::Create() {
  auto world = std::unique_ptr<E2eWorld>(new E2eWorld);
  // What kubectl remembers of a server is filed by its address, which all control planes here
  // share.
  setenv("KUBECACHEDIR", absl::StrCat(std::getenv("TEST_TMPDIR"), "/kube-cache").c_str(), 1);
  MUSTER_ASSIGN_OR_RETURN(world->cluster_, TestCluster::Create("e2e"));
  world->folder_ = absl::StrCat(std::getenv("TEST_TMPDIR"), "/world");
  MUSTER_RETURN_IF_ERROR(RemoveAll(FileSystem(), world->folder_));
  MUSTER_RETURN_IF_ERROR(FileSystem().MakeDirectories(world->folder_));
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(FileSystem(), world->folder_ + "/text.txt", Corpus()));
  // Where the page's commands run: it has the tree's deploy/.
  const std::string deploy = world->folder_ + "/deploy";
  if (symlink(Source("deploy").c_str(), deploy.c_str()) != 0) {
    return absl::InternalError(absl::StrCat("cannot link ", deploy));
  }
  for (const char* block : {"install", "kubeconfig"}) {
    MUSTER_RETURN_IF_ERROR(world->RunDocumented(block).status());
  }
  return world;
}

absl::StatusOr<std::string> E2eWorld::Documented(const std::string& block) {
  MUSTER_ASSIGN_OR_RETURN(const std::string page,
                          ReadFile(FileSystem(), Source("docs/operations.md")));
  const size_t mark = page.find(absl::StrCat(": ", block, " -->\n```sh\n"));
  if (mark == std::string::npos) return absl::NotFoundError(block);
  const size_t start = page.find("```sh\n", mark) + 6;
  return page.substr(start, page.find("```", start) - start);
}

absl::StatusOr<std::string> E2eWorld::RunDocumented(const std::string& block,
                                                    const std::vector<std::string>& env) {
  MUSTER_ASSIGN_OR_RETURN(const std::string commands, Documented(block));
  std::vector<std::string> argv = {"/usr/bin/env", "--chdir=" + folder_};
  argv.insert(argv.end(), env.begin(), env.end());
  argv.insert(argv.end(), {"bash", "-euxo", "pipefail", "-c", commands});
  MUSTER_ASSIGN_OR_RETURN(const CommandResult result, TestCluster::Run(argv, "", absl::Minutes(4)));
  if (result.ok()) return result.out;
  return absl::InternalError(
      absl::StrCat(block, ": ", DescribeExit(result.exit), "\n", result.out, result.err, Logs()));
}

E2eWorld::~E2eWorld() {
  if (operator_ != nullptr) (void)operator_->Signal(SIGKILL);
  while (!nodes_.empty()) KillNode(nodes_.begin()->first);
}

absl::StatusOr<std::unique_ptr<Process>> E2eWorld::Launch(const std::string& name,
                                                          std::vector<std::string> argv,
                                                          const std::vector<std::string>& env) {
  const std::string path = absl::StrCat(folder_, "/", name, ".log");
  const int log = open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  if (log < 0) return absl::InternalError(absl::StrCat("cannot open ", path));
  ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.env = {"PATH=/usr/bin:/bin", absl::StrCat("HOME=", folder_), "OMP_NUM_THREADS=1",
              "OMP_WAIT_POLICY=passive"};
  spec.env.insert(spec.env.end(), env.begin(), env.end());
  spec.cwd = folder_;
  spec.fds = {{log, 1}, {log, 2}};
  auto process = ProcessLauncher::Real().Launch(spec);
  close(log);
  return process;
}

absl::Status E2eWorld::StartOperator() {
  const std::string before = OperatorLog();
  MUSTER_ASSIGN_OR_RETURN(
      operator_,
      Launch("operator", {Source("operator/muster-operator"),
                          absl::StrCat("--kubeconfig=", folder_, "/operator.kubeconfig"),
                          "--lease-duration=4s", "--renew-deadline=3s", "--retry-period=500ms",
                          "--coordinator=127.0.0.1:7443", "--http=127.0.0.1:8080"}));
  return WaitFor("the operator leads", [&] {
    return absl::StrContains(OperatorLog().substr(before.size()), " leading");
  });
}

absl::Status E2eWorld::StopOperator() {
  MUSTER_RETURN_IF_ERROR(operator_->Signal(SIGTERM));
  return WaitFor("the operator ends", [this] {
    const auto end = operator_->Poll();
    return !end.ok() || end->has_value();
  });
}

absl::Status E2eWorld::StartNode(const std::string& name) {
  MUSTER_ASSIGN_OR_RETURN(
      const std::string kubeconfig,
      cluster_->UserKubeconfig(absl::StrCat("system:node:", name), {"system:nodes"}));
  MUSTER_ASSIGN_OR_RETURN(
      nodes_[name], Launch(name,
                           {Source("operator/local/muster-local-nodes"),
                            "--kubeconfig=" + kubeconfig, "--node=" + name, "--cpus=1",
                            "--renew-interval=1s", absl::StrCat("--state-dir=", folder_, "/", name),
                            "--agent=" + Source("agent/muster-agent"),
                            "--trainer=" + Source("trainer/muster-trainer")},
                           {absl::StrCat(kMark, "=", name)}));
  return WaitFor(absl::StrCat("node ", name, " takes pods"), [&] {
    const auto node = cluster_->Get({"node", name});
    // The taint that a new node gets is taken away once it is Ready.
    return node.ok() && absl::StartsWith(ConditionOf(*node, "Ready"), "True") &&
           Find(*node, {"spec", "taints"}) == nullptr;
  });
}

void E2eWorld::KillNode(const std::string& name) {
  KillKubelet(name);
  // Again: one of them may have started another between being listed and being killed.
  while (ProcessLauncher::Real().SignalMarked(absl::StrCat(kMark, "=", name), SIGKILL) > 0) {
    poll(nullptr, 0, 1);
  }
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

std::string E2eWorld::Checkpoints(const std::string& job) const {
  return absl::StrCat(folder_, "/checkpoints/", job);
}

std::string E2eWorld::Manifest(const std::string& name, int workers, int steps,
                               const std::string& more) const {
  return absl::StrCat(
      "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", name,
      "}\nspec:\n"
      "  workers: {count: ",
      workers,
      ", min: 1, max: 3, ranks: 1}\n"
      "  trainer:\n"
      "    model: {preset: gpt2-nano}\n"
      "    data: {uri: ",
      folder_,
      "/text.txt, format: Text, tokenizer: {kind: Byte}}\n"
      "    train: {steps: ",
      steps,
      ", globalBatch: 8, microBatch: 2, sequence: 64, precision: fp32, seed: 7}\n"
      "  checkpoint: {uri: ",
      Checkpoints(name),
      ", interval: {mode: Steps, steps: 1000}}\n"
      "  template: {spec: {terminationGracePeriodSeconds: 5, containers: [{name: worker, "
      "resources: {requests: {cpu: 1}}}]}}\n",
      more);
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
    const auto all = cluster_->Get({"trainingjobs,pods"});
    return all.ok() && (*all)["items"].empty();
  });
}

absl::Status E2eWorld::WaitFor(const std::string& what, const std::function<bool()>& done,
                               absl::Duration within) {
  const absl::Time deadline = Clock::Real().Monotonic() + within;
  while (!done()) {
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("waited in vain until ", what, Logs()));
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
        job = cluster_->Get({"trainingjob", name});
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
        const Json* ready = Find(job, {"status", "workers", "ready"});
        return RoundOf(job) > after_round && ready != nullptr && *ready == workers &&
               absl::StartsWith(ConditionOf(job, "Running"), "True");
      },
      within);
}

absl::Status E2eWorld::WaitForMoreSteps(const std::string& name) {
  MUSTER_ASSIGN_OR_RETURN(const Json before, cluster_->Get({"trainingjob", name}));
  return WaitForJob(name, "more steps are reported",
                    [&](const Json& job) { return StepOf(job) > StepOf(before); })
      .status();
}

std::map<std::string, Json> E2eWorld::Pods(const std::string& job) {
  std::map<std::string, Json> pods;
  const auto list = cluster_->Get({"pods", "--selector=muster.dev/job=" + job});
  if (!list.ok()) return pods;
  for (const Json& pod : (*list)["items"]) {
    const std::string phase = StringAt(pod, {"status", "phase"});
    if (phase != "Succeeded" && phase != "Failed") pods[kube::NameOf(pod)] = pod;
  }
  return pods;
}

std::vector<pid_t> E2eWorld::TrainersOf(const Json& pod) const {
  std::vector<pid_t> trainers;
  const std::string mark = absl::StrCat("MUSTER_POD_UID=", kube::UidOf(pod));
  const auto processes = FileSystem().List("/proc");
  if (!processes.ok()) return trainers;
  for (const DirectoryEntry& entry : *processes) {
    const pid_t pid = std::atoi(entry.name.c_str());
    if (pid <= 0) continue;
    std::ifstream name(absl::StrCat("/proc/", pid, "/comm"));
    std::string comm;
    std::getline(name, comm);
    if (comm != "muster-trainer") continue;
    std::ifstream environment(absl::StrCat("/proc/", pid, "/environ"));
    const std::string text{std::istreambuf_iterator<char>(environment), {}};
    if (absl::StrContains(text, mark)) trainers.push_back(pid);
  }
  std::sort(trainers.begin(), trainers.end());
  return trainers;
}

std::string E2eWorld::OperatorLog() const {
  return ReadFile(FileSystem(), folder_ + "/operator.log").value_or("");
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
