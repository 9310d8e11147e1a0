#ifndef MUSTER_AGENT_NODE_NODE_AGENT_H_
#define MUSTER_AGENT_NODE_NODE_AGENT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/hardware/nvml_gpus.h"
#include "agent/hardware/sysfs_tree.h"
#include "agent/node/fabric_probe.h"
#include "agent/node/gpu_meters.h"
#include "agent/node/metrics_server.h"
#include "agent/node/node_flags.h"
#include "agent/node/node_memory.h"
#include "agent/node/node_metrics.h"
#include "agent/node/node_readings.h"
#include "agent/node/node_reporter.h"
#include "agent/notices/notice_watch.h"
#include "agent/worker/stream/coordinator_client.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/process/process.h"

namespace muster::agent {

struct NodeAgentOptions {
  NodeAgentFlags flags;
  std::string authority_pem;  // of the coordinator; empty on a unix socket
  // A signalfd for SIGTERM and SIGINT; -1 if signals are not handled.
  int signal_fd = -1;
  std::vector<std::string> environment;  // of ibnetdiscover, NAME=VALUE
};

// The node agent: reads the node's hardware every period, reports what is new to the operator, and
// serves the values as metrics. A notice of the machine's cloud is reported at once. One thread,
// which must live as long as the object, calls RunOnce() until it returns true; the metrics and the
// notices have threads of their own.
class NodeAgent {
 public:
  // `clock`, `launcher` and `files` must outlive it.
  NodeAgent(NodeAgentOptions options, const Clock& clock, ProcessLauncher& launcher, Files& files);

  // Binds the address of the metrics and reads what was kept.
  absl::Status Start();
  // Waits at most `wait` for something to do, and does it. Returns true once a signal has come.
  bool RunOnce(absl::Duration wait);
  // Ends the stream so that everything sent arrives.
  void Stop();

  // Returns the address of the metrics; empty if they are not served.
  std::string metrics_address() const { return metrics_ == nullptr ? "" : metrics_->address(); }

 private:
  absl::Duration UntilNext(absl::Time now) const;
  void Read(absl::Time now);
  void KeepXids();
  void KeepMachinePast(absl::Time now);
  absl::Status KeepFile(const std::string& file, const std::string& text);
  void TellPower(absl::Time now);
  void ProbeFabric(absl::Time now);
  void HearNotices(absl::Time now);
  void Converse(absl::Time now);
  void Send(const NodeReporter::Messages& messages);
  void Publish();
  void LogAbsences();
  std::string Page() const;

  const NodeAgentOptions options_;
  const Clock& clock_;
  Files& files_;
  // Empty: nothing is kept.
  const std::string xid_file_;
  const std::string past_file_;
  SysfsTree sys_;
  NvmlGpus gpus_;
  FabricProbe fabric_;
  CoordinatorClient client_;
  NodeReporter reporter_;
  GpuPowerMeter power_;
  GpuUseMeter use_;
  NodeMemory memory_;
  NodeReadings readings_;
  absl::Time next_reading_ = absl::InfinitePast();
  absl::Time next_fabric_ = absl::InfinitePast();
  bool connected_ = false;  // a stream is open, welcome or not
  double reading_seconds_ = 0;
  std::string said_gpus_;  // the absences that were logged last
  std::string said_fabric_;
  std::string said_notices_;
  std::optional<NoticeWatch> notices_;  // absent with --notices=off

  // The values that the metrics' thread shows.
  struct Shown {
    NodeReadings readings;
    NodeMemory memory;
    AgentFigures own;
  };
  mutable Mutex mu_;
  Shown shown_ MUSTER_GUARDED_BY(mu_);
  std::unique_ptr<MetricsServer> metrics_, probes_;  // last, so that its threads end first
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_AGENT_H_
