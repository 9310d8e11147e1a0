#ifndef MUSTER_AGENT_NOTICES_AZURE_NOTICES_H_
#define MUSTER_AGENT_NOTICES_AZURE_NOTICES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/notices/metadata_client.h"
#include "agent/notices/notice_source.h"

namespace muster::agent {

// The notices of an Azure machine by Scheduled Events, API version 2020-07-01: Preempt (at least 30
// seconds before), Terminate, Redeploy and Reboot. Freeze only pauses a machine and is no notice.
// The list has the events of all machines of a scale set, so it is searched for this machine's
// name. An event that begins later than kHorizon is not announced yet: Azure predicts some days
// ahead. Nothing is acknowledged. Microsoft, "Azure Metadata Service: Scheduled Events".
class AzureNotices : public NoticeSource {
 public:
  static constexpr absl::Duration kHorizon = absl::Minutes(15);

  explicit AzureNotices(std::string base) : client_(std::move(base)) {}

  const char* cloud() const override { return "Azure"; }
  absl::Status Probe() override;
  absl::StatusOr<std::optional<Notice>> Poll(absl::Time wall) override;

 private:
  const MetadataClient client_;
  std::string name_;  // of this machine; empty until it is known
  // The event without a time that was seen last, and when first.
  std::string started_;
  absl::Time started_at_ = absl::InfinitePast();
};

// An event of the list that takes a machine away.
struct AzureEvent {
  std::string id;
  std::string type;
  std::optional<absl::Time> not_before;  // absent once the event has started
};

// Returns the events of the machine `name` in a list of Scheduled Events, the earliest first; one
// that has started comes before all others. Pure. Errors: kInvalidArgument.
absl::StatusOr<std::vector<AzureEvent>> ParseScheduledEvents(const std::string& body,
                                                             const std::string& name);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_AZURE_NOTICES_H_
