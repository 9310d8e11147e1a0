#include "agent/worker/worker_agent.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/hardware/machine_reader.h"
#include "agent/hardware/network_interfaces.h"
#include "agent/hardware/sysfs_tree.h"
#include "agent/worker/ranks/gpu_plan.h"
#include "agent/worker/ranks/near_cpus.h"
#include "base/logging.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

// The machine requires a tick at least this often.
constexpr absl::Duration kMaxWait = absl::Milliseconds(100);

// Returns what tells this agent's folder from those of others, in its machine's or pod's memory.
std::string FolderName(const WorkerConfig& config, const Clock& clock) {
  return absl::StrCat(config.worker.pod_uid(), "-", getpid(), "-",
                      absl::ToUnixMicros(clock.Wall()));
}

WorkerConfig WithCopies(WorkerConfig config, const std::string& directory) {
  config.copies_directory = directory;
  return config;
}

}  // namespace

WorkerAgent::WorkerAgent(WorkerAgentOptions options, const Clock& clock, ProcessLauncher& launcher,
                         Files& files)
    : options_(std::move(options)),
      clock_(clock),
      files_(files),
      copies_(files, options_.memory_directory, FolderName(options_.config, clock)),
      machine_(WithCopies(options_.config, copies_.path()), clock.Monotonic()),
      supervisor_({.ranks = options_.config.ranks,
                   .log_directory = options_.log_directory,
                   .max_log_bytes = options_.max_log_bytes,
                   .show = options_.show,
                   .socket_directory = options_.socket_directory},
                  launcher, files, clock),
      client_(options_.coordinator, files) {
  copies_.Sweep();
}

std::optional<int> WorkerAgent::RunOnce(absl::Duration wait) {
  WaitForEvents(std::min(wait, kMaxWait));
  TakeSignals();
  for (Event& event : supervisor_.Collect()) pending_.push_back(std::move(event));
  for (Event& event : client_.Collect(clock_.Monotonic())) pending_.push_back(std::move(event));
  if (replicas_ != nullptr) {
    GiveKeys();
    for (Event& event : replicas_->Take()) pending_.push_back(std::move(event));
  }
  // The tick comes last, so that messages from ranks are handled before their silence is judged.
  pending_.push_back(Tick{});
  while (!pending_.empty() && !exit_code_.has_value()) {
    const Event event = std::move(pending_.front());
    pending_.pop_front();
    Handle(event);
  }
  ReapStrays();
  if (exit_code_.has_value()) client_.HangUp(absl::Seconds(1));
  return exit_code_;
}

// Orphaned processes become this agent's children, because it is the first process of a container
// or a subreaper (PR_SET_CHILD_SUBREAPER). A rank that has ended is left for its supervisor to
// reap; the next pass goes on.
void WorkerAgent::ReapStrays() {
  while (true) {
    siginfo_t info = {};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) return;
    if (supervisor_.Owns(info.si_pid)) return;
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

void WorkerAgent::WaitForEvents(absl::Duration wait) {
  std::vector<pollfd> fds = {{client_.poll_fd(), POLLIN, 0}};
  if (options_.signal_fd >= 0) fds.push_back({options_.signal_fd, POLLIN, 0});
  if (replicas_ != nullptr) fds.push_back({replicas_->poll_fd(), POLLIN, 0});
  supervisor_.AddPollFds(&fds);
  poll(fds.data(), fds.size(), static_cast<int>(absl::ToInt64Milliseconds(wait)));
}

void WorkerAgent::TakeSignals() {
  if (options_.signal_fd < 0) return;
  pollfd fd = {options_.signal_fd, POLLIN, 0};
  while (poll(&fd, 1, 0) > 0) {
    signalfd_siginfo info;
    if (read(options_.signal_fd, &info, sizeof(info)) != sizeof(info)) return;
    MUSTER_LOG(INFO, "signal", {"signal", info.ssi_signo});
    pending_.push_back(Terminate{static_cast<int>(info.ssi_signo)});
  }
}

void WorkerAgent::Handle(const Event& event) {
  for (const Action& action : machine_.Handle(event, clock_.Monotonic())) {
    std::visit([this](const auto& a) { Do(a); }, action);
  }
}

// Shows a trainer's rank one GPU alone, and runs it near that. A job's own CUDA_VISIBLE_DEVICES
// stays: the rank then chooses among its devices by the local rank.
absl::Status WorkerAgent::GiveGpu(const RankPlacement& at, Environment& env,
                                  RankSupervisor::Program& program) const {
  const int gpus = machine_.settings()->spec.workers().gpus();
  if (gpus == 0 || env.contains("CUDA_VISIBLE_DEVICES")) return absl::OkStatus();
  const WorkerHardware& has = options_.hardware;
  const auto visible = env.find("NVIDIA_VISIBLE_DEVICES");
  MUSTER_ASSIGN_OR_RETURN(const std::vector<GpuDevice> plan,
                          PlanGpus(has.gpus, visible == env.end() ? "" : visible->second, gpus));
  const auto local_rank = static_cast<size_t>(at.local_rank);
  if (local_rank >= plan.size()) return absl::OkStatus();
  const GpuDevice& gpu = plan[local_rank];
  env["CUDA_VISIBLE_DEVICES"] = gpu.uuid;
  program.cpus = NearCpus(gpu.numa_node, has.numa_nodes, has.cpus);
  MUSTER_LOG(INFO, "rank has a GPU", {"rank", at.rank}, {"uuid", gpu.uuid},
             {"numa_node", gpu.numa_node.value_or(-1)}, {"cpus", program.cpus.size()});
  return absl::OkStatus();
}

void WorkerAgent::AddHints(const RankPlacement& at, Environment& env) const {
  AddNcclHints(ReadInfinibandPorts(SysfsTree("/sys")), ReadInterfaceAddresses(),
               options_.config.host, at.group_world_size, env);
}

absl::StatusOr<RankSupervisor::Program> WorkerAgent::ProgramOf(const RankPlacement& at) const {
  RankSupervisor::Program program;
  program.rank = at.rank;
  program.link = machine_.runs_trainer();
  const v1alpha1::TrainingJobSpec& spec = machine_.settings()->spec;
  Environment env = RankEnvironment(options_.environment, options_.config.worker, at,
                                    spec.failure_policy().max_failures(), options_.config.host);
  if (program.link) {
    env["MUSTER_LINK_FD"] = "3";
    MUSTER_RETURN_IF_ERROR(GiveGpu(at, env, program));
    if (spec.workers().gpus() > 0) AddHints(at, env);
    program.argv = {options_.trainer_path, "--link-fd=3"};
  } else {
    MUSTER_RETURN_IF_ERROR(AddCheckpointDirectory(spec, files_, env));
    MUSTER_ASSIGN_OR_RETURN(program.argv, ReadUserCommand(spec.template_().raw()));
    AddHints(at, env);
    for (std::string& argument : program.argv) argument = ExpandVariables(argument, env);
  }
  program.env = ToVector(env);
  return program;
}

void WorkerAgent::Do(const LaunchRank& launch) {
  ReleasePort();
  const int local_rank = launch.placement.local_rank;
  // Without the folder, ranks say that they could not copy, and train on.
  if (machine_.keeps_copies()) MakeCopiesFolder();
  absl::StatusOr<RankSupervisor::Program> program = ProgramOf(launch.placement);
  const absl::Status status =
      program.ok() ? supervisor_.Launch(local_rank, launch.generation, *program) : program.status();
  if (status.ok()) return;
  MUSTER_LOG(ERROR, "rank not started", {"rank", launch.placement.rank}, {"error", status});
  // The codes of a shell: 127 not found, 126 found but not executable.
  const int code = status.code() == absl::StatusCode::kNotFound ? 127 : 126;
  pending_.push_back(
      RankEnded{local_rank, launch.generation, code, 0, std::string(status.message())});
}

void WorkerAgent::Do(const KillRank& kill) {
  supervisor_.Kill(kill.local_rank, kill.generation, kill.signal);
}

void WorkerAgent::Do(const SendToRank& send) { supervisor_.Send(send.local_rank, send.message); }

void WorkerAgent::Do(const SendToOperator& send) { client_.Send(send.message); }

void WorkerAgent::Do(const ReservePort& reserve) {
  ReleasePort();
  port_fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(port_fd_, generic, size) != 0 || getsockname(port_fd_, generic, &size) != 0) {
    MUSTER_LOG(ERROR, "no free TCP port", {"errno", errno});
    return;
  }
  pending_.push_back(PortReserved{reserve.round, ntohs(address.sin_port)});
}

void WorkerAgent::ReleasePort() {
  if (port_fd_ >= 0) close(std::exchange(port_fd_, -1));
}

bool WorkerAgent::MakeCopiesFolder() {
  const absl::Status made = copies_.Make();
  if (!made.ok()) MUSTER_LOG(ERROR, "no folder for copies in memory", {"error", made});
  return made.ok();
}

void WorkerAgent::Do(const ServeReplicas& serve) {
  if (!MakeCopiesFolder()) return;
  if (replicas_ == nullptr) {
    replicas_ = std::make_unique<ReplicaExchange>(
        ReplicaExchange::Options{.worker = options_.config.worker,
                                 .ranks = options_.config.ranks,
                                 .host = options_.config.host,
                                 .folder = copies_.path(),
                                 .on_socket = options_.coordinator.identity.empty()},
        files_, clock_);
    GiveKeys();
  }
  const absl::Status served = replicas_->Serve(serve.room, serve.disk);
  if (!served.ok()) {
    MUSTER_LOG(ERROR, "no copies beyond those in memory; training goes on", {"error", served});
  }
}

void WorkerAgent::Do(const KeepOnDisk& keep) {
  if (replicas_ != nullptr) replicas_->KeepOnDisk(keep.from_step);
}

void WorkerAgent::Do(const RemoveFromDisk&) {
  if (replicas_ != nullptr) replicas_->RemoveFromDiskAtEnd();
}

void WorkerAgent::GiveKeys() {
  if (client_.certificates() == given_certificates_) return;
  given_certificates_ = client_.certificates();
  const KeyAndCertificate& keys = client_.keys();
  replicas_->SetKeys({client_.authority_pem(), keys.key_pem, keys.certificate_pem});
}

void WorkerAgent::Do(const ReplicateTo& replicate) {
  if (replicas_ != nullptr) replicas_->SetPeer(replicate.peer);
}

void WorkerAgent::Do(const FetchReplicas& fetch) {
  if (replicas_ == nullptr) {
    pending_.push_back(ReplicasFetched{});
    return;
  }
  replicas_->Fetch(fetch.of, fetch.sources, fetch.within);
}

void WorkerAgent::Do(const Redial& redial) {
  MUSTER_LOG(INFO, "leaves its operator", {"reason", redial.reason}, {"address", redial.address});
  client_.Redial(redial.address);
}

void WorkerAgent::Do(const ExitAgent& exit) {
  MUSTER_LOG(INFO, "agent ends", {"code", exit.code}, {"reason", exit.reason});
  exit_code_ = exit.code;
}

}  // namespace muster::agent
