#ifndef MUSTER_OPERATOR_NOTIFY_JOB_ALERT_H_
#define MUSTER_OPERATOR_NOTIFY_JOB_ALERT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::control {

// An alert rule of a job that fires, as it is told to a receiver.
struct JobAlert {
  std::string name;
  std::string kind;
  std::string message;
  bool suspends = false;  // its action is Suspend
  absl::Time since;       // wall
  bool operator==(const JobAlert&) const = default;
};

// The job that alerts are about.
struct AlertedJob {
  std::string ns;
  std::string name;
  std::string uid;
};

// An alert that is to be told: it fires, or has ceased to.
struct AlertNews {
  JobAlert alert;
  absl::Time ended = absl::InfiniteFuture();  // wall; InfiniteFuture: it fires
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_JOB_ALERT_H_
