#ifndef MUSTER_AGENT_NOTICES_NOTICE_SOURCE_H_
#define MUSTER_AGENT_NOTICES_NOTICE_SOURCE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/notices/notice.h"

namespace muster::agent {

// The seam to a cloud's metadata service. Calls block for a few seconds at most. One thread uses a
// source.
class NoticeSource {
 public:
  virtual ~NoticeSource() = default;

  // The name of the cloud, as in Notice::who.
  virtual const char* cloud() const = 0;
  // Returns OK if this cloud's service answers. Errors: kUnavailable (no service answers, or
  // another one does).
  virtual absl::Status Probe() = 0;
  // Returns the most urgent notice, or nullopt if none is announced now. `wall` is the time of the
  // call. An error says nothing about notices. Errors: kUnavailable (no answer, or none that the
  // service is documented to give), kInvalidArgument (an answer that cannot be read).
  virtual absl::StatusOr<std::optional<Notice>> Poll(absl::Time wall) = 0;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_NOTICE_SOURCE_H_
