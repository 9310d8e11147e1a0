#include "agent/node/node_agent.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/core/worker_event.h"
#include "agent/hardware/machine_reader.h"
#include "agent/node/report_builder.h"
#include "agent/notices/find_source.h"
#include "base/logging.h"
#include "base/process/process_figures.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

// A dial that is due, or a renewal of the certificate, is noticed within this time.
constexpr absl::Duration kLookDisconnected = absl::Milliseconds(200);
constexpr absl::Duration kLookConnected = absl::Seconds(5);
constexpr absl::Duration kLookAtFabric = absl::Milliseconds(500);
// The operator marks a node after minutes of silence, so there is no hurry to suspect a stream.
constexpr absl::Duration kSilence = absl::Seconds(30);
// The delay before the fabric is asked again after it could not be.
constexpr absl::Duration kFabricRetry = absl::Minutes(10);

CoordinatorClientOptions ClientOptions(const NodeAgentOptions& options) {
  CoordinatorClientOptions client;
  client.addresses = options.flags.coordinators;
  client.identity = {options.authority_pem, options.flags.coordinator_token};
  client.silence = kSilence;
  return client;
}

std::string StateFile(const std::string& state_dir, const std::string& name) {
  return state_dir.empty() ? "" : JoinPath(state_dir, name);
}

// Without its file the agent still sees what is new.
template <typename Kept>
void TakeUp(Files& files, const std::string& file,
            absl::StatusOr<Kept> (*parse)(std::string_view text), Kept& memory) {
  absl::StatusOr<Kept> kept = LoadStateFile(files, file, parse);
  if (kept.ok()) {
    memory = *std::move(kept);
  } else {
    MUSTER_LOG(ERROR, "faults of before are not known", {"file", file}, {"error", kept.status()});
  }
}

// Logs `absence` when it changes.
void LogChange(const char* what, const std::string& absence, std::string& said) {
  if (absence == said) return;
  said = absence;
  if (absence.empty()) {
    MUSTER_LOG(INFO, "found", {"what", what});
  } else {
    MUSTER_LOG(INFO, "not found", {"what", what}, {"why", absence});
  }
}

}  // namespace

NodeAgent::NodeAgent(NodeAgentOptions options, const Clock& clock, ProcessLauncher& launcher,
                     Files& files)
    : options_(std::move(options)),
      clock_(clock),
      files_(files),
      xid_file_(StateFile(options_.flags.state_dir, "xids.json")),
      past_file_(StateFile(options_.flags.state_dir, "machine.json")),
      sys_(options_.flags.sys),
      gpus_(options_.flags.nvml),
      fabric_(launcher, options_.flags.ibnetdiscover, options_.environment),
      client_(ClientOptions(options_), files),
      reporter_(options_.flags.node, options_.flags.pod_uid) {
  if (options_.flags.notices == kNoticesOff) return;
  notices_.emplace(
      [cloud = options_.flags.notices, address = options_.flags.notices_address,
       rebalance = options_.flags.notices_rebalance] {
        return FindNoticeSource(cloud, address, rebalance);
      },
      options_.flags.notices_period, clock_);
}

absl::Status NodeAgent::Start() {
  if (!xid_file_.empty()) {
    TakeUp(files_, xid_file_, &ParseXids, memory_.xids);
    TakeUp(files_, past_file_, &ParseMachinePast, memory_.machine);
  }
  if (!options_.flags.probes.empty()) {
    MUSTER_ASSIGN_OR_RETURN(probes_, MetricsServer::Start(options_.flags.probes, nullptr));
  }
  if (options_.flags.metrics.empty()) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(metrics_,
                          MetricsServer::Start(options_.flags.metrics, [this] { return Page(); }));
  MUSTER_LOG(INFO, "metrics are served", {"address", metrics_->address()});
  return absl::OkStatus();
}

absl::Duration NodeAgent::UntilNext(absl::Time now) const {
  absl::Duration wait = connected_ ? kLookConnected : kLookDisconnected;
  if (fabric_.running()) wait = std::min(wait, kLookAtFabric);
  const absl::Time next = std::min(next_reading_, reporter_.next());
  return std::max(absl::ZeroDuration(), std::min(wait, next - now));
}

bool NodeAgent::RunOnce(absl::Duration wait) {
  // A descriptor below zero is not waited for.
  const int notices_fd = notices_ ? notices_->fd() : -1;
  pollfd fds[] = {
      {client_.poll_fd(), POLLIN, 0}, {options_.signal_fd, POLLIN, 0}, {notices_fd, POLLIN, 0}};
  const absl::Duration until = std::min(wait, UntilNext(clock_.Monotonic()));
  // Rounded up, or the last millisecond would be spent in a busy loop.
  const auto milliseconds =
      static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(until, absl::Milliseconds(1))));
  ::poll(fds, std::size(fds), milliseconds);
  if ((fds[1].revents & POLLIN) != 0) return true;
  const absl::Time now = clock_.Monotonic();
  Converse(now);
  ProbeFabric(now);
  if ((fds[2].revents & POLLIN) != 0) HearNotices(now);
  if (now >= next_reading_) Read(now);
  Send(reporter_.Tick(now));
  return false;
}

void NodeAgent::Converse(absl::Time now) {
  for (const Event& event : client_.Collect(now)) {
    if (std::holds_alternative<StreamOpened>(event)) {
      connected_ = true;
      Send(reporter_.StreamOpened());
    } else if (std::holds_alternative<StreamClosed>(event)) {
      connected_ = false;
      reporter_.StreamClosed();
    } else if (const auto* heard = std::get_if<OperatorMessageReceived>(&event)) {
      if (heard->message.has_not_leader()) client_.Redial(heard->message.not_leader().address());
      Send(reporter_.Heard(heard->message, now));
    }
  }
}

void NodeAgent::ProbeFabric(absl::Time now) {
  if (auto links = fabric_.Poll(now)) {
    readings_.fabric_absence = std::string(links->status().message());
    if (links->ok()) readings_.fabric = **std::move(links);
    next_fabric_ =
        now + (readings_.fabric_absence.empty() ? options_.flags.fabric_period : kFabricRetry);
    next_reading_ = now;  // the report has something new
  }
  if (now < next_fabric_ || fabric_.running() || readings_.infiniband_ports.empty()) return;
  next_fabric_ = now + kFabricRetry;
  if (options_.flags.ibnetdiscover.empty()) {
    readings_.fabric_absence = "--ibnetdiscover is empty: the fabric is not asked";
  } else if (const absl::Status started = fabric_.Start(now); !started.ok()) {
    readings_.fabric_absence = std::string(started.message());
  }
}

void NodeAgent::HearNotices(absl::Time now) {
  NoticeNews news = notices_->Take();
  LogChange("notices of the cloud", news.absence, said_notices_);
  if (news.notice == readings_.notice) return;
  readings_.notice = std::move(news.notice);
  if (readings_.notice) {
    MUSTER_LOG(WARN, "the cloud takes this machine away", {"who", readings_.notice->who},
               {"kind", readings_.notice->kind}, {"text", readings_.notice->text});
  } else {
    MUSTER_LOG(INFO, "the notice was taken back", {"who", news.cloud});
  }
  Send(reporter_.Observed(ReportOf(readings_, memory_), now));
}

void NodeAgent::KeepXids() {
  const XidCounts before = memory_.xids;
  Count(readings_.gpus.xids, memory_.xids);
  if (memory_.xids == before) return;
  for (const XidEvent& event : readings_.gpus.xids) {
    MUSTER_LOG(WARN, "XID error", {"gpu", event.gpu_uuid}, {"xid", event.xid},
               {"fatal", !FatalXidMeaning(event.xid).empty()});
  }
  const absl::Status kept = KeepFile(xid_file_, FormatXids(memory_.xids));
  if (!kept.ok()) MUSTER_LOG(ERROR, "XID errors not kept", {"error", kept});
}

void NodeAgent::KeepMachinePast(absl::Time now) {
  const MachinePast before = memory_.machine;
  Observe(readings_.infiniband_ports, readings_.disks, now, memory_.machine);
  if (memory_.machine == before) return;
  const absl::Status kept = KeepFile(past_file_, FormatMachinePast(memory_.machine));
  if (!kept.ok()) MUSTER_LOG(ERROR, "faults of ports and disks not kept", {"error", kept});
}

absl::Status NodeAgent::KeepFile(const std::string& file, const std::string& text) {
  return file.empty() ? absl::OkStatus() : WriteFileAtomically(files_, file, text);
}

void NodeAgent::Read(absl::Time now) {
  next_reading_ = now + options_.flags.period;
  readings_.at = now;
  readings_.gpus = gpus_.Read(now);
  for (GpuReading& gpu : readings_.gpus.gpus) {
    gpu.numa_node = NumaNodeOfPci(sys_, gpu.pci_address);
  }
  readings_.numa_nodes = ReadNumaNodes(sys_);
  readings_.network_cards = ReadNetworkCards(sys_);
  readings_.infiniband_ports = ReadInfinibandPorts(sys_);
  readings_.disks = ReadDisks(sys_);
  readings_.clock = ReadKernelClock();
  KeepXids();
  KeepMachinePast(now);
  LogAbsences();
  reading_seconds_ = absl::ToDoubleSeconds(clock_.Monotonic() - now);
  Send(reporter_.Observed(ReportOf(readings_, memory_), now));
  TellPower(now);
  Publish();
}

void NodeAgent::TellPower(absl::Time now) {
  power_.Observe(readings_.gpus, now);
  use_.Observe(readings_.gpus);
  if (!reporter_.WantsPower(now)) return;
  const std::optional<double> watts = power_.TakeMean();
  const std::optional<double> use = use_.TakeMean();
  if (!watts) return;
  v1alpha1::NodePower power;
  power.set_gpu_watts(*watts);
  if (use) power.set_gpu_utilization(*use);
  Send(reporter_.Power(power, now));
}

void NodeAgent::LogAbsences() {
  LogChange("GPUs", readings_.gpus.absence, said_gpus_);
  if (!readings_.infiniband_ports.empty()) {
    LogChange("switches of InfiniBand ports", readings_.fabric_absence, said_fabric_);
  }
}

void NodeAgent::Send(const NodeReporter::Messages& messages) {
  for (const v1alpha1::AgentMessage& message : messages) client_.Send(message);
}

void NodeAgent::Publish() {
  MutexLock lock(mu_);
  shown_.readings = readings_;
  shown_.memory = memory_;
  shown_.own.connected = reporter_.welcome();
  shown_.own.reports = reporter_.reports();
  shown_.own.reading_seconds = reading_seconds_;
}

std::string NodeAgent::Page() const {
  Shown shown;
  {
    MutexLock lock(mu_);
    shown = shown_;
  }
  const ProcessFigures process = ReadProcessFigures();
  shown.own.cpu_seconds = process.cpu_seconds;
  shown.own.resident_bytes = static_cast<double>(process.resident_bytes);
  return MetricsPage(shown.readings, shown.memory, shown.own);
}

void NodeAgent::Stop() { client_.HangUp(absl::Seconds(2)); }

}  // namespace muster::agent
