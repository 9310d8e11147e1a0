#include "operator/local/local_nodes.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/local/pod_command.h"
#include "operator/local/pod_status.h"

namespace muster::control {
namespace {

// How long a pod's change and a process's end may wait for each other's turn.
constexpr absl::Duration kSlice = absl::Milliseconds(10);
// A watch may miss what happened while it was reopened: list again this often.
constexpr absl::Duration kResync = absl::Seconds(2);

Environment OwnEnvironment() {
  Environment env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    // What another agent gave us is not for this pod's; faults and log level are for all.
    const bool ours = name.compare(0, 7, "MUSTER_") == 0 && name != "MUSTER_FAILPOINTS" &&
                      name != "MUSTER_LOG_LEVEL";
    if (!ours) env[name] = text.substr(equals + 1);
  }
  return env;
}

Json NodeStatus(const LocalNode& node, absl::Time now) {
  Json resources = {{"cpu", absl::StrCat(node.cpus)},
                    {"memory", absl::StrCat(node.memory_bytes)},
                    {"pods", absl::StrCat(node.pods)}};
  if (node.gpus > 0) resources["nvidia.com/gpu"] = absl::StrCat(node.gpus);
  const std::string time = kube::FormatTime(now);
  return {{"capacity", resources},
          {"allocatable", resources},
          {"conditions", Json::array({{{"type", "Ready"},
                                       {"status", "True"},
                                       {"reason", "LocalNodeReady"},
                                       {"lastHeartbeatTime", time},
                                       {"lastTransitionTime", time}}})},
          {"addresses", Json::array({{{"type", "InternalIP"}, {"address", "127.0.0.1"}},
                                     {{"type", "Hostname"}, {"address", node.name}}})}};
}

}  // namespace

LocalNodes::LocalNodes(LocalNodesOptions options, kube::Api& api, ProcessLauncher& launcher,
                       const Clock& clock)
    : options_(std::move(options)), api_(api), launcher_(launcher), clock_(clock) {}

LocalNodes::~LocalNodes() = default;

absl::Status LocalNodes::Register() {
  RecoverProcesses();
  for (const LocalNode& node : options_.nodes) MUSTER_RETURN_IF_ERROR(RegisterNode(node));
  return absl::OkStatus();
}

absl::Status LocalNodes::RegisterNode(const LocalNode& node) {
  Json object = kube::NewObject(kube::kNodes, {"", node.name});
  kube::SetLabel(object, "kubernetes.io/hostname", node.name);
  object["spec"] = Json::object();
  absl::StatusOr<Json> stored = api_.Create(kube::kNodes, object);
  if (absl::IsAlreadyExists(stored.status())) stored = api_.Get(kube::kNodes, {"", node.name});
  if (!stored.ok()) return stored.status();
  (*stored)["status"] = NodeStatus(node, clock_.Wall());
  return api_.UpdateStatus(kube::kNodes, *stored).status();
}

void LocalNodes::RecoverProcesses() {
  const std::string pods = JoinPath(options_.state_dir, "pods");
  const auto folders = FileSystem().List(pods);
  if (!folders.ok()) return;  // a new state directory
  for (const DirectoryEntry& folder : *folders) {
    auto process = PodProcess::Recover(context(), JoinPath(pods, folder.name));
    if (process.ok()) {
      const std::string uid = (*process)->uid();
      processes_[uid] = *std::move(process);
    } else if (!absl::IsNotFound(process.status())) {
      MUSTER_LOG(WARN, "pod folder not understood", {"folder", folder.name},
                 {"error", process.status()});
    }
  }
}

absl::Status LocalNodes::RunOnce(absl::Duration wait) {
  Wait(wait);
  for (auto& [uid, process] : processes_) {
    const bool was_running = process->running();
    process->RunOnce();
    if (was_running != process->running()) dirty_ = true;
  }
  if (stopped_ || (!dirty_ && clock_.Monotonic() < next_list_)) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(const std::vector<Json> pods, ListPods());
  dirty_ = false;
  next_list_ = clock_.Monotonic() + kResync;
  absl::Status result;
  std::set<std::string> wanted;
  for (const Json& pod : pods) {
    wanted.insert(kube::UidOf(pod));
    if (absl::Status status = Sync(pod); !status.ok()) {
      dirty_ = true;  // read again, decide again
      // Somebody else's write came between: no error.
      if (!absl::IsAborted(status) && !absl::IsNotFound(status)) result.Update(status);
    }
  }
  EndUnwanted(wanted);
  return result;
}

void LocalNodes::Wait(absl::Duration wait) {
  const absl::Time end = clock_.Monotonic() + wait;
  while (!dirty_ && !ProcessEnded()) {
    const absl::Duration left = end - clock_.Monotonic();
    if (PodsChanged(std::max(absl::ZeroDuration(), std::min(left, kSlice)))) dirty_ = true;
    if (left <= kSlice) return;
  }
}

bool LocalNodes::PodsChanged(absl::Duration wait) {
  if (watcher_ == nullptr) {
    kube::WatchOptions options;
    options.bookmarks = false;
    auto watcher = api_.Watch(kube::kPods, options);
    if (!watcher.ok()) return true;
    watcher_ = *std::move(watcher);
    return true;
  }
  bool changed = false;
  while (true) {
    const auto event = watcher_->Next(changed ? absl::ZeroDuration() : wait);
    if (!event.ok()) {
      watcher_.reset();
      return true;
    }
    if (!event->has_value()) return changed;
    changed = true;
  }
}

bool LocalNodes::ProcessEnded() const {
  std::vector<pollfd> fds;
  for (const auto& [uid, process] : processes_) {
    if (process->poll_fd() >= 0) fds.push_back({process->poll_fd(), POLLIN, 0});
  }
  return poll(fds.data(), fds.size(), 0) > 0;
}

absl::StatusOr<std::vector<Json>> LocalNodes::ListPods() {
  std::vector<Json> pods;
  for (const LocalNode& node : options_.nodes) {
    kube::ListOptions list;
    list.field_selector = "spec.nodeName=" + node.name;
    MUSTER_ASSIGN_OR_RETURN(kube::ObjectList page, api_.List(kube::kPods, list));
    std::move(page.items.begin(), page.items.end(), std::back_inserter(pods));
  }
  return pods;
}

absl::Status LocalNodes::Sync(const Json& pod) {
  const std::string uid = kube::UidOf(pod);
  const bool deleting = kube::IsTerminating(pod);
  auto it = processes_.find(uid);
  if (it == processes_.end()) {
    if (IsTerminal(pod)) return deleting ? FinishDeletion(pod) : absl::OkStatus();
    if (deleting) return FinishDeletion(pod);
    it = processes_.emplace(uid, Start(pod)).first;
  }
  PodProcess& process = *it->second;
  if (deleting && process.running()) {
    process.Stop(absl::Seconds(kube::DeletionGraceOf(pod).value_or(30)));
  }
  if (!IsTerminal(pod)) MUSTER_RETURN_IF_ERROR(Report(pod, process));
  if (deleting && !process.running()) return FinishDeletion(pod);
  return absl::OkStatus();
}

std::unique_ptr<PodProcess> LocalNodes::Start(const Json& pod) {
  const std::string name = kube::ToString(kube::KeyOf(pod));
  const std::string folder = JoinPath(JoinPath(options_.state_dir, "pods"), kube::NameOf(pod));
  Environment env = OwnEnvironment();
  for (const auto& [key, value] : options_.env) env[key] = value;
  env["MUSTER_TRAINER"] = options_.trainer_path;
  env["MUSTER_POD_NAME"] = kube::NameOf(pod);
  env["MUSTER_POD_IP"] = "127.0.0.1";
  absl::StatusOr<PodCommand> command =
      CommandOf(pod, std::move(env),
                {{"muster-agent", options_.agent_path}, {"muster-trainer", options_.trainer_path}});
  if (!command.ok()) {
    return PodProcess::Refused(context(), name, kube::UidOf(pod), folder, command.status());
  }
  return PodProcess::Start(context(), name, kube::UidOf(pod), folder, *std::move(command));
}

absl::Status LocalNodes::Report(const Json& pod, const PodProcess& process) {
  Json wanted = pod;
  wanted["status"] = PodStatusOf(pod, process.state());
  const Json* now = kube::Find(pod, {"status"});
  if (now != nullptr && *now == wanted["status"]) return absl::OkStatus();
  return api_.UpdateStatus(kube::kPods, wanted).status();
}

// The pod's process has ended and its status says so: now the object may go.
absl::Status LocalNodes::FinishDeletion(const Json& pod) {
  kube::DeleteOptions options;
  options.preconditions.uid = kube::UidOf(pod);
  options.grace_period_seconds = 0;
  return api_.Delete(kube::kPods, kube::KeyOf(pod), options);
}

// Processes whose pod is gone from the API, deleted by force or with an emptied store.
void LocalNodes::EndUnwanted(const std::set<std::string>& wanted) {
  for (auto it = processes_.begin(); it != processes_.end();) {
    if (wanted.count(it->first) > 0) {
      ++it;
    } else if (it->second->running()) {
      it->second->Stop(absl::Seconds(30));
      ++it;
    } else {
      it = processes_.erase(it);
    }
  }
}

void LocalNodes::StopAll(absl::Duration grace) {
  stopped_ = true;
  for (auto& [uid, process] : processes_) process->Stop(grace);
  while (true) {
    std::vector<pollfd> fds;
    for (auto& [uid, process] : processes_) {
      process->RunOnce();
      if (process->running()) fds.push_back({process->poll_fd(), POLLIN, 0});
    }
    if (fds.empty()) return;
    poll(fds.data(), fds.size(), 10);
  }
}

std::map<std::string, pid_t> LocalNodes::running() const {
  std::map<std::string, pid_t> pids;
  for (const auto& [uid, process] : processes_) {
    if (process->running()) pids[process->name()] = process->pid();
  }
  return pids;
}

}  // namespace muster::control
