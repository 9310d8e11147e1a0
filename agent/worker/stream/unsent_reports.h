#ifndef MUSTER_AGENT_WORKER_STREAM_UNSENT_REPORTS_H_
#define MUSTER_AGENT_WORKER_STREAM_UNSENT_REPORTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::agent {

// The file in a pod's folder in which an agent leaves, at its end, what it could report to no
// operator.
inline constexpr char kUnsentReportsFile[] = "unsent-reports.pb";

absl::Status WriteUnsentReports(Files& files, const std::string& path,
                                const std::vector<v1alpha1::AgentMessage>& reports);
// Returns the reports in order. NotFound if the agent left no file, DataLoss if the file cannot be
// parsed.
absl::StatusOr<std::vector<v1alpha1::AgentMessage>> ReadUnsentReports(Files& files,
                                                                      const std::string& path);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_STREAM_UNSENT_REPORTS_H_
