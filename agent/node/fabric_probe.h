#ifndef MUSTER_AGENT_NODE_FABRIC_PROBE_H_
#define MUSTER_AGENT_NODE_FABRIC_PROBE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/hardware/fabric_links.h"
#include "base/process/process.h"
#include "base/unique_fd.h"

namespace muster::agent {

// Runs ibnetdiscover and reads what it prints. The tool asks every switch of the fabric, which
// takes seconds and costs the switches work, so it runs seldom, and one at a time. Not thread-safe;
// no call blocks.
class FabricProbe {
 public:
  // A run that takes longer is killed.
  static constexpr absl::Duration kLongest = absl::Minutes(2);
  // The most that is read of its output; a fabric of 10,000 adapters prints some 5 MB.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  // `program` is a path, or a name to look up in PATH of `environment` (NAME=VALUE). `launcher`
  // must outlive it.
  FabricProbe(ProcessLauncher& launcher, std::string program, std::vector<std::string> environment);
  // Kills a run that is under way.
  ~FabricProbe();
  FabricProbe(const FabricProbe&) = delete;
  FabricProbe& operator=(const FabricProbe&) = delete;

  bool running() const { return process_ != nullptr; }
  // Begins a run; `now` is monotonic. Does nothing while one is under way. kNotFound: the tool is
  // not installed.
  absl::Status Start(absl::Time now);
  // Returns the links, or why they are not known, once the run has ended; nullopt before.
  std::optional<absl::StatusOr<FabricLinks>> Poll(absl::Time now);

 private:
  ProcessLauncher& launcher_;
  const std::string program_;
  const std::vector<std::string> environment_;
  std::unique_ptr<Process> process_;  // null unless a run is under way
  bool killed_ = false;               // it is waited for, so that no zombie stays
  std::optional<UniqueFd> output_;
  std::optional<UniqueFd> errors_;
  absl::Time started_ = absl::InfinitePast();
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_FABRIC_PROBE_H_
