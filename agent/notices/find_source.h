#ifndef MUSTER_AGENT_NOTICES_FIND_SOURCE_H_
#define MUSTER_AGENT_NOTICES_FIND_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/notices/notice_source.h"

namespace muster::agent {

// The values of the flag --notices.
inline constexpr char kNoticesAuto[] = "auto";
inline constexpr char kNoticesOff[] = "off";
bool IsNoticesFlag(const std::string& value);

// Returns the source of `cloud` (aws, google or azure) at `base`, whether or not it answers. With
// auto, returns the one whose service answers; that may take some seconds. Errors: kUnavailable
// (none answers, with each one's reason), kInvalidArgument (another cloud). `rebalance`: AWS's
// rebalance recommendations count.
absl::StatusOr<std::unique_ptr<NoticeSource>> FindNoticeSource(const std::string& cloud,
                                                               const std::string& base,
                                                               bool rebalance = false);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_FIND_SOURCE_H_
