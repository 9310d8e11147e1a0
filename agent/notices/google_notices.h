#ifndef MUSTER_AGENT_NOTICES_GOOGLE_NOTICES_H_
#define MUSTER_AGENT_NOTICES_GOOGLE_NOTICES_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/notices/metadata_client.h"
#include "agent/notices/notice_source.h"

namespace muster::agent {

// The notices of a Compute Engine instance: instance/preempted becomes TRUE 30 seconds before a
// spot instance ends, instance/maintenance-event TERMINATE_ON_HOST_MAINTENANCE 60 seconds before
// one that cannot be moved is stopped (an hour with GPUs), for those who have asked before. A live
// migration is no notice. The service names no time, so it counts from the first poll that saw the
// value. Compute Engine, "Spot VMs" and "Query metadata server for maintenance event notices".
class GoogleNotices : public NoticeSource {
 public:
  static constexpr absl::Duration kPreemptedWarning = absl::Seconds(30);
  static constexpr absl::Duration kMaintenanceWarning = absl::Seconds(60);

  explicit GoogleNotices(std::string base) : client_(std::move(base)) {}

  const char* cloud() const override { return "Google"; }
  absl::Status Probe() override;
  absl::StatusOr<std::optional<Notice>> Poll(absl::Time wall) override;

 private:
  absl::StatusOr<std::string> Read(const std::string& path) const;
  Notice Since(std::optional<absl::Time>& first, absl::Time wall, absl::Duration warning,
               const char* kind, const char* text) const;

  const MetadataClient client_;
  // The times at which the values were seen first; absent while there is nothing to announce.
  std::optional<absl::Time> preempted_;
  std::optional<absl::Time> maintenance_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_GOOGLE_NOTICES_H_
