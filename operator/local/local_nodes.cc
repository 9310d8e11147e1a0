#include "operator/local/local_nodes.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/local/pod_command.h"
#include "operator/local/pod_status.h"
#include "operator/local/pod_volumes.h"
#include "operator/objects/object_records.h"

namespace muster::control {
namespace {

// The longest wait for a pod's change before processes are checked, and the reverse.
constexpr absl::Duration kSlice = absl::Milliseconds(10);
// The pause between attempts while the API fails, doubled from the first to the last.
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLastPause = absl::Seconds(5);
// The pause between attempts to renew the volumes of a running pod.
constexpr absl::Duration kRenewPause = absl::Seconds(10);

// Returns true if another write came first.
bool IsRace(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsNotFound(status);
}

Environment OwnEnvironment() {
  Environment env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    // Variables that another agent set for this process are not for this pod's; failpoints, log
    // level and the place of the driver's library are for all processes.
    const bool ours = name.compare(0, 7, "MUSTER_") == 0 && name != "MUSTER_FAILPOINTS" &&
                      name != "MUSTER_LOG_LEVEL" && name != "MUSTER_NVML";
    if (!ours) env[name] = text.substr(equals + 1);
  }
  return env;
}

// Why a node rejects a pod that was bound to it, in a kubelet's terms.
struct Refusal {
  std::string reason;  // OutOfcpu, OutOfmemory, OutOfpods, OutOfnvidia.com/gpu, NodeAffinity
  std::string message;
};

std::optional<Refusal> Check(const char* resource, int64_t requested, int64_t used,
                             int64_t capacity) {
  if (requested <= 0 || requested + used <= capacity) return std::nullopt;
  return Refusal{
      absl::StrCat("OutOf", resource),
      absl::StrCat("Pod was rejected: Node didn't have enough resource: ", resource,
                   ", requested: ", requested, ", used: ", used, ", capacity: ", capacity)};
}

bool Selects(const Json& pod, const LocalNode& node) {
  const Json* selector = kube::Find(pod, {"spec", "nodeSelector"});
  if (selector == nullptr || !selector->is_object()) return true;
  const Json labels = NewNode(node)["metadata"]["labels"];
  for (const auto& [key, value] : selector->items()) {
    if (!labels.contains(key) || labels[key] != value) return false;
  }
  return true;
}

// Returns the resource requests of `pod`, counted as the scheduler counts them.
Resources RequestsOf(const Json& pod) {
  const absl::StatusOr<PodRecord> record = ParsePodRecord(pod);
  return record.ok() ? record->requests : Resources{};
}

// Returns a refusal unless the pod fits on `node` beside the resources in use, `used`.
std::optional<Refusal> RefuseUnfit(const Json& pod, const LocalNode& node, const Resources& used) {
  const Resources wants = RequestsOf(pod);
  if (auto no = Check("pods", 1, used.slots, node.pods)) return no;
  if (auto no = Check("cpu", wants.cpu_millis, used.cpu_millis, int64_t{node.cpus} * 1000)) {
    return no;
  }
  if (auto no = Check("memory", wants.memory_bytes, used.memory_bytes, node.memory_bytes)) {
    return no;
  }
  if (auto no = Check("nvidia.com/gpu", wants.gpus, used.gpus, node.gpus)) return no;
  if (!Selects(pod, node)) {
    return Refusal{
        "NodeAffinity",
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
        "affinity/selector"};
  }
  return std::nullopt;
}

// Returns the status of a refused pod: Failed, without containers.
Json RefusedStatusOf(const Json& pod, const Refusal& refusal, absl::Time now) {
  const Json* before = kube::Find(pod, {"status"});
  Json status = before != nullptr && before->is_object() ? *before : Json::object();
  status["phase"] = "Failed";
  status["reason"] = refusal.reason;
  status["message"] = refusal.message;
  status["startTime"] = kube::FormatTime(now);
  return status;
}

}  // namespace

LocalNodes::LocalNodes(LocalNodesOptions options, kube::Api& api, ProcessLauncher& launcher,
                       const Clock& clock)
    : options_(std::move(options)), api_(api), launcher_(launcher), clock_(clock) {
  for (const LocalNode& node : options_.nodes) {
    nodes_.push_back({NodeKeeper(node, options_.keeper, api_, clock_), nullptr, {}});
  }
}

LocalNodes::~LocalNodes() = default;

absl::Status LocalNodes::Register() {
  RecoverProcesses();
  return KeepNodes();
}

absl::Status LocalNodes::KeepNodes() {
  absl::Status result;
  for (Node& node : nodes_) result.Update(node.keeper.RunOnce());
  return result;
}

void LocalNodes::RecoverProcesses() {
  const std::string pods = JoinPath(options_.state_dir, "pods");
  const auto folders = FileSystem().List(pods);
  if (!folders.ok()) return;  // a new state directory
  for (const DirectoryEntry& folder : *folders) {
    auto process = PodProcess::Recover(context(), JoinPath(pods, folder.name));
    if (process.ok()) {
      const std::string uid = (*process)->uid();
      pods_[uid].process = *std::move(process);
    } else if (!absl::IsNotFound(process.status())) {
      MUSTER_LOG(WARN, "pod folder not understood", {"folder", folder.name},
                 {"error", process.status()});
    }
  }
}

bool LocalNodes::IsListDue() const {
  const absl::Time now = clock_.Monotonic();
  return !stopped_ && now >= not_before_ && (dirty_ || now >= next_list_);
}

// Retries at once after a lost race, and ever more slowly after other errors.
void LocalNodes::Note(const absl::Status& status) {
  if (status.ok()) {
    pause_ = absl::ZeroDuration();
    return;
  }
  dirty_ = true;
  pause_ = IsRace(status) ? kSlice : std::clamp(pause_ * 2, kFirstPause, kLastPause);
  not_before_ = clock_.Monotonic() + pause_;
}

absl::Status LocalNodes::RunOnce(absl::Duration wait) {
  Wait(wait);
  for (auto& [uid, pod] : pods_) {
    const bool was_running = pod.process->running();
    pod.process->RunOnce();
    if (was_running != pod.process->running()) dirty_ = true;
  }
  if (stopped_) return absl::OkStatus();
  absl::Status result = KeepNodes();
  if (IsListDue()) result.Update(SyncAll());
  return result;
}

// Syncs every pod of every node. Returns the first error that is more than a lost race.
absl::Status LocalNodes::SyncAll() {
  dirty_ = false;
  next_list_ = clock_.Monotonic() + options_.resync;
  absl::Status lost_race;
  absl::Status result;
  std::set<std::string> wanted;
  auto note = [&](const absl::Status& status) {
    (IsRace(status) ? lost_race : result).Update(status);
  };
  bool complete = true;
  for (Node& node : nodes_) {
    kube::ListOptions list;
    list.field_selector = "spec.nodeName=" + node.keeper.node().name;
    const absl::StatusOr<kube::ObjectList> pods = api_.List(kube::kPods, list);
    note(pods.status());
    complete = complete && pods.ok();
    if (!pods.ok()) continue;
    node.used = {};
    for (const Json& pod : pods->items) {
      wanted.insert(kube::UidOf(pod));
      const auto known = pods_.find(kube::UidOf(pod));
      if (known != pods_.end() && known->second.process->running()) {
        node.used += RequestsOf(pod);
      }
    }
    for (const Json& pod : pods->items) note(Sync(node, pod));
  }
  if (complete) EndUnwanted(wanted);
  Note(result.ok() ? lost_race : result);
  return result;
}

void LocalNodes::Wait(absl::Duration wait) {
  const absl::Time end = clock_.Monotonic() + wait;
  while (!IsListDue() && !ProcessEnded()) {
    const absl::Duration left = end - clock_.Monotonic();
    if (PodsChanged(std::max(absl::ZeroDuration(), std::min(left, kSlice)))) dirty_ = true;
    if (left <= kSlice) return;
  }
}

bool LocalNodes::PodsChanged(absl::Duration wait) {
  bool changed = false;
  // Only the first node's watch is waited for; with several nodes, the others are checked right
  // after it.
  for (Node& node : nodes_) {
    const bool first = &node == &nodes_.front();
    changed = PodsChanged(node, first && !changed ? wait : absl::ZeroDuration()) || changed;
  }
  return changed;
}

bool LocalNodes::PodsChanged(Node& node, absl::Duration wait) {
  if (node.watcher == nullptr) {
    if (clock_.Monotonic() < not_before_) {
      poll(nullptr, 0, static_cast<int>(absl::ToInt64Milliseconds(wait)));
      return false;
    }
    kube::WatchOptions options;
    options.bookmarks = false;
    // A node may see its own pods alone.
    options.field_selector = "spec.nodeName=" + node.keeper.node().name;
    auto watcher = api_.Watch(kube::kPods, options);
    if (!watcher.ok()) {
      Note(watcher.status());
      return false;
    }
    node.watcher = *std::move(watcher);
    return true;
  }
  bool changed = false;
  while (true) {
    const auto event = node.watcher->Next(changed ? absl::ZeroDuration() : wait);
    if (!event.ok()) {
      node.watcher.reset();
      return true;
    }
    if (!event->has_value()) return changed;
    changed = true;
  }
}

bool LocalNodes::ProcessEnded() const {
  std::vector<pollfd> fds;
  for (const auto& [uid, pod] : pods_) {
    if (pod.process->poll_fd() >= 0) fds.push_back({pod.process->poll_fd(), POLLIN, 0});
  }
  return poll(fds.data(), fds.size(), 0) > 0;
}

absl::Status LocalNodes::Sync(Node& node, const Json& pod) {
  const std::string uid = kube::UidOf(pod);
  const bool deleting = kube::IsTerminating(pod);
  auto it = pods_.find(uid);
  if (it == pods_.end()) {
    if (deleting) return FinishDeletion(pod);
    if (IsTerminal(pod)) return absl::OkStatus();
    MUSTER_RETURN_IF_ERROR(StartPod(node, pod));
    it = pods_.find(uid);
    if (it == pods_.end()) return absl::OkStatus();  // refused
  }
  PodProcess& process = *it->second.process;
  if (deleting && process.running()) {
    process.Stop(absl::Seconds(kube::DeletionGraceOf(pod).value_or(30)));
  }
  if (!IsTerminal(pod)) {
    MUSTER_RETURN_IF_ERROR(Report(pod, PodStatusOf(pod, process.state())));
  }
  if (deleting && !process.running()) return FinishDeletion(pod);
  if (!process.running()) return absl::OkStatus();
  if (clock_.Monotonic() >= it->second.renew_at) {
    const auto renewed = RenewVolumes(pod, it->second.renew_at);
    if (!renewed.ok()) {
      it->second.renew_at = clock_.Monotonic() + kRenewPause;
      MUSTER_LOG_LIMITED(WARN, uid, "volumes not renewed", {"pod", process.name()},
                         {"error", renewed.status()});
    }
  }
  next_list_ = std::min(next_list_, it->second.renew_at);
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> LocalNodes::RenewVolumes(const Json& pod,
                                                                            absl::Time& renew_at) {
  MUSTER_ASSIGN_OR_RETURN(PodVolumes volumes,
                          MakeVolumes(pod, JoinPath(FolderOf(pod), "volumes"), api_,
                                      PrivateFileSystem(), clock_.Wall()));
  renew_at = clock_.Monotonic() + volumes.fresh_for;
  return std::move(volumes.mounts);
}

// Gives the pod a process, or a status with the reason for having none. After an error, try again.
absl::Status LocalNodes::StartPod(Node& node, const Json& pod) {
  if (const auto refusal = RefuseUnfit(pod, node.keeper.node(), node.used)) {
    MUSTER_LOG(WARN, "pod refused", {"pod", kube::ToString(kube::KeyOf(pod))},
               {"reason", refusal->reason});
    return Report(pod, RefusedStatusOf(pod, *refusal, clock_.Wall()));
  }
  const std::string uid = kube::UidOf(pod);
  Pod started;
  const auto mounts = RenewVolumes(pod, started.renew_at);
  if (mounts.ok()) {
    started.process = Launch(node, pod, *mounts);
  } else if (absl::IsInvalidArgument(mounts.status()) || absl::IsUnimplemented(mounts.status())) {
    started.process = PodProcess::Refused(context(), kube::ToString(kube::KeyOf(pod)), uid,
                                          FolderOf(pod), mounts.status());
  } else {
    ContainerState waits;
    waits.started_at = clock_.Wall();
    waits.waiting = std::string(mounts.status().message());
    MUSTER_RETURN_IF_ERROR(Report(pod, PodStatusOf(pod, waits)));
    // Never NotFound, which would mean that the pod is gone.
    return absl::UnavailableError(waits.waiting);
  }
  node.used += RequestsOf(pod);
  pods_[uid] = std::move(started);
  return absl::OkStatus();
}

// Returns as many of the node's GPUs as a pod wants, of those that no running pod has.
std::vector<std::string> LocalNodes::FreeGpus(const Node& node, int64_t wanted) const {
  std::vector<std::string> free = node.keeper.node().gpu_uuids;
  for (const auto& [uid, pod] : pods_) {
    if (!pod.process->running()) continue;
    for (const std::string& taken : pod.process->gpus()) {
      free.erase(std::remove(free.begin(), free.end(), taken), free.end());
    }
  }
  free.resize(std::min(free.size(), static_cast<size_t>(std::max<int64_t>(wanted, 0))));
  return free;
}

std::unique_ptr<PodProcess> LocalNodes::Launch(const Node& node, const Json& pod,
                                               const std::map<std::string, std::string>& mounts) {
  const std::string name = kube::ToString(kube::KeyOf(pod));
  Environment env = OwnEnvironment();
  // Each pod gets its own of the GPUs that this process was left.
  if (!node.keeper.node().gpu_uuids.empty()) env.erase("CUDA_VISIBLE_DEVICES");
  for (const auto& [key, value] : options_.env) env[key] = value;
  env["MUSTER_TRAINER"] = options_.trainer_path;
  env["MUSTER_POD_NAME"] = kube::NameOf(pod);
  env["MUSTER_POD_IP"] = "127.0.0.1";
  absl::StatusOr<PodCommand> command =
      CommandOf(pod, std::move(env),
                {{"muster-agent", options_.agent_path}, {"muster-trainer", options_.trainer_path}});
  if (!command.ok()) {
    return PodProcess::Refused(context(), name, kube::UidOf(pod), FolderOf(pod), command.status());
  }
  UseMounts(mounts, *command);
  command->gpus = FreeGpus(node, RequestsOf(pod).gpus);
  return PodProcess::Start(context(), name, kube::UidOf(pod), FolderOf(pod), *std::move(command));
}

std::string LocalNodes::FolderOf(const Json& pod) const {
  const std::string name =
      options_.shared_server
          ? absl::StrCat(kube::NamespaceOf(pod), "_", kube::NameOf(pod), "_", kube::UidOf(pod))
          : kube::NameOf(pod);
  return JoinPath(JoinPath(options_.state_dir, "pods"), name);
}

absl::Status LocalNodes::Report(const Json& pod, Json status) {
  const Json* now = kube::Find(pod, {"status"});
  if (now != nullptr && *now == status) return absl::OkStatus();
  Json wanted = pod;
  wanted["status"] = std::move(status);
  return api_.UpdateStatus(kube::kPods, wanted).status();
}

// Deletes the object of a pod whose process has ended and whose status says so.
absl::Status LocalNodes::FinishDeletion(const Json& pod) {
  kube::DeleteOptions options;
  options.preconditions.uid = kube::UidOf(pod);
  options.grace_period_seconds = 0;
  return api_.Delete(kube::kPods, kube::KeyOf(pod), options);
}

// Ends processes whose pod is gone from the API, deleted by force or with an emptied store.
void LocalNodes::EndUnwanted(const std::set<std::string>& wanted) {
  for (auto it = pods_.begin(); it != pods_.end();) {
    PodProcess& process = *it->second.process;
    if (wanted.count(it->first) > 0) {
      ++it;
    } else if (process.running()) {
      process.Stop(absl::Seconds(30));
      ++it;
    } else {
      if (options_.shared_server) RemoveAll(FileSystem(), process.folder()).IgnoreError();
      it = pods_.erase(it);
    }
  }
}

void LocalNodes::StopAll(absl::Duration grace) {
  stopped_ = true;
  for (auto& [uid, pod] : pods_) pod.process->Stop(grace);
  while (true) {
    std::vector<pollfd> fds;
    for (auto& [uid, pod] : pods_) {
      pod.process->RunOnce();
      if (pod.process->running()) fds.push_back({pod.process->poll_fd(), POLLIN, 0});
    }
    if (fds.empty()) return;
    poll(fds.data(), fds.size(), 10);
  }
}

std::map<std::string, pid_t> LocalNodes::running() const {
  std::map<std::string, pid_t> pids;
  for (const auto& [uid, pod] : pods_) {
    if (pod.process->running()) pids[pod.process->name()] = pod.process->pid();
  }
  return pids;
}

}  // namespace muster::control
