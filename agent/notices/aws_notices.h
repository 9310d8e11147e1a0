#ifndef MUSTER_AGENT_NOTICES_AWS_NOTICES_H_
#define MUSTER_AGENT_NOTICES_AWS_NOTICES_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/notices/metadata_client.h"
#include "agent/notices/notice_source.h"

namespace muster::agent {

// The notices of an EC2 instance by IMDSv2: spot/instance-action (a spot instance is terminated,
// stopped or hibernated, as a rule in two minutes) and, if asked to, events/recommendations/
// rebalance. Each
// answers 404 while there is nothing to announce. A token is fetched by PUT and renewed after half
// of its life, or when the service refuses it. AWS, "Spot Instance interruption notices" and "Use
// the Instance Metadata Service".
class AwsNotices : public NoticeSource {
 public:
  // The life that is asked for; the longest that the service grants.
  static constexpr absl::Duration kTokenLife = absl::Hours(6);

  // `rebalance`: a rebalance recommendation is a notice. AWS gives it where the risk of an
  // interruption is raised, and the interruption may never come.
  explicit AwsNotices(std::string base, bool rebalance = false)
      : client_(std::move(base)), rebalance_(rebalance) {}

  const char* cloud() const override { return "AWS"; }
  absl::Status Probe() override;
  absl::StatusOr<std::optional<Notice>> Poll(absl::Time wall) override;

 private:
  absl::Status FetchToken();
  // Returns the body; nullopt if the service has nothing there.
  absl::StatusOr<std::optional<std::string>> Read(const std::string& path, absl::Time wall);

  const MetadataClient client_;
  const bool rebalance_;
  std::string token_;
  absl::Time renew_ = absl::InfinitePast();  // wall
};

// Returns the notice of a body of spot/instance-action. `wall` is the deadline of a hibernation,
// which begins with its notice. Pure. Errors: kInvalidArgument.
absl::StatusOr<Notice> ParseInstanceAction(const std::string& body, absl::Time wall);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_AWS_NOTICES_H_
